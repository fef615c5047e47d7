//! Progress is for people at a terminal.

#![allow(clippy::unwrap_used)]

use std::process::Command;
use study::{Reason, ReasonKind, TrialRecord, Verdict};
use terminal::{Colour, Moment, ProgressView};

fn moment(operations: u64, planned: u64) -> Moment {
    let share = Some(operations as f64 / planned as f64);
    Moment { operations, share, elapsed: std::time::Duration::from_micros(operations), ..Moment::default() }
}

/// The test below runs this test as a process of its own, with standard error in a pipe.
#[test]
fn show_progress() {
    if std::env::var_os("KVTRIAL_SHOW_PROGRESS").is_none() {
        return;
    }
    let mut progress = ProgressView::new(Colour::Always);
    progress.trial_started(1, 2, "redis", "load");
    for done in 0..1000 {
        progress.update(&moment(done, 1000));
    }
    let reason = Reason { kind: ReasonKind::WrongValue, count: 1, example: String::new() };
    let mut fine =
        TrialRecord { makespan_s: 0.983, ops_per_s: 99_800.0, verdict: Verdict::of([]), ..TrialRecord::default() };
    fine.latency_ns.response.p99 = 133_000;
    progress.trial_finished(&fine);
    fine.latency_ns.response.p99 = 0;
    progress.trial_started(2, 2, "lmdb", "load");
    progress.trial_finished(&TrialRecord { warmup: true, verdict: Verdict::of([reason]), ..fine });
    progress.finish();
}

#[test]
fn where_there_is_no_terminal_each_trial_is_a_line() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "show_progress", "--nocapture"])
        .env("KVTRIAL_SHOW_PROGRESS", "1")
        .output()
        .unwrap();
    assert!(output.status.success());
    let lines = [
        "kvtrial: trial 1 of 2, 0:01: redis 983 ms, 99.8k op/s, p99 133 µs, valid",
        "kvtrial: trial 2 of 2, 0:01: lmdb warm-up 983 ms, 99.8k op/s, void (wrong value)",
    ];
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().collect::<Vec<_>>(), lines);
}

#[test]
fn an_update_nobody_sees_costs_next_to_nothing() {
    let mut progress = ProgressView::quiet();
    progress.trial_started(1, 1, "null", "run");
    let begun = std::time::Instant::now();
    for done in 0..1_000_000 {
        progress.update(&moment(done, 1_000_000));
    }
    let each_ns = begun.elapsed().as_nanos() / 1_000_000;
    assert!(each_ns < 2_000, "{each_ns} ns an update");
}
