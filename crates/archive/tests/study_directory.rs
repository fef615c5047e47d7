//! A study on disk: what may go wrong, and that no recorded trial is ever lost.

#![allow(clippy::unwrap_used)]

use archive::{DirectoryError, StudyDir, read_study};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use study::{Cell, Histogram, LatencyDistributions, PhaseRecord, SeriesPoint, Study, TrialRecord};
use testkit::studies;

/// A plan as it is before the first trial, and its trials in the order they will run: every cell once, then every cell again.
fn plan() -> (Study, Vec<(usize, TrialRecord)>) {
    let mut study = studies::fans();
    let mut trials = Vec::new();
    for round in 0..5 {
        for (index, cell) in study.cells.iter().enumerate() {
            if let Some(trial) = cell.trials.get(round) {
                let order = trials.len() as u32 + 1;
                trials.push((index, TrialRecord { order, phases: vec![timed(order)], ..trial.clone() }));
            }
        }
    }
    for cell in &mut study.cells {
        cell.trials.clear();
        cell.verdict = study::Verdict::default();
        analysis::summarise(cell);
        (cell.makespan_s, cell.ops_per_s, cell.p99_ns) = (None, None, None);
        (cell.client_cpu_s, cell.server_cpu_s, cell.server_rss_bytes) = (None, None, None);
    }
    (study, trials)
}

/// A phase that kept its histogram.
fn timed(order: u32) -> PhaseRecord {
    let mut histogram = Histogram::default();
    (1..100).for_each(|at| histogram.record(u64::from(order * at) * 1_000));
    let by_operation = [("get".to_owned(), histogram.distribution())].into();
    let distributions = LatencyDistributions { by_operation, ..LatencyDistributions::default() };
    PhaseRecord { timed: true, response_ns: histogram.summary(), distributions, ..PhaseRecord::default() }
}

fn orders(study: &Study) -> Vec<u32> {
    let mut orders: Vec<u32> = study.cells.iter().flat_map(|cell| &cell.trials).map(|trial| trial.order).collect();
    orders.sort_unstable();
    orders
}

fn up_to(last: u32) -> Vec<u32> {
    (1..=last).collect()
}

fn record(directory: &mut StudyDir, trials: &[(usize, TrialRecord)]) {
    for (cell, trial) in trials {
        directory.record(*cell, trial.clone()).unwrap();
    }
}

/// The directory, the plan and the trials of a study that ended without a word after this many trials.
fn died_after(done: usize) -> (tempfile::TempDir, Study, Vec<(usize, TrialRecord)>) {
    let place = tempfile::tempdir().unwrap();
    let (study, trials) = plan();
    let mut directory = StudyDir::create(place.path(), study.clone()).unwrap();
    record(&mut directory, &trials[..done]);
    (place, study, trials)
}

