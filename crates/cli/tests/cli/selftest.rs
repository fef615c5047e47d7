//! `kvtrial selftest`, and what studies say of it.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use crate::common;

use common::Desk;
use serde_json::Value;

/// A desk with a cache of its own.
fn command(desk: &Desk, words: &str) -> common::Ran {
    let mut command = desk.command(words);
    command.env("XDG_CACHE_HOME", desk.path().join("cache"));
    desk.finished(command.output().unwrap())
}

#[test]
fn the_result_of_a_self_test_goes_into_the_studies_that_follow() {
    let desk = Desk::new();
    let ran = command(&desk, "selftest --quick --json --out result.json");
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ran.status, if printed["passed"] == true { 0 } else { 1 }, "{}", ran.stderr);
    let written: Value = serde_json::from_slice(&std::fs::read(desk.path().join("result.json")).unwrap()).unwrap();
    assert_eq!(printed, written);

    let ran = command(&desk, "run ycsb -s ram --no-baselines --repeats 1 --set operations=1000 --out out");
    assert_eq!(ran.study.unwrap()["selftest"], printed, "{}", ran.stderr);
    assert!(ran.stdout.contains("Instrument checked on this machine"), "{}", ran.stdout);
}

#[test]
fn a_study_without_a_self_test_before_it_makes_the_quick_one() {
    let desk = Desk::new();
    let ran = command(&desk, "run ycsb -s ram --no-baselines --repeats 1 --set operations=1000 --out out");
    assert!(ran.stdout.contains("Instrument checked on this machine"), "{}", ran.stdout);
    let selftest = &ran.study.as_ref().unwrap()["selftest"];
    assert_eq!(selftest["scope"], "quick");
    let proofs = selftest["proofs"].as_array().unwrap();
    let lie = proofs.iter().find(|proof| proof["name"] == "fault_wrong_value").unwrap();
    assert!(lie["passed"] == true && lie["measured"].as_f64().unwrap() >= 1.0, "{lie}");
}

#[test]
fn a_machine_on_which_the_self_test_failed_is_not_trusted_by_strict() {
    let desk = Desk::new();
    command(&desk, "selftest --quick");
    let mut files: Vec<_> = walk(&desk.path().join("cache"));
    let file = files.pop().expect("the result is kept for later studies");
    let mut known: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    known["passed"] = false.into();
    known["proofs"][0]["passed"] = false.into();
    std::fs::write(&file, known.to_string()).unwrap();
    let words = "run ycsb -s ram --no-baselines --repeats 1 --set operations=1000 --out";
    let strict = command(&desk, &format!("{words} strict --strict"));
    assert!(strict.status == 4 && strict.stderr.contains("self-test failed"), "{}", strict.said());
    let lax = command(&desk, &format!("{words} lax"));
    assert_eq!(lax.status, 0, "{}", lax.said());
}

/// Every file below a directory.
fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_store_against_itself_is_told_with_the_interval_of_its_rate() {
    let desk = Desk::new();
    let ran = command(&desk, "selftest --quick --aa ram --pairs 2 --repeats 4 --json");
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    let proofs = result["proofs"].as_array().unwrap();
    let rate = proofs.iter().find(|proof| proof["name"] == "false_alarms ram").unwrap();
    assert!(rate["interval"]["n"] == 2 && rate["interval"]["high"].as_f64().unwrap() > 0.5, "{rate}");
    assert!(proofs.iter().any(|proof| proof["name"] == "power ram"), "{}", ran.stdout);
}

#[test]
fn a_store_of_yours_cannot_be_started_afresh_and_is_refused() {
    let desk = Desk::new();
    let ran = command(&desk, "selftest --aa redis://127.0.0.1:1");
    assert!(ran.status == 2 && ran.stderr.contains("fresh store"), "{}", ran.stderr);
    let ran = command(&desk, "selftest --pairs 5");
    assert!(ran.status == 2 && ran.stderr.contains("--aa"), "{}", ran.stderr);
}

#[test]
fn a_slowed_store_is_labelled_in_the_table() {
    let desk = Desk::new();
    let ran =
        command(&desk, "run ycsb -s ram,burn=50% -s ram --no-baselines --repeats 1 --set operations=1000 --out out");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("ram,burn=50%") && ran.stdout.contains("Slowed down by kvtrial on purpose"),
        "{}",
        ran.stdout
    );
}
