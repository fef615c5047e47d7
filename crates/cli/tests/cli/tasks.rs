//! `check`, `query` and `clear` open stores in worker processes, as trials do: a store that dies or hangs ends nothing but its task, is
//! named, and the exit status says that it failed.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::running;

use common::Desk;
use running::{Running, on_a_small_disk, strike};
use std::time::{Duration, Instant};

/// Room for a busy machine in claims about time.
const SLACK: Duration = Duration::from_secs(5);

#[test]
fn a_check_whose_store_dies_of_a_full_disk_fails_the_case_under_way_by_the_signal() {
    for json in ["", " --json"] {
        let words = format!("check kyotocabinet ram --base small{json}");
        let over = Running::at(Desk::new(), words, on_a_small_disk).ended(Instant::now());
        let said = over.ran.said();
        assert_eq!(over.ran.status, 1, "{said}");
        assert!(said.contains("SIGBUS") && said.contains("worker_died"), "{said}");
        if json.is_empty() {
            // The next store has its check.
            assert!(said.contains("NOT CORRECT: ") && said.contains("\ncorrect: "), "{said}");
            assert!(!said.contains(" 0 operations"), "{said}");
            continue;
        }
        let reports: serde_json::Value = serde_json::from_str(&over.ran.stdout).unwrap();
        let count = |store: &str, status: &str| {
            reports[store]["cases"].as_array().unwrap().iter().filter(|case| case["status"] == status).count()
        };
        let cases = |store: &str| reports[store]["cases"].as_array().unwrap().len();
        assert_eq!((count("kyotocabinet", "failed"), count("ram", "failed")), (1, 0), "{reports}");
        assert_eq!(cases("kyotocabinet"), cases("ram"));
    }
}

#[test]
fn a_question_to_a_store_that_dies_of_a_full_disk_is_answered_with_the_signal() {
    let words = "query fans libc6 -s kyotocabinet --data gen:8000:42 --base small".to_owned();
    let over = Running::at(Desk::new(), words, on_a_small_disk).ended(Instant::now());
    assert_eq!(over.ran.status, 1, "{}", over.ran.said());
    let said = &over.ran.stderr;
    assert!(said.contains("kyotocabinet: worker_died: ") && said.contains("SIGBUS"), "{said}");
    assert!(said.contains("while: run") && over.ran.stdout.is_empty(), "{}", over.ran.said());
}

#[test]
fn clearing_a_store_that_dies_fails_by_the_signal_and_can_be_done_again() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path().join("mine")).unwrap();
    let store = format!("sqlite:{}", desk.path().join("mine").display());
    let words = format!("ycsb --set records=60000 --set operations=1000 -s {store} --no-baselines --repeats 1");
    assert_eq!(desk.run(&words).status, 0);
    let mut running = Running::at(desk, "clear out".into(), |_| {});
    let worker = running.until_worker();
    let over = running.ended(strike(worker.pid, libc::SIGKILL));
    let said = over.ran.said();
    assert_eq!(over.ran.status, 1, "{said}");
    assert!(over.ran.stderr.contains("worker_died: ") && over.ran.stderr.contains("SIGKILL"), "{said}");
    assert_eq!(over.ran.study.unwrap()["left"][0]["store"], store.as_str(), "what may still be there is not forgotten");
    let again = over.desk.kvtrial("clear out");
    assert_eq!(again.status, 0, "{}", again.said());
    assert!(over.desk.kvtrial("clear out").stdout.contains("left nothing"));
}

#[test]
fn a_check_of_a_store_that_hangs_ends_by_itself_and_at_once_when_it_is_interrupted() {
    for signal in [None, Some(libc::SIGINT)] {
        let mut running = Running::at(Desk::new(), "check sqlite --deadline 50ms".into(), |_| {});
        let worker = running.until_worker();
        let mut struck = strike(worker.pid, libc::SIGSTOP);
        if let Some(signal) = signal {
            struck = strike(running.pid(), signal);
        }
        let over = running.ended(struck);
        let said = over.ran.said();
        if signal.is_some() {
            assert_eq!(over.ran.status, 130, "{said}");
            assert!(
                over.took < Duration::from_secs(1) + SLACK && said.contains("Interrupted"),
                "{:?}: {said}",
                over.took
            );
        } else {
            // Sixty deadlines and a second.
            assert_eq!(over.ran.status, 1, "{said}");
            assert!(over.took < Duration::from_millis(4300) + SLACK, "{:?}: {said}", over.took);
            assert!(said.contains("deadline: ") && said.contains("did not return"), "{said}");
        }
    }
}
