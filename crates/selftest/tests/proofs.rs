//! The proofs hold here, and an A/A comparison can be made and fails where it must.

#![allow(clippy::unwrap_used, missing_docs)]

use selftest::aa::{Pairs, REPEATS};
use selftest::{Identity, Scope, run};
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use study::Spec;

static RUNNING: AtomicBool = AtomicBool::new(false);

#[test]
fn the_quick_proofs_hold_and_each_is_told_as_it_is_made() {
    let mut heard = Vec::new();
    let result = run(Scope::Quick, &Identity::here("test"), &RUNNING, &mut |proof| heard.push(proof.clone())).unwrap();
    assert_eq!(heard, result.proofs);
    let names: Vec<&str> = heard.iter().map(|proof| proof.name.as_str()).collect();
    for name in ["histogram_error", "zipf_chi_square", "clock_rate", "honest_store", "fault_wrong_value", "stall_p99"] {
        assert!(names.contains(&name), "{names:?}");
    }
    // Times depend on what else the machine does; whether wrong answers are caught does not.
    for proof in heard.iter().filter(|proof| !proof.name.starts_with("clock") && !proof.name.starts_with("stall")) {
        assert!(proof.passed, "{proof:?}");
    }
}

#[test]
fn an_interrupted_self_test_has_no_result() {
    let stop = AtomicBool::new(true);
    assert!(run(Scope::Quick, &Identity::here("test"), &stop, &mut |_| {}).is_none());
}

fn pairs(store: &str, slowdown: f64, pairs: u32) -> Pairs {
    let base = std::env::temp_dir();
    let info = catalog::find(store).unwrap();
    Pairs {
        info,
        spec: Spec::private(store),
        pairs,
        repeats: REPEATS,
        slowdown,
        base,
        seed: 1,
        execution: runner::Execution::InProcess,
    }
}

#[test]
fn a_store_against_itself_is_seldom_called_different_and_one_twice_as_slow_always() {
    let begun = Instant::now();
    let [alarms, power] = pairs("ram", 1.0, 8).prove(&RUNNING, &mut |_, _| {}).unwrap().unwrap();
    // Each proof has the time of its own pairs.
    assert!(alarms.elapsed_s > 0.0 && alarms.elapsed_s + power.elapsed_s <= begun.elapsed().as_secs_f64());
    // 4 or more of 8 honest pairs: less than 1 in 2,500.
    assert!(alarms.measured.unwrap() < 0.5, "{alarms:?}");
    assert_eq!(alarms.interval.unwrap().n, 8);
    assert!(power.measured.unwrap() > 0.8 && power.passed, "{power:?}");
}

#[test]
fn a_slowdown_too_small_for_the_repeats_is_answered_with_the_repeats_it_takes() {
    // On a store so slow that the layer that burns the time is not itself a slowdown.
    let [_, power] = pairs("memcached-unix", 0.001, 3).prove(&RUNNING, &mut |_, _| {}).unwrap().unwrap();
    assert!(power.measured.unwrap() < 0.9, "{power:?}");
    assert!(power.problem.contains("noise") && power.passed, "{power:?}");
}
