//! The replay job where the trace gives times to live: on a store that keeps them, on one that has none, and on stores that are early, late, or deaf.
#![allow(clippy::unwrap_used)]

use crate::harness;

use harness::{Backend, Memory, Outcome, Request, Response, Turns, everything, run};
use jobkit::Job;
use kvtrial_jobs as jobs;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use store::{Capabilities, Expiry, OperationKind, OperationSet};
use study::ReasonKind;

/// Of the first five keys, a lives longer by a touch, b gets its time from a get, c and d (whose count goes on) are over when they are asked for, e lasts
/// again. Between lie the gets of `wait`, at which the store of the test sleeps.
const TRACE: &str = r#"1700000000.000000 [0 127.0.0.1:1] "set" "a" "aaaaaaaaaa" "PX" "100"
1700000000.000001 [0 127.0.0.1:1] "set" "b" "bbbbbbbbbb"
1700000000.000002 [0 127.0.0.1:1] "pexpire" "a" "60000"
1700000000.000003 [0 127.0.0.1:1] "setex" "c" "100000" "cccccccccc"
1700000000.000004 [0 127.0.0.1:1] "psetex" "c" "100" "cccccccccc"
1700000000.000005 [0 127.0.0.1:1] "getex" "b" "PX" "100"
1700000000.000006 [0 127.0.0.1:1] "set" "d" "1" "px" "100"
1700000000.000007 [0 127.0.0.1:1] "incr" "d"
1700000000.000008 [0 127.0.0.1:1] "set" "e" "eeeeeeeeee" "PX" "100"
1700000000.000009 [0 127.0.0.1:1] "set" "e" "eeeeeeeeee"
1700000000.000010 [0 127.0.0.1:1] "get" "d"
1700000001.000000 [0 127.0.0.1:1] "get" "wait"
1700000001.000001 [0 127.0.0.1:1] "get" "a"
1700000001.000002 [0 127.0.0.1:1] "get" "b"
1700000001.000003 [0 127.0.0.1:1] "get" "c"
1700000001.000004 [0 127.0.0.1:1] "get" "d"
1700000001.000005 [0 127.0.0.1:1] "get" "e"
1700000001.000006 [0 127.0.0.1:1] "del" "c"
1700000001.000007 [0 127.0.0.1:1] "pexpire" "none" "5"
"#;

/// How a store is wrong about time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Honest,
    NeverEnds,
    /// Everything ends at once.
    Early,
    /// Touches are acknowledged, and change nothing.
    Deaf,
}

struct Mortal {
    memory: Memory,
    ends: HashMap<Vec<u8>, Instant>,
    way: Way,
}

impl Mortal {
    fn lives(&mut self, key: &[u8], ttl_ms: u64) {
        let ttl_ms = if self.way == Way::Early && ttl_ms > 1000 { 0 } else { ttl_ms };
        if self.way != Way::NeverEnds {
            self.ends.insert(key.into(), Instant::now() + Duration::from_millis(ttl_ms));
        }
    }
}

impl Backend for Mortal {
    fn answer(&mut self, request: &Request) -> Response {
        let (Request::Get(key) | Request::Delete(key) | Request::Touch(key, _)) = request else {
            if let Request::Put(key, _) = request {
                self.ends.remove(key);
            }
            if let Request::PutTtl(key, _, ttl_ms) = request {
                self.lives(key, *ttl_ms);
            }
            return self.memory.answer(request);
        };
        if self.ends.get(key).is_some_and(|end| *end <= Instant::now()) {
            self.ends.remove(key);
            self.memory.answer(&Request::Delete(key.clone()));
        }
        match request {
            Request::Get(key) if key == b"wait" => std::thread::sleep(Duration::from_millis(300)),
            Request::Touch(key, ttl_ms) if self.way != Way::Deaf && self.memory.values.contains_key(key) => {
                self.lives(key, *ttl_ms);
            }
            _ => {}
        }
        self.memory.answer(request)
    }
}

fn job(set: &[(&str, &str)]) -> Box<dyn Job> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, TRACE).unwrap();
    let set: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    jobs::prepare(jobs::find("replay").unwrap(), file.path().to_str().map(str::to_owned), &set, 42).unwrap()
}

fn exact() -> Capabilities {
    Capabilities { expiry: Some(Expiry { early_ms: 0, late_ms: 5, ..Expiry::IN_MS }), ..everything() }
}

fn without(kinds: &[OperationKind]) -> Capabilities {
    let left: Vec<_> = OperationKind::ALL.into_iter().filter(|kind| !kinds.contains(kind)).collect();
    Capabilities { native: OperationSet::of(&left), ..exact() }
}

fn on(way: Way, capabilities: Capabilities, set: &[(&str, &str)]) -> (Outcome, String) {
    let job = job(set);
    let mut store = Mortal { memory: Memory::default(), ends: HashMap::new(), way };
    let outcome = run(&*job, &mut store, capabilities, 1, Turns::OneByOne);
    (outcome, job.known_digest().unwrap())
}

#[test]
fn what_is_over_is_gone_in_a_store_that_lets_expire_and_in_one_whose_reader_compares() {
    let stores = [exact(), without(&[OperationKind::Touch]), without(&OperationKind::EXPIRING)];
    for capabilities in stores {
        let (outcome, digest) = on(Way::Honest, capabilities.clone(), &[]);
        assert_eq!((&outcome.reasons[..], &outcome.answer.digest), (&[][..], &digest), "{capabilities:?}");
        let count = |name| outcome.fact(name).as_u64().unwrap();
        // Found are b and d before the wait, a and e behind it; not there is wait, and no longer b, c and d.
        assert_eq!((count("get_hits"), count("get_misses"), count("misses_of_what_expired")), (4, 4, 3), "{outcome:?}");
    }
    // One write keeps what is left of its key's life: that is none that is given.
    let input = job(&[]).input();
    assert_eq!((&input["touches"], &input["times_to_live"]), (&2.into(), &8.into()), "{input:?}");
    assert_eq!(input["hits_of_all_kept"], 4);
    assert_eq!(job(&[]).suits(&without(&OperationKind::EXPIRING)).unwrap(), ["expiry by a time in the value"]);
}

#[test]
fn without_times_to_live_everything_lasts() {
    let (outcome, digest) = on(Way::Early, exact(), &[("ttl", "none")]);
    assert_eq!((&outcome.reasons[..], &outcome.answer.digest), (&[][..], &digest));
    assert_eq!((outcome.fact("get_hits"), outcome.fact("get_misses")), (&7.into(), &1.into()));
}

#[test]
fn a_store_that_is_early_late_or_deaf_is_found_out() {
    let (late, digest) = on(Way::NeverEnds, exact(), &[]);
    assert!(late.kinds().contains(&ReasonKind::ExpiredLate) && late.answer.digest != digest, "{late:?}");
    assert!(late.reason(ReasonKind::ExpiredLate).example.contains("still there "), "{late:?}");
    let (early, _) = on(Way::Early, exact(), &[]);
    assert_eq!(early.kinds(), [ReasonKind::ExpiredEarly], "{early:?}");
    let (deaf, digest) = on(Way::Deaf, exact(), &[]);
    assert!(deaf.kinds().contains(&ReasonKind::ExpiredEarly) && deaf.answer.digest != digest, "{deaf:?}");
}
