//! A server of the user's is asked what it can do: what it has not is not declared, and said with its own words.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::common;

use common::Desk;
use serde_json::Value;
use testkit::lying::{Knows, Lie, LyingServer, Protocol, Rule, Target, Unknown, When};
use testkit::tyrant_server::{Listen, TyrantServer};

/// Of an unrelated script: `crates/jobs/tests/answers`.
const DEBIAN_1K: &str = "sha256:68feb5060a6d9f728165362a625509d52ab91a5abcf6de1f6c5fe58fe046bc91";

/// How `kvtrial check` finds a store: the status of each case by its name, and all it printed.
fn check(spec: &str) -> (Option<i32>, Vec<(String, Value)>, String) {
    let output =
        std::process::Command::new(env!("CARGO_BIN_EXE_kvtrial")).args(["check", spec, "--json"]).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout.clone(), output.stderr].concat()).into_owned();
    let reports: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    let cases = reports[spec]["cases"].as_array().unwrap().iter();
    let cases = cases.map(|case| (case["name"].as_str().unwrap().to_owned(), case.clone())).collect();
    (output.status.code(), cases, said)
}

fn why_skipped<'a>(cases: &'a [(String, Value)], name: &str) -> &'a str {
    let (_, case) = cases.iter().find(|(known, _)| known.starts_with(name)).unwrap_or_else(|| panic!("{cases:?}"));
    assert_eq!(case["status"], "skipped", "{case}");
    case["why"].as_str().unwrap()
}