fn message<T>(result: Result<T, DirectoryError>) -> String {
    match result {
        Ok(_) => panic!("this must fail"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_finished_study_is_read_back_as_it_was_written() {
    let place = tempfile::tempdir().unwrap();
    let (study, trials) = plan();
    let mut directory = StudyDir::create(place.path(), study).unwrap();
    directory.describe(0, |cell| cell.product = "null".into()).unwrap();
    record(&mut directory, &trials);
    let written = directory.close().unwrap();
    let read = read_study(place.path()).unwrap();
    assert_eq!(read, written);
    assert_eq!(orders(&read), up_to(trials.len() as u32));
    assert_eq!(read.cells[1].makespan_s.unwrap().value, 1.93);
    assert_eq!(read.cells[0].product, "null");
    let left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["study.json"]);
}

#[test]
fn a_study_killed_after_any_trial_is_resumed_without_losing_one() {
    let (study, trials) = plan();
    for killed_after in [0, 1, 7, trials.len()] {
        let place = tempfile::tempdir().unwrap();
        let mut directory = StudyDir::create(place.path(), study.clone()).unwrap();
        directory.describe(1, |cell| cell.store_version = "as found".into()).unwrap();
        record(&mut directory, &trials[..killed_after]);
        drop(directory); // no close: as a kill leaves it

        let mut directory = StudyDir::resume(place.path(), &study).unwrap();
        assert_eq!(orders(directory.study()), up_to(killed_after as u32));
        assert_eq!(directory.study().cells[1].store_version, "as found");
        assert_eq!(directory.recorded().len(), killed_after);
        record(&mut directory, &trials[killed_after..]);
        let resumed = directory.close().unwrap();

        let undisturbed = tempfile::tempdir().unwrap();
        let mut directory = StudyDir::create(undisturbed.path(), study.clone()).unwrap();
        directory.describe(1, |cell| cell.store_version = "as found".into()).unwrap();
        record(&mut directory, &trials);
        let whole = directory.close().unwrap();
        assert_eq!(resumed, whole);
        let counted = resumed.cells[1].counted().map(|trial| u64::from(trial.order)).collect::<Vec<_>>();
        let response = read_study(place.path()).unwrap().cells[1].latency_ns.response;
        assert_eq!(response.n, 99 * counted.len() as u64, "the histograms of all trials, those before the kill too");
        assert_eq!(response.max, counted.iter().max().unwrap() * 99_000);
    }
}

#[test]
fn a_line_torn_anywhere_by_a_crash_costs_only_itself() {
    let (place, study, trials) = died_after(3);
    let journal = place.path().join("trials.jsonl");
    let whole = fs::read(&journal).unwrap();
    let last_line = whole[..whole.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    for end in (last_line..whole.len()).step_by(97) {
        fs::write(&journal, &whole[..end]).unwrap();
        assert_eq!(orders(&read_study(place.path()).unwrap()), up_to(2), "torn at byte {end}");
    }
    // What is recorded after resuming follows the torn line's place, not its remains.
    let mut directory = StudyDir::resume(place.path(), &study).unwrap();
    record(&mut directory, &trials[2..5]);
    drop(directory);
    assert_eq!(orders(&read_study(place.path()).unwrap()), up_to(5));
}

/// The test below runs this test as a process of its own and kills it.
#[test]
fn record_until_killed() {
    let Some(place) = std::env::var_os("KVTRIAL_RECORD_UNTIL_KILLED") else { return };
    let (study, trials) = plan();
    let mut directory = StudyDir::create(Path::new(&place), study).unwrap();
    for order in 1.. {
        directory.record(order as usize % 3, TrialRecord { order, ..trials[0].1.clone() }).unwrap();
        println!("\nrecorded {order}");
    }
}

#[test]
fn a_process_killed_while_recording_keeps_every_trial_it_had_acknowledged() {
    for kill_after in [1, 40, 300] {
        let place = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "record_until_killed", "--nocapture"])
            .env("KVTRIAL_RECORD_UNTIL_KILLED", place.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut acknowledged = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            if let Some(order) = line.unwrap().strip_prefix("recorded ") {
                acknowledged = order.parse().unwrap();
                if acknowledged == kill_after {
                    child.kill().unwrap();
                }
            }
        }
        child.wait().unwrap();
        let (study, _) = plan();
        let found = orders(StudyDir::resume(place.path(), &study).unwrap().study());
        assert!(acknowledged >= kill_after && found.len() as u32 >= acknowledged, "{acknowledged}, {}", found.len());
        assert_eq!(found, up_to(found.len() as u32));
    }
}

#[test]
fn what_becomes_known_about_the_whole_study_is_kept() {
    let place = tempfile::tempdir().unwrap();
    let (study, trials) = plan();
    let mut directory = StudyDir::create(place.path(), study).unwrap();
    record(&mut directory, &trials[..2]);
    directory.amend(|study| study.host.clock = "tsc".into()).unwrap();
    record(&mut directory, &trials[2..3]);
    drop(directory);
    let read = read_study(place.path()).unwrap();
    assert_eq!((read.host.clock.as_str(), orders(&read)), ("tsc", up_to(3)));
}

#[test]
fn study_json_is_whole_and_at_most_a_second_old_while_the_study_runs() {
    let place = tempfile::tempdir().unwrap();
    let (study, trials) = plan();
    let mut directory = StudyDir::create(place.path(), study).unwrap();
    let on_disk = || -> Study { serde_json::from_slice(&fs::read(place.path().join("study.json")).unwrap()).unwrap() };
    assert_eq!(orders(&on_disk()), up_to(0));
    record(&mut directory, &trials[..2]);
    // The time is the subject.
    std::thread::sleep(std::time::Duration::from_millis(1_050));
    record(&mut directory, &trials[2..4]);
    assert!(orders(&on_disk()).len() >= 3, "{:?}", orders(&on_disk()));
    assert!(on_disk().cells[0].makespan_s.is_some(), "its summaries are there too");
}

#[test]
fn an_interrupted_study_that_was_closed_can_be_resumed() {
    let place = tempfile::tempdir().unwrap();
    let (study, trials) = plan();
    let mut directory = StudyDir::create(place.path(), study.clone()).unwrap();
    record(&mut directory, &trials[..4]);
    directory.close().unwrap();
    let mut directory = StudyDir::resume(place.path(), &study).unwrap();
    record(&mut directory, &trials[4..6]);
    assert_eq!(orders(&directory.close().unwrap()), up_to(6));
}

#[test]
fn an_existing_study_is_never_overwritten() {
    let (place, study, _) = died_after(2);
    let refused = message(StudyDir::create(place.path(), study));
    assert!(refused.contains("already holds a study") && refused.contains("2 trials recorded"), "{refused}");
    assert!(refused.contains("--resume") && refused.contains("--out"), "{refused}");
    assert_eq!(orders(&read_study(place.path()).unwrap()), up_to(2));
}

#[test]
fn resuming_with_another_plan_names_every_difference() {
    let place = tempfile::tempdir().unwrap();
    let (study, _) = plan();
    StudyDir::create(place.path(), study.clone()).unwrap().close().unwrap();
    let mut other = study.clone();
    other.seed = 7;
    other.repeats = 4;
    other.input.insert("name".into(), "another".into());
    other.cells[2].store = "leveldb".into();
    let refused = message(StudyDir::resume(place.path(), &other));
    for part in [
        "--seed was 42 there and is 7 here",
        "--repeats was 5 there and is 4 here",
        "the input's name was \"debian_fans_10k\" there and is \"another\" here",
        "fans on lmdb (clients=1 pipeline=1 policy=partition) belongs to that study but not to this command",
        "fans on leveldb (clients=1 pipeline=1 policy=partition) belongs to this command but not to that study",
        "--out",
    ] {
        assert!(refused.contains(part), "{part} is not in: {refused}");
    }
    let mut reordered = study.clone();
    reordered.cells.swap(0, 1);
    assert!(message(StudyDir::resume(place.path(), &reordered)).contains("another order"));
    let mut elsewhere = study;
    elsewhere.host.cpu = "Another CPU".into();
    assert!(message(StudyDir::resume(place.path(), &elsewhere)).contains("the processor was AMD EPYC"));
}

#[test]
fn two_processes_never_write_one_study() {
    let place = tempfile::tempdir().unwrap();
    let (study, _) = plan();
    let directory = StudyDir::create(place.path(), study.clone()).unwrap();
    assert!(message(StudyDir::resume(place.path(), &study)).contains("another kvtrial is writing"));
    drop(directory);
    StudyDir::resume(place.path(), &study).unwrap();
}

#[test]
fn a_damaged_study_json_is_named_with_its_place_and_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let (study, _) = plan();
    StudyDir::create(place.path(), study.clone()).unwrap().close().unwrap();
    let file = place.path().join("study.json");
    let half = &fs::read(&file).unwrap()[..2_000];
    fs::write(&file, half).unwrap();
    let refused = message(StudyDir::resume(place.path(), &study));
    assert!(
        refused.contains("study.json is damaged") && refused.contains("line ") && refused.contains("--out"),
        "{refused}"
    );
    assert_eq!(fs::read(&file).unwrap(), half);
}

