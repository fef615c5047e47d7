//! Three machines load a Redis Cluster of three: one answer, one start; one is killed, cut off, frozen.

use super::hub::{Hub, name, within};
use super::nats::{JoinedWorker, WRITING};
use super::{digest, finished, reasons, trial, until};
use crate::common::{Desk, Ran, once};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

const NUMBERS: [u8; 3] = [1, 2, 3];

fn workers(hub: &Hub, desk: &Desk) -> [JoinedWorker; 3] {
    NUMBERS.map(|number| hub.worker(desk, number, u32::from(number) - 1))
}

fn words(hub: &Hub, more: &[&str]) -> String {
    once("ycsb", &hub.store(), &[&["--clients 12", "--set records=2000"], more].concat())
}

fn shared(hub: &Hub) -> String {
    format!("--workers 3 --nats {} --out out", hub.nats())
}

/// A study of some seconds under way on three machines.
fn under_way(hub: &Hub, desk: &Desk, workers: &mut [JoinedWorker], more: &[&str]) -> Child {
    let study = desk.command(&format!("run {} {}", words(hub, more), shared(hub))).spawn().unwrap();
    workers.iter_mut().for_each(|worker| _ = worker.await_line("trial 1"));
    // Loading takes no time; then the clock runs.
    sleep(Duration::from_millis(2000));
    study
}

fn figure(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("no {name} in {value}"))
}

#[test]
fn three_machines_whose_clocks_are_hours_apart_give_the_answer_of_one() {
    within("apart::three_machines_whose_clocks_are_hours_apart_give_the_answer_of_one", |hub| {
        let work = words(hub, &["--set operations=12000", "--set workload=A", "--clear"]);
        let alone = Desk::new().run(&work);
        assert_eq!(alone.status, 0, "{}", alone.said());
        let (desk, away) = (Desk::new(), Desk::new());
        let workers = workers(hub, &away);
        let ran = desk.kvtrial(&format!("run {work} {}", shared(hub)));
        assert_eq!(ran.status, 0, "{}", ran.said());
        assert_eq!(digest(&ran), digest(&alone));
        for count in ["operations", "hits", "misses", "bytes_read", "bytes_written"] {
            assert_eq!(trial(&ran)[count], trial(&alone)[count], "{count}");
        }
        assert_eq!(response(&ran)["n"], response(&alone)["n"], "no sample is lost or doubled");
        let each = trial(&ran)["workers"].as_array().unwrap();
        let sum = |count: &str| each.iter().map(|it| it[count].as_u64().unwrap()).sum::<u64>();
        assert_eq!((sum("clients"), Some(sum("operations"))), (12, trial(&ran)["operations"].as_u64()));
        let names: BTreeSet<&str> = each.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, BTreeSet::from(NUMBERS.map(name).each_ref().map(String::as_str)));
        for worker in each {
            assert!(figure(worker, "clock_error_s") < 0.01, "{worker}");
            assert!(figure(worker, "start_offset_s").abs() < 0.25, "{worker}");
        }
        let spread_s = figure(trial(&ran), "start_spread_s");
        assert!(spread_s > 0.0 && spread_s < 0.25, "{spread_s}");
        workers.into_iter().for_each(|worker| assert_eq!(worker.end(), 0));
        assert!(desk.left_behind().is_empty() && away.left_behind().is_empty());
    });
}

fn response(ran: &Ran) -> &Value {
    &trial(ran)["latency_ns"]["response"]
}

/// Asserts that the third machine was missed in time, and by name.
fn assert_lost(ran: &Ran, took: Duration) {
    assert_eq!(ran.status, 1, "{}", ran.said());
    let reasons = reasons(ran);
    let (_, example) = reasons.iter().find(|(kind, _)| kind == "worker_lost").unwrap_or_else(|| panic!("{reasons:?}"));
    assert!(example.starts_with("machine-3 at ") && example.contains(" % of its work"), "{example}");
    let share: f64 = example.split("with ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(share > 0.0 && share < 60.0, "{example}");
    assert!(took < Duration::from_secs(4) + WRITING, "{took:?}");
}

const LONG: [&str; 2] = ["--set seconds=20", "--set workload=C"];

#[test]
fn a_machine_that_dies_voids_the_trial_within_four_seconds() {
    within("apart::a_machine_that_dies_voids_the_trial_within_four_seconds", |hub| {
        let (desk, away) = (Desk::new(), Desk::new());
        let mut workers = workers(hub, &away);
        let study = under_way(hub, &desk, &mut workers, &LONG);
        let killed = Instant::now();
        let [first, second, third] = workers;
        third.signal_all(libc::SIGKILL);
        let ran = finished(&desk, study);
        assert_lost(&ran, killed.elapsed());
        assert_eq!((first.end(), second.end()), (0, 0));
        assert!(desk.left_behind().is_empty() && away.left_behind().is_empty());
    });
}

#[test]
fn a_machine_whose_link_goes_down_voids_the_trial_within_four_seconds_and_its_worker_stops() {
    within("apart::a_machine_whose_link_goes_down_voids_the_trial_within_four_seconds_and_its_worker_stops", |hub| {
        let (desk, away) = (Desk::new(), Desk::new());
        let mut workers = workers(hub, &away);
        let study = under_way(hub, &desk, &mut workers, &LONG);
        let cut = Instant::now();
        hub.cut_off(3);
        let ran = finished(&desk, study);
        assert_lost(&ran, cut.elapsed());
        let third = &mut workers[2];
        third.await_line("gave no sign of life");
        until("no process is at a trial", Duration::from_secs(5), || third.processes().len() == 1);
        assert!(cut.elapsed() < Duration::from_secs(7), "{:?}", cut.elapsed());
        assert!(desk.left_behind().is_empty() && away.left_behind().is_empty());
    });
}

#[test]
fn response_times_tell_of_a_machine_that_stood_still_for_a_second() {
    within("apart::response_times_tell_of_a_machine_that_stood_still_for_a_second", |hub| {
        let (desk, away) = (Desk::new(), Desk::new());
        let mut workers = workers(hub, &away);
        let study = under_way(hub, &desk, &mut workers, &["--set seconds=5", "--set workload=C", "--rate 300"]);
        let stopped = Instant::now();
        workers[1].signal_all(libc::SIGSTOP);
        sleep(Duration::from_secs(1).saturating_sub(stopped.elapsed()));
        workers[1].signal_all(libc::SIGCONT);
        let ran = finished(&desk, study);
        assert_eq!(ran.status, 0, "{}", ran.said());
        assert_ne!(trial(&ran)["verdict"]["status"], "void", "{}", ran.said());
        // A third of the arrivals of one second of five waited, as long as what was left of the second.
        let [p99_s, p99_9_s] = ["p99", "p99_9"].map(|name| figure(response(&ran), name) / 1e9);
        assert!((0.5..3.0).contains(&p99_s) && (0.8..3.0).contains(&p99_9_s), "p99 {p99_s} s, p99.9 {p99_9_s} s");
        assert_eq!(trial(&ran)["not_sent"], 0);
        assert_eq!(response(&ran)["n"], trial(&ran)["operations"], "none is left out");
    });
}
