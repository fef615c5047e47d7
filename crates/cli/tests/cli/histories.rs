//! `--history`: what clients saw is recorded and checked, on real servers, honest ones and such that answer with what was there before.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran};
use serde_json::Value;
use testkit::lying::{Lie, LyingServer, Protocol, Rule, Target, When};

const MIX: &str = "--set workload=a --set records=200 --set operations=20000 --clients 8 --out out";

fn ran(store: &str, more: &str) -> (Desk, Ran) {
    let desk = Desk::new();
    let mut command = desk.command(&format!("run {}", common::once("ycsb", store, &[MIX, more])));
    let ran = desk.finished(command.output().unwrap());
    (desk, ran)
}

fn history(ran: &Ran) -> &Value {
    &ran.study.as_ref().unwrap_or_else(|| panic!("{}", ran.said()))["cells"][0]["trials"][0]["history"]
}

#[test]
fn an_honest_server_is_linearizable_and_its_history_is_written_for_others_to_check() {
    let (desk, ran) = ran("redis-unix", "--history=seen.jsonl");
    let found = history(&ran);
    // Loaded, run, read back and read again.
    assert!(found["operations"].as_u64().unwrap() >= 20_000 + 3 * 200, "{found}");
    assert_eq!((&found["contradicted_keys"], &found["keys"]), (&0.into(), &200.into()), "{found}");
    assert!(ran.stdout.contains("linearizable, in "), "{}", ran.stdout);
    let lines = std::fs::read(desk.path().join("seen.jsonl")).unwrap();
    let mut again = history::read_lines(&mut &lines[..]).unwrap();
    assert_eq!(again.len() as u64, found["operations"].as_u64().unwrap());
    assert_eq!(history::check(&mut again).unwrap().contradicted_keys, 0);
}

#[test]
fn a_server_that_answers_with_what_was_there_before_is_shown_by_the_fewest_operations() {
    let rule = Rule::new(Lie::StaleValue, Target::Gets, When::Every(500));
    let server = LyingServer::start(Protocol::Resp, vec![rule]).unwrap();
    let (_desk, ran) = ran(&format!("redis://127.0.0.1:{}", server.port()), "--history");
    let found = history(&ran);
    assert!(found["contradicted_keys"].as_u64().unwrap() > 0, "{found}");
    let stale = found["stale_reads"].as_u64().unwrap();
    assert!((1..=server.told().len() as u64).contains(&stale), "{found}");
    assert!(found["oldest_stale_s"].as_f64().unwrap() > 0.0, "{found}");
    let smallest = found["smallest"].as_array().unwrap();
    assert_eq!(smallest.len(), 3, "two writes and the read that missed the second: {found}");
    assert_eq!(found["flaw"], "out_of_order");
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Not linearizable") && text.contains("which should have seen it"), "{text}");
}

#[test]
fn what_keeps_nothing_is_not_checked_and_why_is_said() {
    let (_desk, ran) = ran("null", "--history");
    assert_eq!(history(&ran)["problem"], "the store keeps nothing", "{}", ran.said());
}

#[test]
fn a_frozen_server_is_recorded_without_being_asked_and_stays_linearizable() {
    let desk = Desk::new();
    let more = "--set workload=a --set records=200 --set seconds=2 --rate 1000 --clients 8 --timeout 300ms --out out";
    let mut command = desk.command(&format!("run {}", common::once("ycsb", "redis-unix", &[more])));
    command.args(["--fault", "at 1s freeze 1 for 500ms"]);
    let ran = desk.finished(command.output().unwrap());
    let found = history(&ran);
    assert!(found["unknown"].as_u64().unwrap() > 0, "{found}");
    assert_eq!(found["contradicted_keys"], 0, "{found}");
}
