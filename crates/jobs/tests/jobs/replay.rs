//! The replay job: known answers, order per key, and stores that lie, forget or drop.
#![allow(clippy::unwrap_used)]

use crate::harness;

use engine::{Arrivals, Settings, run_phase};
use harness::{Backend, Memory, Request, Response, Turns, everything, nothing, run};
use jobkit::{Job, TrialSetup};
use kvtrial_jobs as jobs;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use store::Opener;
use study::{ReasonKind, Spec};

/// The digest of the lines `key TAB requests` of web12, as a script found it that shares no code with kvtrial.
const WEB12: &str = "sha256:931457cc2fd71cebc41379afc50a8a39caab59d1f84263bd6c587d3159a1be86";

fn prepare(data: Option<&str>, set: &[(&str, &str)]) -> Result<Box<dyn Job>, jobkit::JobError> {
    let set: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    jobs::prepare(jobs::find("replay").unwrap(), data.map(str::to_owned), &set, 42)
}

/// A job over lines of Twitter's format.
fn twitter(lines: &str, set: &[(&str, &str)]) -> Box<dyn Job> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(lines.as_bytes()).unwrap();
    prepare(file.path().to_str(), set).unwrap()
}

#[test]
fn the_answer_is_that_of_an_unrelated_script_on_one_client_and_on_many() {
    let job = prepare(None, &[]).unwrap();
    assert_eq!(job.known_digest().as_deref(), Some(WEB12));
    assert_eq!(job.input()["hits_of_all_kept"], 81_851);
    for (slots, turns) in [(1, Turns::OneByOne), (3, Turns::Random(1)), (64, Turns::Random(2))] {
        let mut store = Memory::default();
        let outcome = run(&*job, &mut store, everything(), slots, turns);
        assert_eq!((outcome.answer.digest.as_str(), &outcome.reasons[..]), (WEB12, &[][..]), "{slots}");
        assert_eq!(outcome.operations, [95_607 + 13_756, 13_756]);
        assert_eq!(outcome.planned, [Some(95_607 + 13_756), Some(13_756)]);
        let count = |name| outcome.fact(name).as_u64().unwrap();
        assert_eq!(
            [count("get_hits"), count("get_misses"), count("fills"), count("keys_at_end")],
            [81_851, 13_756, 13_756, 13_756]
        );
    }
}

#[test]
fn requests_of_a_key_keep_their_order_and_values_have_the_sizes_of_the_trace() {
    let mut lines = String::new();
    let mut expected: BTreeMap<String, Vec<(char, usize)>> = BTreeMap::new();
    for number in 0..3000_usize {
        let (key, size) = (format!("k,{}", number * number % 7), 1 + number % 40);
        let (operation, short) = [("get", 'g'), ("set", 's'), ("delete", 'd')][number * 7 % 5 % 3];
        lines += &format!("{},{key},3,{size},1,{operation},0\n", number / 100);
        expected.entry(key).or_default().push((short, if short == 's' { size } else { 0 }));
    }
    let job = twitter(&lines, &[]);
    for turns in [Turns::Random(1), Turns::Random(2)] {
        let (mut memory, mut seen) = (Memory::default(), BTreeMap::<String, Vec<(char, usize)>>::new());
        let mut left = 3000;
        let mut store = |request: &Request| {
            let (key, what) = match request {
                Request::Get(key) => (key, ('g', 0)),
                Request::Put(key, value) => (key, ('s', value.len())),
                Request::Delete(key) => (key, ('d', 0)),
                other => panic!("{other:?}"),
            };
            if left > 0 {
                left -= 1;
                seen.entry(String::from_utf8(key.clone()).unwrap()).or_default().push(what);
            }
            memory.answer(request)
        };
        let outcome = run(&*job, &mut store, everything(), 12, turns);
        assert_eq!(outcome.reasons, []);
        assert_eq!(outcome.answer.digest, job.known_digest().unwrap());
        assert_eq!(seen, expected);
    }
}

#[test]
fn a_load_puts_every_key_first_and_then_every_get_hits() {
    let job = prepare(None, &[("load", "first"), ("requests", "20000"), ("value", "3")]).unwrap();
    let outcome = run(&*job, &mut Memory::default(), everything(), 5, Turns::Random(4));
    assert_eq!(
        (outcome.reasons.len(), outcome.fact("get_hits").as_u64(), outcome.fact("fills").as_u64()),
        (0, Some(20_000), Some(0))
    );
    assert_eq!(outcome.operations[1], 20_000);
    assert_eq!(outcome.answer.digest, job.known_digest().unwrap());
}

/// A store that does something else with the put or get of one number.
struct Lies<F> {
    memory: Memory,
    requests: u64,
    lie: F,
}

impl<F: FnMut(u64, &Request, &mut Memory) -> Option<Response>> Backend for Lies<F> {
    fn answer(&mut self, request: &Request) -> Response {
        self.requests += 1;
        let lie = (self.lie)(self.requests, request, &mut self.memory);
        lie.unwrap_or_else(|| self.memory.answer(request))
    }
}

