//! The choice of a store by what the user needs.
#![allow(clippy::unwrap_used)]

use crate::common::{Desk, Ran};
use serde_json::Value;

const WORK: &str = "ycsb --set records=50 --set operations=200";

fn decision(ran: &Ran) -> &Value {
    &ran.study.as_ref().unwrap_or_else(|| panic!("{}", ran.said()))["choice"]["decisions"][0]
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["store"].as_str().or(one.as_str()).unwrap()).collect()
}

/// Runs `choose` on stores of a known order.
fn choose(desk: &Desk, words: &str) -> Ran {
    desk.kvtrial(&format!("choose {WORK} {words} --out out"))
}

#[test]
fn the_fast_store_is_taken_the_slow_one_is_good_enough_and_the_one_that_misses_the_need_is_not() {
    let desk = Desk::new();
    let ran = choose(
        &desk,
        "-s lmdb,burn=120ms -s lmdb,burn=3ms -s lmdb --set operations=30 --need p99<40ms --need durability=os --budget 2m",
    );
    assert_eq!(ran.status, 0, "{}", ran.said());
    let decision = decision(&ran);
    assert_eq!(names(&decision["take"]), ["lmdb"], "{}", ran.said());
    assert_eq!(names(&decision["also"]), ["lmdb,burn=3ms"]);
    assert_eq!(names(&decision["out"]), ["lmdb,burn=120ms"]);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Take lmdb. It meets both needs and is "), "{}", ran.said());
    assert!(said.contains("Set lmdb up as it was measured: "), "{}", ran.said());
    assert!(said.contains("Not: lmdb,burn=120ms (p99<40ms: 1"), "{}", ran.said());
    let again = desk.kvtrial("report out --format text");
    assert_eq!(again.stdout, ran.stdout.split("Study: ").next().unwrap());
}

#[test]
fn a_store_whose_settings_are_given_has_them_when_it_is_started_with_these_lines() {
    let desk = Desk::new();
    let ran = choose(&desk, "-s redis-unix --need durability=second --budget 30s");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let set_up = decision(&ran)["set_up"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
    // As a user would copy them.
    let server = crate::common::redis::Redis::start(&desk, &set_up.collect::<Vec<_>>().join("\n"));
    let asked = std::process::Command::new("redis-cli")
        .args(["-p", &server.port.to_string(), "config", "get", "append*"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&asked.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("appendonly yes") && said.contains("appendfsync everysec"), "{said}");
}

#[test]
fn a_store_that_lies_is_never_taken_however_fast_it_is() {
    let rules = vec![testkit::lying::Rule::new(
        testkit::lying::Lie::WrongBytes,
        testkit::lying::Target::Gets,
        testkit::lying::When::Every(50),
    )];
    let liar = testkit::lying::LyingServer::start(testkit::lying::Protocol::Resp, rules).unwrap();
    let desk = Desk::new();
    let ran =
        choose(&desk, &format!("-s redis://127.0.0.1:{} -s lmdb,burn=3ms --need p99<1s --budget 1m", liar.port()));
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert_eq!(names(&decision(&ran)["take"]), ["lmdb,burn=3ms"], "{}", ran.said());
    assert_eq!(decision(&ran)["out"][0]["kind"], "void", "{}", ran.said());
}

#[test]
fn where_no_store_meets_the_needs_the_nearest_is_named_and_the_exit_status_is_1() {
    let desk = Desk::new();
    let ran = choose(&desk, "-s lmdb,burn=3ms -s lmdb,burn=6ms --need p99<1ms --need durability=os --budget 1m");
    assert_eq!(ran.status, 1, "{}", ran.said());
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("No store is shown to meet both needs (p99<1ms and durability=os). Nearest is lmdb,burn=3ms"),
        "{}",
        ran.said()
    );
    assert!(names(&decision(&ran)["take"]).is_empty());
}

#[test]
fn without_needs_the_best_of_each_class_is_taken() {
    let desk = Desk::new();
    let ran = choose(&desk, "-s lmdb,burn=3ms -s lmdb -s redis-unix --budget 1m");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let decisions = ran.study.as_ref().unwrap()["choice"]["decisions"].as_array().unwrap();
    let taken: Vec<(&str, Vec<&str>)> =
        decisions.iter().map(|one| (one["class"].as_str().unwrap(), names(&one["take"]))).collect();
    assert_eq!(taken, [("embedded", vec!["lmdb"]), ("network", vec!["redis-unix"])], "{}", ran.said());
    assert_eq!(names(&decisions[0]["also"]), ["lmdb,burn=3ms"]);
}

#[test]
fn the_budget_is_kept_and_what_it_did_not_suffice_for_is_said() {
    let desk = Desk::new();
    let begun = std::time::Instant::now();
    let ran = choose(&desk, "-s lmdb,burn=5ms -s redb,burn=5ms --need p99<1s --budget 4s --set operations=150");
    let used_s = ran.study.as_ref().unwrap()["choice"]["used_s"].as_f64().unwrap();
    assert!(used_s < 4.4, "{used_s}: {}", ran.said());
    assert!(begun.elapsed().as_secs_f64() > 1.0 && ran.stdout.contains(" of 4.00 s."), "{}", ran.said());
}

#[test]
fn what_cannot_be_chosen_by_is_refused_before_anything_is_started() {
    for (words, said) in [
        ("choose bulk --data gen:60:7 -s lmdb --need rate>=100", "a request of bulk carries many records"),
        ("choose ycsb -s lmdb --need loss=0", "kvtrial run --fault kill --need loss=0 does"),
        ("choose ycsb -s lmdb -s lmdb", "named twice"),
        ("choose ycsb -s lmdb --need fast", "'p99<5ms'"),
        ("choose nothing", "there is no job 'nothing'"),
    ] {
        let ran = Desk::new().kvtrial(words);
        assert!(ran.status == 2 && ran.study.is_none() && ran.stderr.contains(said), "{words}: {}", ran.said());
    }
}
