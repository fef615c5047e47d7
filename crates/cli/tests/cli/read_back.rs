//! Reading back is timed and shown beside the timed rate, and a store that puts off its work until the first read is named.

#![allow(clippy::unwrap_used, missing_docs)]

use crate::common;

use common::{Ran, run_once};
use std::time::Duration;
use testkit::lying::{Lie, LyingServer, Protocol, Rule, Target, When};

const ROWS: [&str; 4] = ["--data", "gen:2000:7", "--clients", "2"];
/// Appends of that input, which has 2,000 keys.
const APPENDS: u64 = 6049;

fn append_on(rules: Vec<Rule>) -> Ran {
    let server = LyingServer::start(Protocol::Resp, rules).unwrap();
    run_once("append", &format!("redis://127.0.0.1:{}", server.port()), &ROWS)
}

#[test]
fn the_rate_of_reading_back_stands_in_the_study_the_tables_and_the_report() {
    let ran = append_on(Vec::new());
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(ran.why("slow_read_back").is_none(), "{}", ran.only()["verdict"]);
    let back = &ran.only()["trials"][0]["read_back"];
    let number = |name: &str| back[name].as_f64().unwrap();
    let keys = ran.only()["answer"]["facts"]["keys_read_back"].as_f64().unwrap();
    assert_eq!((number("records"), number("operations")), (keys, keys));
    assert_eq!(back["bytes_read"], ran.only()["answer"]["facts"]["value_bytes_read_back"]);
    let rate = number("records_per_s");
    assert!((rate * number("elapsed_s") - keys).abs() < 1e-6 * keys && number("longest_ns") > 0.0, "{back}");
    assert_eq!(ran.only()["read_back_per_s"]["value"], rate);
    assert!(ran.stdout.contains("Read back after the clock, records per second: redis://"), "{}", ran.stdout);
}

#[test]
fn a_server_that_only_notes_writes_and_carries_them_out_at_the_first_read_is_named() {
    // By all writes of the run it knows that what comes now is the examination. Longer than half of all timed work, also on a busy machine.
    let late = Rule::new(Lie::Late(Duration::from_secs(6)), Target::Gets, When::Nth(1)).after_writes(APPENDS);
    let ran = append_on(vec![late]);
    let (count, example) = ran.why("slow_read_back").unwrap_or_else(|| panic!("{}", ran.only()["verdict"]));
    assert_eq!((ran.verdict(), count), ("degraded", 1), "{}", ran.said());
    assert!(example.contains("records per second were read back") && example.contains("one read took 6."), "{example}");
}
