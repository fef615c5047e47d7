//! The job events against the answers of an unrelated script: every queue and setting, stores that lie, invalid input.
#![allow(clippy::unwrap_used)]

use crate::harness;

use harness::{Backend, Memory, Outcome, Request, Response, Turns, everything, nothing, run_with};
use jobkit::{Job, JobError};
use kvtrial_jobs as jobs;
use store::{Capabilities, Opener, Store};
use study::ReasonKind;

/// `tests/oracle/events.py 20000 42`.
const DIGEST: &str = "sha256:4940fef7cdbc0c7950e5ad847506c88971d28ae78e432b06a42973791cd8577e";
const ADDITIONS: u64 = 95_154;
const COUNTERS: u64 = 645;

const QUEUES: [&str; 7] = ["mutex-array", "mutex-list", "channel", "array-queue", "ring", "disruptor", "none"];

fn job_of(set: &[(&str, &str)], data: Option<String>) -> Result<Box<dyn Job>, JobError> {
    let set: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    jobs::prepare(jobs::find("events").unwrap(), data, &set, 42)
}

/// A job of 20,000 events.
fn job(set: &[(&str, &str)]) -> Box<dyn Job> {
    job_of(&[&[("events", "20000")], set].concat(), None).unwrap()
}

/// The store that is handed to the pipeline, which does not ask it anything.
fn unasked() -> Box<dyn Store> {
    let Opener::Embedded(open) = catalog::find("ram").unwrap().opener else { panic!("ram is embedded") };
    open(&"ram".parse().unwrap(), std::path::Path::new("unused")).unwrap()
}

fn run(job: &dyn Job, store: &mut dyn Backend, capabilities: Capabilities, slots: u32, turns: Turns) -> Outcome {
    run_with(job, Some(&*unasked()), store, capabilities, slots, turns, u64::MAX)
}

#[test]
fn every_queue_with_any_number_of_threads_has_the_answer_of_an_unrelated_script() {
    for format in ["v1", "v2"] {
        for queue in QUEUES {
            for (parsers, summarizers, size, batch) in
                [("1", "1", "4096", "64"), ("2", "1", "64", "1"), ("1", "3", "64", "256"), ("5", "4", "65536", "16")]
            {
                let what = format!("{format} {queue} {parsers} {summarizers} {size} {batch}");
                let threads = [("parsers", parsers), ("summarizers", summarizers), ("size", size), ("batch", batch)];
                let job = job(&[&[("format", format), ("queue", queue)], &threads[..]].concat());
                assert_eq!(job.known_digest().as_deref(), Some(DIGEST), "{what}");
                let outcome = run(&*job, &mut Memory::default(), everything(), 1, Turns::OneByOne);
                assert_eq!((outcome.answer.digest.as_str(), &outcome.reasons), (DIGEST, &vec![]), "{what}");
                assert_eq!(outcome.operations, [1, COUNTERS, COUNTERS], "{what}");
                assert_eq!(outcome.fact("additions"), ADDITIONS, "{what}");
                if queue != "none" {
                    let size: u64 = size.parse().unwrap();
                    let depth = outcome.fact("queue_depth_max").as_u64().unwrap();
                    assert!((1..=size).contains(&depth), "{what}: {depth}");
                    for side in ["parsers_waiting_share", "summarizers_waiting_share"] {
                        assert!((0.0..=1.0).contains(&outcome.fact(side).as_f64().unwrap()), "{what}: {side}");
                    }
                }
            }
        }
    }
}

#[test]
fn many_clients_in_any_order_and_a_store_that_keeps_nothing_do_the_same_work() {
    let job = job(&[("queue", "ring"), ("parsers", "2"), ("summarizers", "2")]);
    for (slots, turns) in [(3, Turns::Random(1)), (64, Turns::Random(2)), (5000, Turns::Random(3))] {
        let outcome = run(&*job, &mut Memory::default(), everything(), slots, turns);
        assert_eq!((outcome.answer.digest.as_str(), outcome.reasons), (DIGEST, vec![]), "{slots}");
        assert_eq!(outcome.planned.iter().flatten().sum::<u64>(), outcome.operations.iter().sum::<u64>());
    }
    let mut drops = |_: &Request| Response::Done;
    let outcome = run(&*job, &mut drops, nothing(), 4, Turns::Random(4));
    assert_eq!((outcome.operations, outcome.reasons), (vec![1, COUNTERS], vec![]));
    assert_eq!(outcome.answer.digest, "");
}

#[test]
fn a_counter_that_is_lost_off_by_one_or_no_number_is_found() {
    let job = job(&[]);
    let lies: [(fn(&[u8]) -> Option<Vec<u8>>, ReasonKind, &str); 4] = [
        (|_| None, ReasonKind::UnexpectedMiss, "key m:199703: missing at the end; it must be"),
        (|right| Some(number(right, -1)), ReasonKind::LostUpdates, "key m:199703: 1110 of 1111 are there"),
        (|right| Some(number(right, 1)), ReasonKind::WrongNumber, "key m:199703: it is 1112, right is 1111"),
        (|_| Some(b"many".to_vec()), ReasonKind::WrongNumber, "key m:199703: what it holds is not a number"),
    ];
    for (lie, kind, words) in lies {
        let mut memory = Memory::default();
        let mut liar = |request: &Request| match (request, memory.answer(request)) {
            (Request::Get(key), Response::Value(right)) if key == b"m:199703" => {
                lie(&right).map_or(Response::Missing, Response::Value)
            }
            (_, honest) => honest,
        };
        let outcome = run(&*job, &mut liar, everything(), 8, Turns::Random(9));
        assert_eq!(outcome.kinds(), [kind]);
        let reason = outcome.reason(kind);
        assert!(reason.count == 1 && reason.example.contains(words), "{reason:?}");
        assert_ne!(outcome.answer.digest, DIGEST);
        assert_eq!(outcome.fact("counters_wrong"), 1);
    }
}

