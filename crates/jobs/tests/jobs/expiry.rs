//! The job ycsb where values have a time to live: on a store that keeps it, and on stores that are early, late, or never let go.
#![allow(clippy::unwrap_used)]

use crate::harness;

use harness::{Backend, Memory, Outcome, Request, Response, Turns, everything, run_with};
use jobkit::Job;
use kvtrial_jobs as jobs;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use store::{Capabilities, Expiry, Facts, OperationSet, Session, SessionPlan, Store, StoreError, Threading};
use study::ReasonKind;

/// Keeps values for their time to live, times `share`; values of keys that end with an even digit, where `only_even`.
struct Mortal {
    memory: Memory,
    over: HashMap<Vec<u8>, Instant>,
    share: f64,
    only_even: bool,
}

impl Mortal {
    fn new(share: f64) -> Mortal {
        Mortal { memory: Memory::default(), over: HashMap::new(), share, only_even: false }
    }
}

impl Backend for Mortal {
    fn answer(&mut self, request: &Request) -> Response {
        match request {
            Request::PutTtl(key, value, ttl_ms) => {
                let is_even = key.last().unwrap().is_ascii_digit() && key.last().unwrap() % 2 == 0;
                let share = if self.only_even && !is_even { 1.0 } else { self.share };
                self.over.insert(key.clone(), Instant::now() + Duration::from_millis(*ttl_ms).mul_f64(share));
                self.memory.put(key, value);
                Response::Done
            }
            Request::Get(key) if self.over.get(key).is_some_and(|over| *over <= Instant::now()) => Response::Missing,
            other => self.memory.answer(other),
        }
    }
}

/// A store of which nothing is asked as a whole: the job only waits.
struct Nothing;

impl Store for Nothing {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, _: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Err(StoreError::Session("nothing is asked of it".into()))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts::default())
    }
}

fn job(set: &str) -> Result<Box<dyn Job>, String> {
    let small = "records=200 operations=4000 value=40 ttl=300ms ".to_owned() + set;
    let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
    let set: Vec<_> = small.split_whitespace().map(pair).collect();
    jobs::prepare(jobs::find("ycsb").unwrap(), None, &set, 42).map_err(|error| error.to_string())
}

fn exact() -> Capabilities {
    Capabilities { expiry: Some(Expiry { early_ms: 0, late_ms: 5, ..Expiry::IN_MS }), ..everything() }
}

fn run_on(store: &mut dyn Backend, capabilities: Capabilities, set: &str) -> Outcome {
    run_with(&*job(set).unwrap(), Some(&Nothing), store, capabilities, 16, Turns::Random(3), u64::MAX)
}

/// Answers slowly, so that values expire in the middle of the run.
struct Slow<B>(B);

impl<B: Backend> Backend for Slow<B> {
    fn answer(&mut self, request: &Request) -> Response {
        std::thread::sleep(Duration::from_micros(200));
        self.0.answer(request)
    }
}

#[test]
fn on_a_store_that_keeps_the_time_to_live_the_answer_is_the_known_one_and_what_has_expired_is_put_again() {
    for workload in ["A", "B", "C", "F"] {
        let set = format!("workload={workload} distribution=uniform");
        let mut store = Slow(Mortal::new(1.0));
        let outcome = run_on(&mut store, exact(), &set);
        assert_eq!(outcome.reasons, [], "{workload}");
        assert_eq!(Some(outcome.answer.digest.clone()), job(&set).unwrap().known_digest(), "{workload}");
        let expired = outcome.fact("expired_reads").as_u64().unwrap();
        assert!(expired > 0 && outcome.operations[1] >= 4000, "{workload}: {expired} {:?}", outcome.operations);
        assert_eq!((outcome.fact("worst_early_ms"), outcome.fact("worst_late_ms")), (&0.into(), &0.into()));
        assert_eq!(store.0.over.len(), 200, "every value was put with its time");
    }
}

