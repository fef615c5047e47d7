//! A real study kept from an earlier version, and copies of it with other times.
#![allow(dead_code)] // each test file uses its part
#![allow(clippy::unwrap_used)]

use crate::common::Desk;
use std::path::{Path, PathBuf};
use study::Study;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A real study, kept as this version wrote it: fans on null, ram, sqlite, redis-unix and redb, 6 repeats.
pub fn golden() -> Study {
    archive::read_study(&root().join("tests/golden/study-v1")).unwrap()
}

/// The golden study with the times of one store as many times as long, in a directory of the desk.
pub fn with_store_slower(desk: &Desk, name: &str, store: &str, times: f64) {
    let mut study = golden();
    for cell in study.cells.iter_mut().filter(|cell| cell.store == store) {
        for trial in &mut cell.trials {
            trial.makespan_s *= times;
            trial.ops_per_s /= times;
            trial.latency_ns.response.p99 = (trial.latency_ns.response.p99 as f64 * times) as u64;
        }
    }
    keep(desk, name, study);
}

pub fn keep(desk: &Desk, name: &str, mut study: Study) {
    study.cells.iter_mut().for_each(analysis::summarise);
    archive::save_study(&desk.path().join(name), &study).unwrap();
}

pub fn before_and_after(times: f64) -> Desk {
    let desk = Desk::new();
    with_store_slower(&desk, "before", "redb", 1.0);
    with_store_slower(&desk, "after", "redb", times);
    desk
}