fn lied(set: &[(&str, &str)], lie: impl FnMut(u64, &Request, &mut Memory) -> Option<Response>) -> harness::Outcome {
    let job = twitter(
        "0,a,1,50,1,set,0\n0,a,1,50,1,get,0\n0,a,1,60,1,set,0\n0,a,1,60,1,get,0\n0,a,1,60,1,delete,0\n0,a,1,60,1,get,0\n0,a,1,9,1,set,0\n",
        set,
    );
    let outcome =
        run(&*job, &mut Lies { memory: Memory::default(), requests: 0, lie }, everything(), 1, Turns::OneByOne);
    assert!(
        outcome.reasons.is_empty() == (outcome.answer.digest == job.known_digest().unwrap()),
        "{:?}",
        outcome.reasons
    );
    outcome
}

#[test]
fn a_store_that_lies_is_found_out_and_named() {
    let honest = lied(&[], |_, _, _| None);
    assert_eq!(honest.reasons, []);
    let lost = lied(&[], |number, _, _| (number == 3).then_some(Response::Done));
    assert!(
        lost.reason(ReasonKind::StaleValue).example.contains("the value of request 1, not of request 3"),
        "{lost:?}"
    );
    let flipped = lied(&[], |number, _, memory| {
        (number == 2).then(|| {
            let mut value = memory.values[&b"a"[..]].0.clone();
            value[49] ^= 1;
            Response::Value(value)
        })
    });
    assert!(
        flipped.reason(ReasonKind::WrongValue).example.contains("50 bytes that are not the 50 of request 1"),
        "{flipped:?}"
    );
    let forgot = lied(&[], |number, _, _| (number == 4).then_some(Response::Missing));
    assert!(
        forgot.reason(ReasonKind::UnexpectedMiss).example.contains("missing, after request 3 put it there"),
        "{forgot:?}"
    );
    let kept = lied(&[], |number, _, _| (number == 5).then_some(Response::Done));
    assert_eq!(kept.reason(ReasonKind::UnexpectedHit).count, 1);
    let lost_last = lied(&[], |number, _, _| (number == 7).then_some(Response::Done));
    assert_eq!(lost_last.reason(ReasonKind::UnexpectedMiss).count, 1, "read back");
    let refused = lied(&[], |number, _, _| (number == 3).then_some(Response::Refused("no")));
    assert_eq!(refused.kinds(), [ReasonKind::Refused], "what it held before is right then");
}

#[test]
fn a_put_that_failed_may_be_there_or_not_but_nothing_else_may() {
    let there = lied(&[], |number, request, memory| {
        (number == 3).then(|| {
            memory.answer(request);
            Response::Deadline
        })
    });
    assert_eq!(there.kinds(), [ReasonKind::Deadline]);
    let neither = lied(&[], |number, _, _| match number {
        3 => Some(Response::Deadline),
        4 => Some(Response::Value(b"something".to_vec())),
        _ => None,
    });
    assert_eq!(neither.kinds(), [ReasonKind::Deadline, ReasonKind::WrongValue]);
}

#[test]
fn a_store_that_drops_is_wrong_unless_that_is_allowed_and_then_its_hits_are_beside_those_of_exact_caches() {
    // An exact LRU of 1,000 keys, as a store.
    let lru = || {
        let mut used: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        let mut memory = Memory::default();
        let mut now = 0;
        move |request: &Request| {
            now += 1;
            if let Request::Get(key) | Request::Put(key, _) = request
                && (matches!(request, Request::Put(..)) || used.contains_key(key))
            {
                used.insert(key.clone(), now);
                if used.len() > 1000 {
                    let oldest = used.iter().min_by_key(|(_, at)| **at).unwrap().0.clone();
                    used.remove(&oldest);
                    memory.values.remove(&oldest);
                }
            }
            memory.answer(request)
        }
    };
    let job = prepare(None, &[("evictions", "allowed"), ("requests", "30000")]).unwrap();
    let outcome = run(&*job, &mut lru(), everything(), 1, Turns::OneByOne);
    assert_eq!(outcome.reasons, []);
    assert_eq!(outcome.answer.digest, job.known_digest().unwrap());
    let count = |name| outcome.fact(name).as_u64().unwrap();
    assert_eq!(count("keys_at_end"), 1000);
    assert_eq!(count("get_hits"), count("hits_of_exact_lru"));
    assert!(count("hits_of_exact_fifo") < count("get_hits") && count("get_hits") < count("hits_of_all_kept"));
    assert_eq!(count("get_misses"), 30_000 - count("get_hits"));
    assert!(count("misses_of_what_was_dropped") > 100);
    let strict = prepare(None, &[("requests", "30000")]).unwrap();
    let outcome = run(&*strict, &mut lru(), everything(), 1, Turns::OneByOne);
    assert!(outcome.reason(ReasonKind::UnexpectedMiss).count > 100);
}

