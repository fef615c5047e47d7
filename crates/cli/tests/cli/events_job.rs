//! The job events on the stores that can do it: the known answer, what the report says of the pipeline, a search, bad input.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, embedded, named};

/// Answers of `tests/oracle/events.py`: 20000 42, 2000 42, and of [`ORDERS`].
const EVENTS_20000_42: &str = "sha256:4940fef7cdbc0c7950e5ad847506c88971d28ae78e432b06a42973791cd8577e";
const EVENTS_2000_42: &str = "sha256:7855b27eb69c835e3c1837d246152a00d0a54829042443b3837f827dd92863dc";
const OF_ORDERS: &str = "sha256:9abf71a2db5f764df06f3e33ac78e2d8dbde4ce42838aa19656e28b7e76412dc";

const ORDERS: &str = "1,19970101,1,1177\n4,19970101,2,2933\n,19970118,2,0\n4,19970331\n";

const SERVERS: [&str; 5] = ["redis", "redis-unix", "memcached", "mysql,durability=none", "postgres,durability=none"];

fn answers_on(stores: &[&str], words: &str, digest: &str) {
    let desk = Desk::new();
    let words = format!("run events --seed 42 {words} {} --no-baselines --repeats 1 --out out", named(stores));
    let ran = desk.kvtrial(&words);
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in stores {
        assert!(ran.is_ranked(store) && ran.digest(store) == digest, "{store}: {}", ran.said());
    }
}

#[test]
fn events_has_the_known_answer_on_every_store() {
    answers_on(&embedded(), "--set events=20000 --set queue=ring --set parsers=2 --set summarizers=2", EVENTS_20000_42);
    answers_on(&embedded(), "--set events=2000 --set format=v2 --clients 4", EVENTS_2000_42);
    answers_on(&SERVERS, "--set events=20000 --clients 4 --pipeline 8", EVENTS_20000_42);
    answers_on(
        &["redis-unix,cache=64MiB", "redis-unix,nodes=3", "redis-unix,cache=64KiB,nodes=3,shard=ketama"],
        "--set events=2000",
        EVENTS_2000_42,
    );
}

#[test]
fn events_has_the_known_answer_on_a_server_that_takes_milliseconds_per_request() {
    answers_on(&["mongodb,durability=os"], "--set events=2000", EVENTS_2000_42);
}

#[test]
fn settings_do_not_change_the_answer_and_the_report_says_who_waits() {
    let desk = Desk::new();
    desk.file("orders.csv", ORDERS);
    let ran = desk.kvtrial("run events --data orders.csv -s ram --no-baselines --repeats 1 --out out");
    assert_eq!((ran.status, ran.digest("ram")), (0, OF_ORDERS), "{}", ran.said());
    let queues = "mutex-array,mutex-list,channel,array-queue,ring,disruptor,none";
    let words = format!("run events --seed 42 --set events=20000 -s ram --vary queue={queues} --vary batch=1,256");
    let desk = Desk::new();
    let ran = desk.kvtrial(&format!("{words} --no-baselines --repeats 1 --warmups 0 --out out"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert_eq!(ran.cells().len(), 14);
    for cell in ran.cells() {
        assert_eq!(cell["answer"]["digest"], EVENTS_20000_42, "{cell}");
        let facts = &cell["answer"]["facts"];
        assert!(facts["additions"] == 95_154 && facts["summarized_events_per_s"].as_f64() > Some(0.0), "{facts}");
        let has_queue = cell["params"]["queue"] != "none";
        for name in ["parsers_waiting_share", "summarizers_waiting_share", "queue_depth_mean", "queue_depth_max"] {
            assert_eq!(facts[name].is_number(), has_queue, "{name}: {facts}");
        }
    }
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["EVENTS/S", "PARSERS WAIT", "the parsers wait", "by one thread that parses and sums"] {
        assert!(said.contains(words), "{words}: {}", ran.stdout);
    }
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    let page = std::fs::read_to_string(desk.path().join("out/report.html")).unwrap();
    for words in ["Parsers, queues, summarizers", "Who waits for whom", "Events summarized per second"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_search_finds_a_setting_and_says_which_made_no_difference() {
    let desk = Desk::new();
    let ran = desk.kvtrial("tune events -s ram --budget 20s --set events=2000 --out out");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let tune = &ran.study.as_ref().unwrap()["tune"];
    assert!(tune.is_object(), "{}", ran.said());
    for name in ["queue", "parsers", "summarizers", "size", "batch"] {
        assert!(tune.to_string().contains(&format!("\"{name}\"")), "{name}: {tune}");
    }
}

#[test]
fn a_preset_shows_what_was_wanted_in_2012_beside_what_is_reached_here() {
    let ran = Desk::new().kvtrial("run events --preset 2012 --scale 0.01 --repeats 1 --warmups 0 --out out");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["As in 2012", "10,000 events instead of 1,000,000", "130k events/s", "200k events/s", "100k events/s"]
    {
        assert!(said.contains(words), "{words}: {}", ran.said());
    }
}

#[test]
fn a_counter_can_be_asked_for() {
    let desk = Desk::new();
    desk.file("orders.csv", ORDERS);
    let ran = desk.kvtrial("query events mq:199701 -s ram --data orders.csv");
    assert_eq!(ran.stdout, "{\"counter\":\"mq:199701\",\"value\":5}\n", "{}", ran.said());
}

#[test]
fn a_cut_event_and_a_queue_without_a_bound_are_refused_before_anything_starts() {
    let desk = Desk::new();
    desk.file("cut.jsonl", "{\"time\":{\"date\":19970101}}\n{\"time\":{\"date\":19970101},\"customer\":{\"id\":1");
    for (words, said) in [
        ("--data cut.jsonl --set format=v2", "cut.jsonl, line 2, column 45: the event is cut off in the middle"),
        ("--data cut.jsonl", "cut.jsonl, line 1, column 1: the customer is '{"),
        (
            "--set size=unbounded",
            "size=unbounded is refused: a queue without a bound hides that the summarizers fall behind",
        ),
        ("--set batch=257", "batch=257 is not possible; use 1 to 256"),
    ] {
        let ran = desk.kvtrial(&format!("run events {words} -s redis-unix --out out"));
        assert_eq!(ran.status, 2, "{}", ran.said());
        let all = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(all.contains(said), "{words}: {}", ran.stderr);
        assert!(desk.left_behind().is_empty() && !desk.path().join("out").exists(), "{:?}", desk.left_behind());
    }
}

#[test]
fn eleven_jobs_are_listed() {
    let ran = Desk::new().kvtrial("jobs --json");
    let jobs: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(jobs.as_array().map(Vec::len), Some(11), "{}", ran.stdout);
}