fn number(text: &[u8], more: i64) -> Vec<u8> {
    let number: i64 = std::str::from_utf8(text).unwrap().parse().unwrap();
    (number + more).to_string().into_bytes()
}

#[test]
fn a_counter_that_cannot_be_read_just_after_it_was_put_is_found() {
    let job = job_of(&[("events", "200000")], None).unwrap();
    let counters = job.input()["counters"].as_u64().unwrap();
    let (mut memory, mut puts) = (Memory::default(), 0);
    let mut late = |request: &Request| {
        puts += u64::from(matches!(request, Request::Put(..)));
        match request {
            Request::Get(_) if puts < counters => Response::Missing,
            _ => memory.answer(request),
        }
    };
    let outcome = run(&*job, &mut late, everything(), 1, Turns::OneByOne);
    assert_eq!(outcome.kinds(), [ReasonKind::UnexpectedMiss]);
    let reason = outcome.reason(ReasonKind::UnexpectedMiss);
    assert!(reason.count >= counters / 2000 && reason.example.contains("missing just after"), "{reason:?}");
    assert_eq!(outcome.operations[1], counters);
}

#[test]
fn a_put_that_is_refused_is_an_offence_and_its_counter_may_be_missing_one_that_was_acknowledged_may_not() {
    for (response, kind, lost) in
        [(Response::Refused("no room"), ReasonKind::Refused, 0), (Response::Done, ReasonKind::UnexpectedMiss, 1)]
    {
        let job = job(&[("queue", "none")]);
        let mut memory = Memory::default();
        let mut drops = |request: &Request| match request {
            Request::Put(key, _) if key == b"mq:199801" => response.clone(),
            _ => memory.answer(request),
        };
        let outcome = run(&*job, &mut drops, everything(), 2, Turns::OneByOne);
        assert_eq!(outcome.kinds(), [kind]);
        let account = outcome.account.unwrap();
        assert_eq!((account.lost, account.failed_absent), (lost, 1 - lost));
    }
}

#[test]
fn a_file_of_either_format_has_its_own_counters_a_zero_among_them() {
    let directory = tempfile::tempdir().unwrap();
    let of = |name: &str, text: &str, format| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        job_of(&[("format", format)], Some(path.display().to_string()))
    };
    let job = of("a.csv", "1,19970101,1,0\n4,19970101,2,2933\n,19970131\n", "v1").unwrap();
    let lines = ["c:1\t1", "c:4\t1", "cc:1\t0", "cc:4\t2933", "cq:1\t1", "cq:4\t2", "m:199701\t3", "mc:199701\t2933"];
    let right = data::digest::of_lines([&lines[..], &["mq:199701\t3"]].concat());
    let outcome = run(&*job, &mut Memory::default(), everything(), 1, Turns::OneByOne);
    assert_eq!((outcome.answer.digest, outcome.reasons), (right.clone(), vec![]));
    assert_eq!((&job.input()["events"], &job.input()["additions"]), (&3.into(), &13.into()));
    let json = "{\"time\":{\"date\":19970101},\"customer\":{\"id\":1},\"order\":{\"quantity\":1,\"price\":{\"cents\":0}}}\n\
                {\"time\":{\"date\":19970101},\"customer\":{\"id\":4},\"order\":{\"quantity\":2,\"price\":{\"cents\":2933}}}\n\
                {\"time\":{\"date\":19970131}}\n";
    assert_eq!(of("a.jsonl", json, "v2").unwrap().known_digest(), Some(right));
    let cut = of("cut.jsonl", &json[..json.len() - 4], "v2").err().unwrap().0;
    assert!(cut.contains("cut.jsonl, line 3, column 24: the event is cut off in the middle"), "{cut}");
    let mixed = of("mixed.csv", "1,19970101\n{}\n", "v1").err().unwrap().0;
    assert!(mixed.contains("line 2, column 1: the customer is '{}'") && mixed.contains("format=v2"), "{mixed}");
}

#[test]
fn a_queue_without_a_bound_is_refused_with_the_reason_and_other_settings_with_what_is_possible() {
    let why =
        "a queue without a bound hides that the summarizers fall behind, until memory is gone; set size=64 to 65536";
    for (set, words) in [
        (("queue", "unbounded"), why),
        (("size", "0"), why),
        (("size", "unbounded"), why),
        (("size", "63"), "size=63 is not possible; use 64 to 65536"),
        (("size", "65537"), "size=65537 is not possible; use 64 to 65536"),
        (("batch", "0"), "batch=0 is not possible; use 1 to 256"),
        (("batch", "257"), "batch=257 is not possible; use 1 to 256"),
        (("parsers", "0"), "parsers=0 is not possible; use 1 to 64"),
        (("summarizers", "65"), "summarizers=65 is not possible; use 1 to 64"),
        (("queue", "rings"), "queue=rings is not possible. Did you mean ring?"),
        (("format", "v3"), "format=v3 is not possible; use v1 (CSV) or v2 (JSON)"),
        (("events", "0"), "events=0 is not possible; use 1 to 10000000000"),
    ] {
        let error = job_of(&[set], None).err().unwrap().0;
        assert!(error.contains(words) && error.contains(&format!("{}={}", set.0, set.1)), "{set:?}: {error}");
    }
    let error = job_of(&[("queue", "disruptor"), ("size", "1000")], None).err().unwrap().0;
    assert_eq!(error, "size=1000: queue=disruptor has sizes that are powers of two; use 1024");
}