#[test]
fn a_store_that_keeps_nothing_has_no_answer_and_no_reading_back() {
    let job = prepare(None, &[("requests", "1000")]).unwrap();
    let mut store = |request: &Request| match request {
        Request::Get(_) => Response::Missing,
        _ => Response::Done,
    };
    let outcome = run(&*job, &mut store, nothing(), 4, Turns::Random(3));
    assert_eq!((outcome.reasons.len(), outcome.answer.digest.as_str(), outcome.operations), (0, "", vec![2000]));
}

#[test]
fn what_cannot_be_is_refused_with_the_remedy() {
    for (name, value, remedy) in [
        ("format", "csv", "auto, kvtrace, cache2k, twitter"),
        ("requests", "0", "all, or 1 to 4000000000"),
        ("fill", "always", "auto, never or on-miss"),
        ("load", "all", "none or first"),
        ("commands", "some", "values or all"),
        ("pace", "fast", "none, trace, or x0.001 to x1000000"),
        ("pace", "x0", "none, trace, or x0.001 to x1000000"),
        ("pace", "trace", "none: web12 is of the format cache2k, which does not say when"),
        ("evictions", "some", "wrong or allowed"),
        ("value", "-1", "0 to 1073741824 bytes"),
        ("largest", "0", "1 to 1073741824 bytes"),
    ] {
        let refused = prepare(None, &[(name, value)]).err().unwrap().0;
        assert!(refused.contains(&format!("{name}={value} is not possible")) && refused.contains(remedy), "{refused}");
    }
    let absent = prepare(Some("no/such.trace"), &[]).err().unwrap().0;
    assert!(absent.contains("no/such.trace") && absent.contains("name a readable file"), "{absent}");
    let large = twitter("0,a,1,5000,1,set,0\n", &[]);
    let small = store::Capabilities { max_value_bytes: 1000, ..everything() };
    assert!(large.suits(&small).unwrap_err().0.contains("5000 bytes, this store takes at most 1000; set largest=1000"));
    assert_eq!(twitter("0,a,1,5000,1,set,0\n", &[("largest", "1000")]).suits(&small), Ok(vec![]));
    let warned = twitter("0,a,1,5,1,set,0\n0,a,1,5,1,incr,0\n", &[("fill", "on-miss")]).warnings();
    assert!(warned.len() == 2 && warned[0].contains("twice") && warned[1].contains("1 writes"), "{warned:?}");
}

/// Runs the requests of a job in memory, as the engine does; returns what came of it, and of reading back.
fn paced(job: &dyn Job) -> (engine::Outcome, u64) {
    let info = catalog::find("ram").unwrap();
    let Opener::Embedded(open) = info.opener else { panic!() };
    let directory = tempfile::tempdir().unwrap();
    let ram = open(&Spec::private("ram"), directory.path()).unwrap();
    let trial = job.trial(&TrialSetup::alone(6, ram.capabilities().clone(), 42));
    let settings =
        Settings { clients: 3, pipeline: 2, threads: Some(2), arrivals: Arrivals::Recorded, ..Settings::default() };
    let stop = AtomicBool::new(false);
    let phase = |number| run_phase(ram.as_ref(), trial.as_ref(), number, &settings, &stop, &mut |_| {}).unwrap();
    let (outcome, read_back) = (phase(0), phase(1));
    assert_eq!((outcome.offences.total(), read_back.offences.total()), (0, 0));
    assert_eq!(trial.answer().0.digest, job.known_digest().unwrap());
    (outcome, read_back.counts.operations)
}

#[test]
fn at_the_pace_of_the_trace_no_request_is_sent_before_its_time_and_each_is_late_from_then_on() {
    // Of one key and of many, 4,000 in half a second.
    let line = |number: u64| {
        let key = if number.is_multiple_of(3) { 0 } else { number % 50 };
        let command = ["\"set\" \"k", "\"get\" \"k"][(number % 2) as usize];
        let value = if number.is_multiple_of(2) { " \"value\"" } else { "" };
        format!("1700000000.{:06} [0 127.0.0.1:1] {command}{key}\"{value}\n", number * 125)
    };
    let lines: String = (0..4000).map(line).collect();
    for (pace, least_ms) in [("trace", 499), ("x2", 249)] {
        let job = twitter(&lines, &[("pace", pace)]);
        assert!(job.is_recorded() && job.warnings().is_empty());
        let (outcome, keys) = paced(&*job);
        assert_eq!((outcome.counts.operations, outcome.counts.not_sent, keys), (4000, 0, 50));
        assert!(outcome.elapsed >= Duration::from_millis(least_ms), "{pace}: {:?}", outcome.elapsed);
        let latencies = outcome.histograms.latencies();
        assert_eq!((latencies.send_lag.n, latencies.response.n), (4000, 4000));
    }
    let seconds = twitter("0,a,1,5,1,set,0\n1,a,1,5,1,get,0\n", &[("pace", "x1000")]);
    assert!(seconds.warnings()[0].contains("spread by the seed"));
}
