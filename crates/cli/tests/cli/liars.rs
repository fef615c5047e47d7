//! A server that lies during a run makes the cell void, with the right reason and the right key, on every protocol.

#![allow(clippy::unwrap_used, missing_docs)]

use crate::common;

use common::{Ran, run_once};
use std::time::Duration;
use testkit::lying::{Lie, LyingServer, Protocol, Rule, Target, Told, When};

const PROTOCOLS: [Protocol; 3] = [Protocol::Resp, Protocol::Memcached, Protocol::Tyrant];

/// Half reads, half updates, of values of 100 bytes; one operation at a time.
const MIX: [&str; 10] = [
    "--set",
    "workload=a",
    "--set",
    "records=300",
    "--set",
    "operations=6000",
    "--set",
    "value=100",
    "--deadline",
    "1500ms",
];

/// The spec of a server on this port.
fn url(protocol: Protocol, port: u16) -> String {
    let name = match protocol {
        Protocol::Resp => "redis",
        Protocol::Memcached => "memcached",
        Protocol::Tyrant => "tyrant",
    };
    format!("{name}://127.0.0.1:{port}")
}

fn run_with(protocol: Protocol, rule: Rule, more: &[&str]) -> (Ran, Vec<Told>) {
    let server = LyingServer::start(protocol, vec![rule]).unwrap();
    let ran = run_once("ycsb", &url(protocol, server.port()), more);
    (ran, server.told())
}

/// One lie during a run: the cell is void for one of these reasons, and the key lied about is named.
fn assert_void(lie: Lie, target: Target, kinds: &[&str]) {
    for protocol in PROTOCOLS {
        let (ran, told) = run_with(protocol, Rule::new(lie, target, When::Nth(1500)), &MIX);
        assert_eq!(told.len(), 1, "{protocol:?} {lie:?} was not told\n{}", ran.said());
        assert_eq!((ran.verdict(), ran.status), ("void", 1), "{protocol:?} {lie:?}\n{}", ran.said());
        let found = kinds.iter().find_map(|kind| ran.why(kind));
        let (count, example) = found.unwrap_or_else(|| panic!("{protocol:?} {lie:?}: {}", ran.only()["verdict"]));
        let key = String::from_utf8_lossy(&told[0].key).into_owned();
        assert!(example.contains(&key), "{protocol:?} {lie:?} at {key}: {example}");
        assert_eq!(count, 1, "{protocol:?} {lie:?}: {example}");
    }
}

#[test]
fn an_honest_run_is_not_void_on_any_protocol() {
    for protocol in PROTOCOLS {
        let rule = Rule::new(Lie::Late(Duration::from_millis(300)), Target::Gets, When::Nth(1500));
        let (ran, told) = run_with(protocol, rule, &MIX);
        assert_eq!((told.len(), ran.status), (1, 0), "{protocol:?}\n{}", ran.said());
        assert_ne!(ran.verdict(), "void", "{protocol:?}: {}", ran.only()["verdict"]);
        // Late, but right: that is a matter of latency.
        let max = ran.only()["latency_ns"]["service"]["max"].as_f64().unwrap();
        assert!((300e6..1500e6).contains(&max), "{protocol:?}: the longest operation took {max} ns");
    }
}

#[test]
fn wrong_values_make_a_run_void() {
    assert_void(Lie::WrongBytes, Target::Gets, &["wrong_value"]);
    assert_void(Lie::TruncatedValue, Target::Gets, &["wrong_value"]);
}

#[test]
fn values_of_other_keys_and_of_other_times_make_a_run_void() {
    assert_void(Lie::AnotherKeysValue, Target::Gets, &["wrong_key"]);
    assert_void(Lie::StaleValue, Target::Gets, &["stale_value"]);
}

#[test]
fn a_denied_hit_makes_a_run_void() {
    assert_void(Lie::Denied, Target::Gets, &["unexpected_miss"]);
}

#[test]
fn updates_acknowledged_and_forgotten_make_a_run_void() {
    for protocol in PROTOCOLS {
        let (ran, told) = run_with(protocol, Rule::new(Lie::DropsPut, Target::Puts, When::Every(50)), &MIX);
        assert_eq!((ran.verdict(), ran.status), ("void", 1), "{protocol:?}\n{}", ran.said());
        let kinds = ["stale_value", "unexpected_miss", "lost_updates"];
        let examples: Vec<_> = kinds.iter().filter_map(|kind| ran.why(kind)).collect();
        assert!(!examples.is_empty(), "{protocol:?}: {}", ran.only()["verdict"]);
        for (_, example) in examples {
            let named = told.iter().any(|told| example.contains(&*String::from_utf8_lossy(&told.key)));
            assert!(named, "{protocol:?}: {example}");
        }
    }
}

#[test]
fn errors_and_garbage_make_a_run_void() {
    assert_void(Lie::Error, Target::Puts, &["refused"]);
    assert_void(Lie::Garbage, Target::Gets, &["protocol"]);
    assert_void(Lie::Twice, Target::Gets, &["protocol"]);
}

#[test]
fn a_value_of_gigabytes_is_not_believed_and_makes_a_run_void() {
    assert_void(Lie::Endless, Target::Gets, &["protocol"]);
}