#[test]
fn a_store_without_expiry_has_the_moment_in_the_value_and_is_swept_behind_the_run() {
    let capabilities = Capabilities { native: OperationSet::LASTING, expiry: None, ..everything() };
    assert_eq!(job("").unwrap().suits(&capabilities), Ok(vec!["expiry by a time in the value"]));
    let mut store = Slow(Memory::default());
    let outcome = run_on(&mut store, capabilities, "workload=B distribution=uniform");
    assert_eq!(outcome.reasons, []);
    assert!(outcome.fact("expired_reads").as_u64().unwrap() > 0);
    assert!(store.0.values.is_empty(), "{} values were left", store.0.values.len());
}

#[test]
fn values_that_go_early_are_found_with_the_worst_of_them() {
    let outcome = run_on(&mut Slow(Mortal::new(0.5)), exact(), "workload=C distribution=uniform");
    assert_eq!(outcome.kinds(), [ReasonKind::ExpiredEarly], "{:?}", outcome.reasons);
    let worst_ms = outcome.fact("worst_early_ms").as_u64().unwrap();
    assert!((20..=150).contains(&worst_ms), "{worst_ms}");
    let example = &outcome.reason(ReasonKind::ExpiredEarly).example;
    assert!(example.contains("before its time of 300 ms"), "{example}");
}

#[test]
fn values_that_go_late_are_found_and_those_that_go_within_what_is_declared_are_not() {
    let late = |late_ms| {
        let expiry = Some(Expiry { early_ms: 0, late_ms, ..Expiry::IN_MS });
        run_on(&mut Slow(Mortal::new(1.5)), Capabilities { expiry, ..everything() }, "workload=C distribution=uniform")
    };
    let outcome = late(5);
    assert!(outcome.kinds().contains(&ReasonKind::ExpiredLate), "{:?}", outcome.reasons);
    assert!(outcome.fact("worst_late_ms").as_u64().unwrap() > 20);
    assert_eq!(late(200).reasons, []);
}

#[test]
fn values_that_never_go_are_found_when_all_are_to_be_gone_every_one_of_them() {
    let mut store = Mortal::new(1e6);
    store.only_even = true;
    let outcome = run_on(&mut store, exact(), "workload=C operations=200");
    let never = outcome.reason(ReasonKind::NeverExpired);
    assert!((50..=120).contains(&never.count) && never.example.contains("when all were to be gone"), "{never:?}");
    assert!(!outcome.kinds().contains(&ReasonKind::UnexpectedMiss), "{:?}", outcome.reasons);
}

#[test]
fn a_lost_value_is_no_expired_one() {
    let mut store = Mortal::new(1.0);
    let mut puts = 0;
    let mut loses = |request: &Request| match request {
        Request::PutTtl(..) => {
            puts += 1;
            if puts % 50 == 0 { Response::Done } else { store.answer(request) }
        }
        other => store.answer(other),
    };
    let outcome = run_on(&mut loses, exact(), "workload=C operations=200");
    assert!(outcome.kinds().contains(&ReasonKind::ExpiredEarly), "{:?}", outcome.reasons);
}

#[test]
fn a_time_that_is_none_and_work_that_does_not_go_with_one_are_refused_with_what_does() {
    for (set, words) in [
        ("ttl=0", "use none, or a time above 0"),
        ("ttl=-1s", "use none, or a time above 0"),
        ("ttl=soon", "use none, or a time above 0"),
        ("workload=D", "use workload=A, B, C or F"),
        ("workload=E", "use workload=A, B, C or F"),
    ] {
        let refused = job(set).err().unwrap_or_else(|| panic!("{set} was taken"));
        assert!(refused.contains(words), "{set}: {refused}");
    }
    let seconds = Expiry::in_seconds(1000, 1000, 30 * 86_400_000);
    let suits = |set: &str| {
        job(set).unwrap().suits(&Capabilities { expiry: Some(seconds), ..everything() }).map_err(|it| it.to_string())
    };
    assert!(suits("ttl=1500ms").unwrap_err().contains("use 2000ms"), "{:?}", suits("ttl=1500ms"));
    assert!(suits("ttl=60d").unwrap_err().contains("at most 2592000 s"), "{:?}", suits("ttl=60d"));
    assert!(suits("ttl=900ms").unwrap_err().contains("at least 1000 ms"), "{:?}", suits("ttl=900ms"));
    assert_eq!(suits("ttl=2s"), Ok(Vec::new()));
}