/// The answer of `fans` on it, and what the study says of the store.
fn fans(spec: &str) -> Value {
    let desk = Desk::new();
    let ran = desk.run(&format!("fans -s {spec} --data debian-1k --no-baselines --repeats 1 --warmups 0 --clients 4"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert_eq!(ran.digest(spec), DEBIAN_1K, "{}", ran.said());
    ran.cell(spec)["store_config"].clone()
}

#[test]
fn a_tyrant_behind_the_text_protocol_is_not_said_to_compare_and_set_nor_to_refuse_what_overflows() {
    let directory = tempfile::tempdir().unwrap();
    let server = TyrantServer::start(Listen::Tcp(0), &directory.path().join("data.tch")).unwrap();
    let spec = format!("memcached://127.0.0.1:{},protocol=text", server.port());
    let (status, cases, said) = check(&spec);
    assert_eq!(status, Some(0), "{said}");
    let why = why_skipped(&cases, "compare-and-set stores when nothing has changed");
    assert!(why.starts_with("not native: get_versioned (asked for it, the server says: "), "{why}");
    let bounds = cases.iter().find(|(name, _)| name.starts_with("a counter does at its upper bound")).unwrap();
    assert_eq!(bounds.1["status"], "passed");
    assert!(fans(&spec)["lacks"].as_str().unwrap().contains("compare_and_set"));
}

#[test]
fn get_set_and_del_are_enough_however_the_server_takes_what_it_does_not_know() {
    for others in [Unknown::Refused, Unknown::HangsUp] {
        let server = LyingServer::start_small(Knows { commands: &["GET", "SET", "DEL"], others }).unwrap();
        let spec = format!("redis://127.0.0.1:{}", server.port());
        let (status, cases, said) = check(&spec);
        assert_eq!(status, Some(0), "{others:?} {said}");
        let words =
            if others == Unknown::Refused { "unknown command 'APPEND'" } else { "the server closed the connection" };
        let why = why_skipped(&cases, "appending creates a missing key");
        assert!(why.contains("not native: append (asked for it, the server says: ") && why.contains(words), "{why}");
        let config = fans(&spec);
        let lacks = config["lacks"].as_str().unwrap();
        for kind in ["append", "increment", "compare_and_set", "get_many", "put_many", "get_fields"] {
            assert!(lacks.contains(&format!("{kind} (")), "{others:?} {kind}: {lacks}");
        }
    }
}

#[test]
fn a_command_that_is_missing_takes_its_operations_with_it_and_nothing_else() {
    let all = [
        "GET", "SET", "DEL", "APPEND", "INCRBY", "HINCRBY", "HGETALL", "MGET", "MSET", "SCRIPT", "EVALSHA", "INFO",
        "CONFIG", "PING",
    ];
    for (missing, gone) in [
        ("INFO", &[][..]),
        ("PING", &[]),
        ("EVALSHA", &["get_versioned", "compare_and_set"]),
        ("SCRIPT", &[]),
        ("MGET", &["get_many"]),
        ("HGETALL", &["increment_field", "get_fields"]),
    ] {
        let commands: Vec<&'static str> = all.into_iter().filter(|command| *command != missing).collect();
        let knows = Knows { commands: Box::leak(commands.into_boxed_slice()), others: Unknown::Refused };
        let server = LyingServer::start_small(knows).unwrap();
        let (status, cases, said) = check(&format!("redis://127.0.0.1:{}", server.port()));
        assert_eq!(status, Some(0), "{missing}: {said}");
        let skipped: String = cases
            .iter()
            .filter_map(|(_, case)| case["why"].as_str().filter(|why| why.contains("the server says")))
            .collect();
        for kind in
            ["get_versioned", "compare_and_set", "get_many", "put_many", "append", "increment_field", "get_fields"]
        {
            let is_gone = skipped.contains(&format!("{kind} (asked"));
            assert_eq!(is_gone, gone.contains(&kind), "{missing} {kind}: {skipped}");
        }
    }
}

#[test]
fn a_server_that_is_silent_at_what_it_does_not_know_is_waited_for_once_a_command() {
    let commands =
        &["GET", "SET", "DEL", "APPEND", "INCRBY", "HINCRBY", "HGETALL", "MGET", "INFO", "CONFIG", "SCRIPT", "EVALSHA"];
    let server = LyingServer::start_small(Knows { commands, others: Unknown::Silence }).unwrap();
    let (status, cases, said) = check(&format!("redis://127.0.0.1:{}", server.port()));
    assert_eq!(status, Some(0), "{said}");
    assert!(why_skipped(&cases, "put_many stores every pair").contains("no answer within 2 s"), "{said}");
}

#[test]
fn a_server_without_set_is_refused_and_told_what_it_needs() {
    let server = LyingServer::start_small(Knows { commands: &["GET", "DEL"], others: Unknown::Refused }).unwrap();
    let spec = format!("redis://127.0.0.1:{}", server.port());
    let ran = Desk::new().run(&format!("fans -s {spec} --data debian-1k --no-baselines"));
    assert_eq!(ran.status, 2, "{}", ran.said());
    assert!(
        ran.said().contains("every store needs put, and this server does not have it: ERR unknown command 'SET'"),
        "{}",
        ran.said()
    );
}

#[test]
fn keys_are_looked_for_and_cleared_many_a_round_trip_even_where_the_trial_has_one_in_flight() {
    const RECORDS: u64 = 2000;
    for (protocol, scheme) in
        [(Protocol::Resp, "redis"), (Protocol::Memcached, "memcached"), (Protocol::Tyrant, "tyrant")]
    {
        let reads = |repeats: u32| {
            let server = LyingServer::start(protocol, Vec::new()).unwrap();
            let spec = format!("{scheme}://127.0.0.1:{}", server.port());
            let words = format!(
                "ycsb -s {spec} --set records={RECORDS} --set operations=100 --no-baselines --warmups 0 --clients 1 --repeats {repeats}"
            );
            let ran = Desk::new().run(&words);
            assert!(ran.is_ranked(&spec), "{}", ran.said());
            server.reads()
        };
        let (one, three) = (reads(1), reads(3));
        // Loading, reading back and reading again over new connections take a round trip per key in each trial; what is asked of the
        // server before a trial takes some.
        let (trial, sweep) = (3 * RECORDS + 100, RECORDS.div_ceil(64));
        let few = 150;
        assert!((trial..trial + sweep + few).contains(&one), "{scheme}: {one}");
        assert!((3 * trial..3 * (trial + sweep + few)).contains(&three), "{scheme}: {three}");
    }
}

#[test]
fn a_server_that_answers_increments_with_less_than_the_truth_is_void_and_not_said_to_have_none() {
    let rule = Rule::new(Lie::RepeatedNumber, Target::Increments, When::Every(1));
    let server = LyingServer::start(Protocol::Resp, vec![rule]).unwrap();
    let ran = common::run_once("counts", &format!("redis://127.0.0.1:{}", server.port()), &["--data", "gen:200:7"]);
    assert_eq!((ran.verdict(), ran.status), ("void", 1), "{}", ran.said());
    let (_, example) = ran.why("wrong_number").unwrap_or_else(|| panic!("{}", ran.only()["verdict"]));
    assert!(example.contains("the count is") && example.contains("must be"), "{example}");
    let cell = ran.only();
    assert!(cell["emulated"].as_array().unwrap().is_empty() && cell["store_config"].get("lacks").is_none(), "{cell}");
    assert_eq!(cell["store_config"]["answers wrongly"], "a counter incremented by 5 answered 4, must be 5");
}
