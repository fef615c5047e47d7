//! An engine that lies is found out. A library in the place of the engine's hands every call on to the engine, and tells one lie
//! (`engine_liars/liar.c`).
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::engines::{self, Engine, every, two};

use common::{Desk, Ran};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Mutex;
use tempfile::TempDir;

const LIAR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/engine_liars/liar.c");

const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../embedded/include");

const ONCE: &str = "--no-baselines --repeats 1 --warmups 0 --out out";

const UPDATES: &str = "ycsb --set workload=a --set records=300 --set operations=3000 --clients 4";
const SCANS: &str = "ycsb --set workload=e --set records=300 --set operations=1000";
const APPENDS: &str = "append --data gen:500:42";
const DELETES: &str = "crud --set rows=300";
const BATCHES: &str = "bulk --data gen:300:7";

/// Lies, each with the job that finds it, and with the reasons of which one is named by that job, and by `check` before any other.
const LIES: &[(&str, Option<&str>, &[&str])] = &[
    ("wrong_bit", Some(UPDATES), &["wrong_value"]),
    ("cut_value", Some(UPDATES), &["wrong_value"]),
    ("other_value", Some(UPDATES), &["wrong_key"]),
    ("old_value", Some(UPDATES), &["stale_value", "wrong_value"]),
    ("denied_hit", Some(UPDATES), &["unexpected_miss"]),
    ("lost_put", Some(UPDATES), &["unexpected_miss", "stale_value"]),
    ("short_scan", Some(SCANS), &["unexpected_miss"]),
    ("skipped_row", Some(SCANS), &["unexpected_miss"]),
    ("lost_append", Some(APPENDS), &["lost_updates", "stale_value"]),
    ("kept_key", Some(DELETES), &["unexpected_hit"]),
    // No job has several clients delete the same key.
    ("second_delete", None, &["wrong_reply"]),
    ("lost_pair", Some(BATCHES), &["unexpected_miss"]),
];

/// Puts that are acknowledged and not written for a while: only a kill can show that.
const LATE_PUT: &str = "late_put";

const HONEST: &str = "";

/// An engine with the library that lies in the place of its own.
struct Liar {
    engine: Engine,
    _cache: TempDir,
}

impl Liar {
    fn before(engine: &Engine) -> Liar {
        let cache = TempDir::with_prefix("kvtrial-liar-").unwrap();
        let directory = engines::place(cache.path(), engine.bundle());
        fs::create_dir_all(&directory).unwrap();
        for entry in fs::read_dir(&engine.directory).unwrap().map(Result::unwrap) {
            if entry.file_name() != "engine.so" {
                symlink(entry.path(), directory.join(entry.file_name())).unwrap();
            }
        }
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-pthread", "-I", HEADER, LIAR, "-o"]);
        cc.arg(directory.join("engine.so"));
        cc.arg(format!("-DENGINE=\"{}\"", engine.directory.join("engine.so").display()));
        let built = cc.status();
        assert!(built.is_ok_and(|status| status.success()), "cc cannot build it; install it with: apt-get install gcc");
        Liar { engine: Engine { info: engine.info, directory }, _cache: cache }
    }

    fn name(&self) -> &str {
        self.engine.info.name
    }

    /// Runs `kvtrial` while the library tells this lie.
    fn tells(&self, lie: &str, words: &str) -> Ran {
        let desk = Desk::new();
        desk.finished(self.engine.command(&desk, words).env("LIE", lie).output().unwrap())
    }

    fn check(&self, lie: &str) -> Ran {
        self.tells(lie, &format!("check {} --json", self.name()))
    }

    fn run(&self, lie: &str, job: &str) -> Ran {
        self.tells(lie, &format!("run {job} -s {} {ONCE}", self.name()))
    }

    fn crash(&self, lie: &str) -> Ran {
        let kills = "--cuts 4 --clients 4 --within 100ms --out out";
        self.tells(lie, &format!("crash {},durability=os {kills}", self.name()))
    }
}

/// The reason of the first case of a check that failed.
fn first_reason(ran: &Ran, store: &str) -> String {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.said()));
    let cases = report[store]["cases"].as_array().unwrap();
    let failed = cases.iter().find(|case| case["status"] == "failed");
    failed.map_or(String::new(), |case| case["reason"]["kind"].as_str().unwrap().to_owned())
}

/// Every lie, each by a check and by a job. Most of a check is waiting, so several are under way.
fn every_lie_is_found(engine: &Engine) {
    let liar = Liar::before(engine);
    let waiting = Mutex::new(LIES.iter());
    let try_lies = || {
        loop {
            let Some((lie, job, kinds)) = waiting.lock().unwrap().next() else { return };
            let checked = liar.check(lie);
            let first = first_reason(&checked, liar.name());
            assert!(
                checked.status == 1 && kinds.contains(&&*first),
                "{} {lie}: {first}: {}",
                liar.name(),
                checked.said()
            );
            let Some(job) = job else { continue };
            let ran = liar.run(lie, job);
            assert_eq!((ran.status, ran.verdict()), (1, "void"), "{} {lie}: {}", liar.name(), ran.said());
            assert!(kinds.iter().any(|kind| ran.why(kind).is_some()), "{} {lie}: {}", liar.name(), ran.said());
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(try_lies))));
}

fn an_honest_one_is_accused_of_nothing(engine: &Engine) {
    let liar = Liar::before(engine);
    for lie in [HONEST, LATE_PUT] {
        let checked = liar.check(lie);
        assert_eq!(checked.status, 0, "{} {lie}: {}", liar.name(), checked.said());
    }
    for job in [UPDATES, SCANS, APPENDS, DELETES, BATCHES] {
        let ran = liar.run(HONEST, job);
        assert!(ran.status == 0 && ran.is_ranked(liar.name()), "{}: {}", liar.name(), ran.said());
    }
    let crashed = liar.crash(HONEST);
    assert_eq!(crashed.status, 0, "{}: {}", liar.name(), crashed.said());
}

fn writes_acknowledged_too_early_are_found(engine: &Engine) {
    let liar = Liar::before(engine);
    let ran = liar.crash(LATE_PUT);
    let case = &ran.study.as_ref().unwrap()["crash"]["cases"][0];
    assert!(ran.status == 1 && case["promise"] == "broken", "{}: {}", liar.name(), ran.said());
}

#[test]
fn every_lie_of_two_engines_is_found_by_check_and_by_a_job() {
    two().iter().for_each(every_lie_is_found);
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn every_lie_of_every_engine_is_found_by_check_and_by_a_job() {
    every().iter().for_each(every_lie_is_found);
}

#[test]
fn two_engines_behind_a_library_that_does_not_lie_are_accused_of_nothing() {
    two().iter().for_each(an_honest_one_is_accused_of_nothing);
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn every_engine_behind_a_library_that_does_not_lie_is_accused_of_nothing() {
    every().iter().for_each(an_honest_one_is_accused_of_nothing);
}

#[test]
fn writes_that_two_engines_acknowledge_too_early_are_found_in_4_kills() {
    two().iter().for_each(writes_acknowledged_too_early_are_found);
}

#[test]
#[ignore = "minutes: engines that Go and Rust build"]
fn writes_that_any_engine_acknowledges_too_early_are_found_in_4_kills() {
    every().iter().for_each(writes_acknowledged_too_early_are_found);
}
