//! Every job at a rate on a real server that freezes at the start, in the middle and at the end: each trial ends by itself, blames nothing
//! but the fault, and leaves nothing behind.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A job, the server it runs on, and settings with which its timed work takes about a second at this rate.
struct Row(&'static str, &'static str, &'static str, u32);

const ROWS: [Row; 10] = [
    Row("fans", "redis-unix", "--data gen:60:42", 1600),
    Row("bulk", "redis-unix", "--data gen:600:42 --set batch=1", 650),
    Row("append", "redis-unix", "--data gen:200:42", 1600),
    Row("counts", "redis-unix", "--data gen:30:42", 1000),
    Row("crud", "redis-unix", "--set rows=200", 900),
    Row("ycsb", "redis-unix", "--set records=200 --set operations=700 --set workload=A", 750),
    Row("grow", "redis-unix", "--set items=600", 720),
    Row("nodes", "redis-unix,nodes=2", "--set records=200 --set operations=250", 800),
    Row("sets", "redis-unix,way=elements", "--set ids=150", 400),
    Row("events", "redis-unix", "--set events=1000", 90),
];

/// Where it freezes, for longer than an operation may take.
const PLACES: [(&str, &str); 4] = [
    ("before anybody is connected", "at 0s freeze 1 for 300ms"),
    ("at the start", "at 60ms freeze 1 for 300ms"),
    ("in the middle", "at 400ms freeze 1 for 300ms"),
    ("at the end", "at 850ms freeze 1 for 300ms"),
];

/// Reasons that say no more than that this machine was busy.
const MAY_BE_SAID: [&str; 8] = [
    "client_saturated",
    "client_delayed",
    "schedule_lag",
    "rate_not_offered",
    "steal",
    "other_load",
    "throttled",
    "slow_read_back",
];

fn frozen(row: &Row, fault: &str) -> (Desk, Ran) {
    let Row(job, store, settings, rate) = row;
    let desk = Desk::new();
    let more = format!("{settings} --clients 4 --rate {rate} --timeout 100ms --deadline 4s --out out");
    let words = format!("run {}", common::once(job, store, &[&more]));
    let ran = desk.finished(desk.command(&words).args(["--fault", fault]).output().unwrap());
    (desk, ran)
}

/// What is wrong with how it ended; `None`: nothing.
fn complaint(row: &Row, place: &str, fault: &str) -> Option<String> {
    let begun = Instant::now();
    let (desk, ran) = frozen(row, fault);
    let said = |what: &str| Some(format!("{} {place}: {what}\n{}", row.0, ran.said()));
    if begun.elapsed() > Duration::from_secs(25) {
        return said("it did not end by itself in time");
    }
    let Some(study) = &ran.study else { return said("there is no study") };
    let trial = &study["cells"][0]["trials"][0];
    let kinds: Vec<&str> = trial["verdict"]["reasons"]
        .as_array()
        .map(|reasons| reasons.iter().filter_map(|reason| reason["kind"].as_str()).collect())
        .unwrap_or_default();
    if let Some(accused) = kinds.iter().find(|kind| !MAY_BE_SAID.contains(kind)) {
        return said(&format!("it says {accused}"));
    }
    if trial["faults"][0]["at_s"].is_null() {
        return said("it was over before the fault");
    }
    let failed: u64 =
        ["refused", "not_connected", "unknown"].iter().filter_map(|fate| trial["failed"][fate].as_u64()).sum();
    if ["at the start", "in the middle"].contains(&place) && failed == 0 {
        return said("no operation failed, though each may take 100 ms");
    }
    if trial["writes"]["lost"] != 0 || trial["read_back"].is_null() {
        return said("not everything was read back, or something was lost");
    }
    left(desk.path()).and_then(|left| said(&format!("left behind: {left}")))
}

/// A file or a process that is left of a run at this desk.
fn left(desk: &Path) -> Option<String> {
    let file = std::fs::read_dir(desk.join("base")).unwrap().next().map(|file| file.unwrap().path());
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|process| {
        let words = std::fs::read(process.ok()?.path().join("cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        words.contains(desk.to_str()?).then_some(words)
    });
    file.map(|file| file.display().to_string()).into_iter().chain(processes).next()
}

#[test]
#[ignore = "half a minute: each job is frozen three times"]
fn a_server_that_freezes_at_the_start_in_the_middle_or_at_the_end_of_any_job_is_blamed_for_that_alone() {
    let named: Vec<&str> = ROWS.iter().map(|row| row.0).collect();
    assert!(jobs::all().all(|job| named.contains(&job.name)), "a job is not in the table: {named:?}");
    let todo: Mutex<Vec<_>> =
        Mutex::new(ROWS.iter().flat_map(|row| PLACES.map(|(place, fault)| (row, place, fault))).collect());
    let complaints = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some((row, place, fault)) = { todo.lock().unwrap().pop() } {
                    let complaint = complaint(row, place, fault);
                    println!("{} {place}: {}", row.0, if complaint.is_some() { "FAILED" } else { "ok" });
                    complaints.lock().unwrap().extend(complaint);
                }
            });
        }
    });
    let complaints = complaints.into_inner().unwrap();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