#[test]
fn a_connection_that_ends_instead_of_an_answer_or_within_it_makes_a_run_void() {
    assert_void(Lie::Close, Target::Gets, &["connection_lost"]);
    assert_void(Lie::HalfThenClose, Target::Gets, &["connection_lost"]);
}

#[test]
fn an_answer_that_does_not_come_in_time_ends_the_run_at_the_deadline() {
    assert_void(Lie::Never, Target::Gets, &["deadline"]);
    assert_void(Lie::HalfThenStall, Target::Gets, &["deadline"]);
    assert_void(Lie::Late(Duration::from_secs(4)), Target::Gets, &["deadline"]);
}

#[test]
fn one_wrong_value_in_a_million_is_found() {
    let more = [
        "--set",
        "workload=c",
        "--set",
        "records=1000",
        "--set",
        "operations=1000000",
        "--set",
        "value=100",
        "--clients",
        "4",
        "--pipeline",
        "64",
    ];
    let (ran, told) = run_with(Protocol::Resp, Rule::new(Lie::WrongBytes, Target::Gets, When::Nth(500_000)), &more);
    assert_eq!((ran.verdict(), ran.status), ("void", 1), "{}", ran.said());
    let (count, example) = ran.why("wrong_value").unwrap();
    assert_eq!(count, 1, "{example}");
    assert!(example.contains(&*String::from_utf8_lossy(&told[0].key)), "{example}");
}

/// A server that tells this lie whenever it can: the cell is void for this reason.
fn assert_liar(job: &str, rules: Vec<Rule>, lie: Lie, more: &[&str], kind: &str) {
    let server = LyingServer::start(Protocol::Resp, rules).unwrap();
    let ran = run_once(job, &url(Protocol::Resp, server.port()), more);
    let told = server.told().into_iter().filter(|told| told.lie == lie).count();
    assert!(told > 0, "{lie:?} was not told\n{}", ran.said());
    assert_eq!((ran.verdict(), ran.status), ("void", 1), "the lie {lie:?} was used {told} times\n{}", ran.said());
    assert!(ran.why(kind).is_some(), "the lie {lie:?} was used {told} times: {}", ran.only()["verdict"]);
}

#[test]
fn one_register_for_all_rows_makes_crud_void() {
    let rule = Rule::new(Lie::OneRegister, Target::Gets, When::Every(1));
    assert_liar("crud", vec![rule], Lie::OneRegister, &["--set", "rows=500"], "wrong_key");
}

#[test]
fn old_versions_told_only_while_their_key_is_written_make_a_run_void() {
    let more = [&["--clients", "32"][..], &MIX[..], &["--set", "records=20"][..]].concat();
    for lie in [Lie::FirstValueWhileWriting, Lie::BackAndForthWhileWriting] {
        let late = Rule::new(Lie::Late(Duration::from_millis(5)), Target::Puts, When::Every(4));
        let rules = vec![late, Rule::new(lie, Target::Gets, When::Every(1))];
        assert_liar("ycsb", rules, lie, &more, "stale_value");
    }
}

#[test]
fn numbers_that_increments_did_not_come_to_make_counts_void() {
    let more = ["--data", "gen:500:42", "--clients", "4", "--pipeline", "4"];
    for when in [When::Every(2), When::Nth(6000)] {
        let rule = Rule::new(Lie::RepeatedNumber, Target::Increments, when);
        assert_liar("counts", vec![rule], Lie::RepeatedNumber, &more, "wrong_number");
    }
}

#[test]
fn seven_bytes_after_every_append_make_append_void() {
    let rule = Rule::new(Lie::SevenBytes, Target::Appends, When::Every(1));
    assert_liar("append", vec![rule], Lie::SevenBytes, &["--data", "gen:1000:7", "--clients", "4"], "wrong_number");
}

#[test]
fn a_server_that_lies_as_long_as_a_phase_writes_and_is_right_when_it_is_read_back_is_found_in_the_midst_of_it() {
    let jobs: [(&str, &[&str], u64); 3] = [
        ("append", &["--data", "gen:30000:7"], 30_000),
        ("crud", &["--set", "rows=30000"], 30_000),
        ("bulk", &["--data", "gen:30000:7", "--set", "batch=1"], 30_000),
    ];
    for (job, words, writes) in jobs {
        let words = [words, &["--clients", "4", "--pipeline", "8"]].concat();
        let rule = Rule::new(Lie::Denied, Target::Gets, When::Every(1)).before_writes(writes);
        assert_liar(job, vec![rule], Lie::Denied, &words, "unexpected_miss");
    }
}

#[test]
fn reads_in_the_midst_of_writes_are_counted_apart() {
    let server = LyingServer::start(Protocol::Memcached, Vec::new()).unwrap();
    let words = ["--set", "rows=20000", "--clients", "4", "--pipeline", "8"];
    let ran = run_once("crud", &url(Protocol::Memcached, server.port()), &words);
    assert_eq!(ran.status, 0, "{}", ran.said());
    let trial = &ran.only()["trials"][0];
    // Of three phases that write, about one row in a thousand each.
    assert!((20..150).contains(&trial["checks"].as_u64().unwrap()), "{}", trial["checks"]);
    assert_eq!(trial["operations"], 80_000);
    assert_eq!(trial["latency_ns"]["response"]["n"], 80_000);
    assert_eq!(trial["hits"], 20_000);
}