#[test]
fn a_damaged_study_json_does_not_matter_while_the_journal_is_there() {
    let (place, study, _) = died_after(3);
    fs::write(place.path().join("study.json"), "{\"schema\"").unwrap();
    assert_eq!(orders(StudyDir::resume(place.path(), &study).unwrap().study()), up_to(3));
}

#[test]
fn a_damaged_line_of_the_journal_is_named_and_nothing_is_changed() {
    let (place, study, _) = died_after(3);
    let journal = place.path().join("trials.jsonl");
    let damaged = fs::read_to_string(&journal).unwrap().replacen("\"order\":2", "\"order\":!", 1);
    fs::write(&journal, &damaged).unwrap();
    let refused = message(StudyDir::resume(place.path(), &study));
    assert!(refused.contains("line 3") && refused.contains("remove line 3"), "{refused}");
    assert_eq!(fs::read_to_string(&journal).unwrap(), damaged);
}

#[test]
fn a_newer_schema_is_refused_and_an_older_build_asks_for_an_update() {
    let place = tempfile::tempdir().unwrap();
    let (study, trials) = plan();
    fs::write(place.path().join("study.json"), r#"{"schema": 99, "cells": "all different"}"#).unwrap();
    let refused = message(StudyDir::resume(place.path(), &study));
    assert!(refused.contains("schema 99") && refused.contains("Update kvtrial"), "{refused}");
    fs::remove_file(place.path().join("study.json")).unwrap();
    let mut directory = StudyDir::create(place.path(), study).unwrap();
    record(&mut directory, &trials[..1]);
    drop(directory);
    let journal = place.path().join("trials.jsonl");
    let newer = fs::read_to_string(&journal).unwrap().replacen("\"schema\":2", "\"schema\":99", 1);
    fs::write(&journal, newer).unwrap();
    assert!(message(read_study(place.path())).contains("schema 99"));
}

#[test]
fn fields_of_a_later_version_survive_reading_and_writing() {
    let place = tempfile::tempdir().unwrap();
    let (mut study, trials) = plan();
    study.more.insert("foreseen".into(), serde_json::json!({"passed": true}));
    study.cells[0].more.insert("shape".into(), serde_json::json!([1, 2.5]));
    let mut directory = StudyDir::create(place.path(), study).unwrap();
    let mut trial = trials[0].1.clone();
    trial.more.insert("later".into(), serde_json::json!("kept"));
    directory.record(0, trial).unwrap();
    let read = directory.close().and_then(|_| read_study(place.path())).unwrap();
    assert_eq!(read.more["foreseen"]["passed"], true);
    assert_eq!(read.cells[0].more["shape"][1], 2.5);
    assert_eq!(read.cells[0].trials[0].more["later"], "kept");
}

#[test]
fn rates_over_no_time_do_not_make_the_file_unreadable() {
    let place = tempfile::tempdir().unwrap();
    let (study, _) = plan();
    let mut directory = StudyDir::create(place.path(), study).unwrap();
    let trial = TrialRecord { order: 1, ops_per_s: f64::INFINITY, makespan_s: f64::NAN, ..TrialRecord::default() };
    directory.record(0, trial).unwrap();
    drop(directory);
    let read = read_study(place.path()).unwrap();
    assert_eq!((read.cells[0].trials[0].ops_per_s, read.cells[0].makespan_s), (0.0, None));
}

#[test]
fn a_place_that_cannot_hold_a_study_is_named_with_the_remedy() {
    let place = tempfile::tempdir().unwrap();
    let (study, _) = plan();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = message(StudyDir::create(&file.join("study"), study.clone()));
    assert!(refused.contains("cannot use") && refused.contains("--out"), "{refused}");
    // Nobody, not even root, makes a directory here.
    let refused = message(StudyDir::create(Path::new("/proc/kvtrial-study"), study.clone()));
    assert!(refused.contains("/proc/kvtrial-study") && refused.contains("--out"), "{refused}");
    let refused = message(StudyDir::resume(&place.path().join("none"), &study));
    assert!(refused.contains("there is no study"), "{refused}");
    assert!(message(read_study(place.path())).contains("there is no study"));
}

#[test]
fn a_report_on_many_trials_keeps_all_figures_and_the_curves_of_the_trial_that_stands_for_its_cell() {
    let trial = |order: u32| TrialRecord {
        order,
        makespan_s: f64::from(order.wrapping_mul(7919) % 10_007) + 1.0,
        operations: 1000,
        series: vec![SeriesPoint { at_s: 1.0, operations: 1000, ..SeriesPoint::default() }; 2],
        ..TrialRecord::default()
    };
    let cell = |at: u32| {
        let trials = (at * 7000 + 1..=(at + 1) * 7000).map(trial).collect();
        let mut cell = Cell { job: "fans".into(), store: format!("store-{at}"), trials, ..Cell::default() };
        analysis::summarise(&mut cell);
        cell
    };
    let place = tempfile::tempdir().unwrap();
    for cells in [2, 3] {
        let study = Study { schema: study::SCHEMA, cells: (0..cells).map(cell).collect(), ..Study::default() };
        archive::save_study(place.path(), &study).unwrap();
        let read = archive::read_figures(place.path()).unwrap();
        let many = cells * 7000 > archive::MOST_WHOLE_TRIALS as u32;
        assert_eq!(read == study, !many, "{cells} cells");
        for (read, whole) in read.cells.iter().zip(&study.cells) {
            assert_eq!(analysis::median_trial(read), analysis::median_trial(whole));
            assert_eq!(read.makespan_s, whole.makespan_s);
            let figures = |cell: &Cell| cell.trials.iter().map(|it| (it.order, it.makespan_s)).collect::<Vec<_>>();
            assert_eq!(figures(read), figures(whole));
            let curves = read.trials.iter().filter(|it| !it.series.is_empty()).count();
            assert_eq!(curves, if many { 1 } else { 7000 });
        }
    }
}
