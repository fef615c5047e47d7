//! A server that lies is caught, on every protocol this project speaks itself, with the right reason and the right key.

#![allow(clippy::unwrap_used)]

use kvtrial_check::{CaseStatus, CheckFinding, CheckReport, Options};
use std::time::Duration;
use store::{Endpoint, Opener, Store};
use study::{ReasonKind, Spec};
use testkit::lying::{Lie, LyingServer, Protocol, Rule, Target, When};

const PROTOCOLS: [Protocol; 3] = [Protocol::Resp, Protocol::Memcached, Protocol::Tyrant];

/// An operation may take this long here.
const TIMEOUT: Duration = Duration::from_millis(1500);

fn connect(protocol: Protocol, endpoint: &Endpoint) -> Box<dyn Store> {
    let name = match protocol {
        Protocol::Resp => "redis",
        Protocol::Memcached => "memcached",
        Protocol::Tyrant => "tyrant",
    };
    let Opener::Server { connect, .. } = catalog::find(name).unwrap().opener else { panic!("{name} is a server") };
    connect(&Spec::private(name), std::slice::from_ref(endpoint)).unwrap()
}

fn options() -> Options {
    Options { timeout: TIMEOUT, largest_value_bytes: 4 << 20, idle: Duration::from_millis(50), seed: 42, stop: None }
}

fn check(protocol: Protocol, rules: Vec<Rule>) -> (CheckReport, LyingServer) {
    let server = LyingServer::start(protocol, rules).unwrap();
    let store = connect(protocol, &Endpoint::loopback(server.port()));
    (kvtrial_check::run(&*store, &options(), &mut |_| {}), server)
}

fn printable(key: &[u8]) -> String {
    jobkit::printable(key)
}

/// Tells one lie about keys with `part` in them, and demands that it is the first failure of the check, of one of these kinds,
/// at the key lied about.
fn assert_caught(lie: Lie, target: Target, part: &str, kinds: &[ReasonKind]) {
    for protocol in PROTOCOLS {
        let rule = Rule::new(lie, target, When::Nth(1)).for_keys_with(part);
        let (report, server) = check(protocol, vec![rule]);
        let told = server.told();
        assert_eq!(told.len(), 1, "{protocol:?}: the lie was not told\n{report}");
        assert_eq!(report.finding(), CheckFinding::Wrong, "{protocol:?} {lie:?} went unnoticed\n{report}");
        let (case, reason) = report.failures().next().unwrap();
        assert!(kinds.contains(&reason.kind), "{protocol:?} {lie:?}: {case}: {reason:?}");
        let key = printable(&told[0].key);
        assert!(reason.example.starts_with(&format!("key {key}: ")), "{protocol:?} {lie:?} at {key}: {reason:?}");
    }
}

#[test]
fn an_honest_server_is_correct_on_every_protocol() {
    for protocol in PROTOCOLS {
        let (report, _server) = check(protocol, Vec::new());
        assert_eq!(report.finding(), CheckFinding::Correct, "{protocol:?}\n{report}");
    }
}

#[test]
fn an_honest_server_is_correct_over_a_unix_socket_too() {
    for protocol in PROTOCOLS {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let _server = LyingServer::start_unix(protocol, Vec::new(), &path).unwrap();
        let report = kvtrial_check::run(&*connect(protocol, &Endpoint::unix(path)), &options(), &mut |_| {});
        assert_eq!(report.finding(), CheckFinding::Correct, "{protocol:?}\n{report}");
    }
}

#[test]
fn a_wrong_bit_is_caught() {
    assert_caught(Lie::WrongBytes, Target::Gets, ":length 1000", &[ReasonKind::WrongValue]);
    assert_caught(Lie::WrongBytes, Target::Gets, ":length 1048577", &[ReasonKind::WrongValue]);
}

#[test]
fn another_keys_value_is_caught() {
    assert_caught(Lie::AnotherKeysValue, Target::Gets, ":length 65537", &[ReasonKind::WrongKey]);
}

#[test]
fn an_old_value_is_caught() {
    assert_caught(Lie::StaleValue, Target::Gets, ":replaced", &[ReasonKind::StaleValue]);
}

#[test]
fn a_value_without_its_last_byte_is_caught() {
    assert_caught(Lie::TruncatedValue, Target::Gets, ":length 1025", &[ReasonKind::WrongValue]);
    assert_caught(Lie::TruncatedValue, Target::Gets, ":length 1", &[ReasonKind::WrongValue]);
}

#[test]
fn a_hit_denied_is_caught() {
    assert_caught(Lie::Denied, Target::Gets, ":length 101", &[ReasonKind::UnexpectedMiss]);
}

#[test]
fn a_write_acknowledged_and_forgotten_is_caught() {
    assert_caught(Lie::DropsPut, Target::Puts, ":length 1001", &[ReasonKind::UnexpectedMiss]);
}

#[test]
fn an_overwrite_acknowledged_and_forgotten_is_caught_as_an_old_value() {
    for protocol in PROTOCOLS {
        let rule = Rule::new(Lie::DropsPut, Target::Puts, When::Nth(3)).for_keys_with(":replaced");
        let (report, server) = check(protocol, vec![rule]);
        let (_, reason) = report.failures().next().unwrap();
        assert_eq!(reason.kind, ReasonKind::StaleValue, "{protocol:?}: {reason:?}");
        assert!(reason.example.contains(&printable(&server.told()[0].key)), "{protocol:?}: {reason:?}");
    }
}

#[test]
fn an_answer_that_never_comes_ends_the_check_at_the_deadline() {
    std::thread::scope(|scope| {
        for lie in [Lie::Never, Lie::HalfThenStall, Lie::Skipped, Lie::Late(TIMEOUT * 2)] {
            for protocol in PROTOCOLS {
                scope.spawn(move || assert_ends_at_the_deadline(lie, protocol));
            }
        }
    });
}

fn assert_ends_at_the_deadline(lie: Lie, protocol: Protocol) {
    let rule = Rule::new(lie, Target::Gets, When::Nth(1)).for_keys_with(":length 100");
    let start = std::time::Instant::now();
    let (report, server) = check(protocol, vec![rule]);
    let (_, reason) = report.failures().next().unwrap();
    assert_eq!(reason.kind, ReasonKind::Deadline, "{protocol:?} {lie:?}: {reason:?}");
    assert!(reason.example.contains(&printable(&server.told()[0].key)), "{protocol:?} {lie:?}: {reason:?}");
    assert_eq!(report.failures().count(), 1, "{protocol:?} {lie:?}\n{report}");
    let CaseStatus::Skipped { why } = &report.cases.last().unwrap().status else { panic!("{report}") };
    assert!(why.contains("stopped answering"), "{why}");
    assert!(start.elapsed() < TIMEOUT * 5, "{protocol:?} {lie:?} took {:?}", start.elapsed());
}

#[test]
fn a_late_answer_within_the_deadline_is_no_failure() {
    for protocol in PROTOCOLS {
        let rule = Rule::new(Lie::Late(TIMEOUT / 5), Target::Gets, When::Nth(1)).for_keys_with(":length 100");
        let (report, server) = check(protocol, vec![rule]);
        assert_eq!(server.told().len(), 1);
        assert_eq!(report.finding(), CheckFinding::Correct, "{protocol:?}\n{report}");
    }
}

#[test]
fn an_answer_that_comes_twice_is_caught() {
    // Told at once or, when the second copy arrives later, by the next operation: another key's value or surplus bytes.
    for protocol in PROTOCOLS {
        let rule = Rule::new(Lie::Twice, Target::Gets, When::Nth(1)).for_keys_with(":length 999");
        let (report, _server) = check(protocol, vec![rule]);
        let (_, reason) = report.failures().next().unwrap();
        assert_eq!(reason.kind, ReasonKind::Protocol, "{protocol:?}: {reason:?}");
        assert!(reason.example.contains(":length 999"), "{protocol:?}: {reason:?}");
    }
}

#[test]
fn answers_that_come_twice_or_not_at_all_in_a_stream_shift_the_others_and_are_caught() {
    for protocol in PROTOCOLS {
        for lie in [Lie::Twice, Lie::Skipped] {
            let rule = Rule::new(lie, Target::Gets, When::Nth(20)).for_keys_with(":stream 16 ");
            let (report, _server) = check(protocol, vec![rule]);
            let (case, reason) = report.failures().next().unwrap();
            assert!(case.starts_with("16 operations in flight"), "{protocol:?} {lie:?}: {case}: {reason:?}");
            assert!(reason.example.contains(":stream 16 "), "{protocol:?} {lie:?}: {reason:?}");
            // To Tyrant, whose status says no more than yes or no, a shifted miss is the refusal of a put, and a shifted yes
            // the beginning of a value that does not follow.
            let kinds = [
                ReasonKind::WrongKey,
                ReasonKind::UnexpectedMiss,
                ReasonKind::UnexpectedHit,
                ReasonKind::Protocol,
                ReasonKind::Refused,
                ReasonKind::Deadline,
            ];
            assert!(kinds.contains(&reason.kind), "{protocol:?} {lie:?}: {reason:?}");
        }
    }
}

#[test]
fn an_error_is_caught_as_what_it_is() {
    assert_caught(Lie::Error, Target::Puts, ":length 11", &[ReasonKind::Refused]);
    // Tyrant's only error is a status, which for a read says that there is nothing.
    assert_caught(Lie::Error, Target::Gets, ":length 9", &[ReasonKind::Refused, ReasonKind::UnexpectedMiss]);
}

#[test]
fn bytes_that_are_not_the_protocol_are_caught() {
    assert_caught(Lie::Garbage, Target::Gets, ":length 10", &[ReasonKind::Protocol]);
    assert_caught(Lie::Garbage, Target::Puts, ":length 10", &[ReasonKind::Protocol]);
}

#[test]
fn a_connection_closed_instead_of_an_answer_or_within_it_is_caught_and_the_check_goes_on() {
    for lie in [Lie::Close, Lie::HalfThenClose] {
        assert_caught(lie, Target::Gets, ":length 1024", &[ReasonKind::ConnectionLost]);
    }
    let rule = Rule::new(Lie::Close, Target::Gets, When::Nth(1)).for_keys_with(":length 1024");
    let (report, _server) = check(Protocol::Resp, vec![rule]);
    assert_eq!(report.failures().count(), 1, "{report}");
    assert_eq!(report.cases.last().unwrap().status, CaseStatus::Passed, "{report}");
}

#[test]
fn a_server_that_lies_now_and_then_everywhere_has_many_cases_failed() {
    for protocol in PROTOCOLS {
        let (report, server) = check(protocol, vec![Rule::new(Lie::WrongBytes, Target::Gets, When::Every(100))]);
        assert!(server.told().len() > 10);
        assert!(report.failures().count() >= 8, "{protocol:?}\n{report}");
        assert!(report.verdict().reasons.iter().any(|reason| reason.kind == ReasonKind::WrongValue), "{report}");
    }
}
