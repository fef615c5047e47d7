//! Studies with known figures, and sites of them.
#![allow(dead_code)] // each program of tests uses some

use analysis::summarise;
use site::{Collection, write};
use std::path::{Path, PathBuf};
use study::{
    Answer, Cell, Class, Durability, HostFacts, LatencyDistributions, PhaseRecord, Promise, SCHEMA, ShownPromise,
    Study, TrialRecord,
};
use tempfile::TempDir;

/// A cell whose trials take about this long.
pub fn cell(store: &str, version: &str, typical_s: f64) -> Cell {
    let trial = |share: f64| TrialRecord {
        makespan_s: typical_s * share,
        operations: 1_000,
        answer: Answer { digest: "sha256:1".into(), ..Answer::default() },
        ..TrialRecord::default()
    };
    let mut cell = Cell {
        job: "ycsb".into(),
        store: store.into(),
        params: [("clients".to_owned(), "16".to_owned())].into(),
        class: Class::Embedded,
        durability: Some(Durability::Os),
        product: store.split(['@', ',']).next().unwrap_or_default().to_uppercase(),
        store_version: version.into(),
        set_up: vec!["PRAGMA synchronous = off;".into()],
        trials: [0.99, 1.0, 1.01, 0.995, 1.005, 1.0].map(trial).into(),
        ..Cell::default()
    };
    summarise(&mut cell);
    cell
}

/// The same cell of another job, class and level, whose trials read this share of the time.
pub fn other(cell: Cell, job: &str, class: Class, durability: Durability, reads: f64) -> Cell {
    let mut cell = Cell { job: job.into(), class, durability: Some(durability), ..cell };
    cell.trials.iter_mut().for_each(|trial| trial.hits = (trial.operations as f64 * reads) as u64);
    summarise(&mut cell);
    cell
}

/// The cell with an answer that is wrong in one trial.
pub fn void(mut cell: Cell) -> Cell {
    cell.trials[0].answer.digest = "sha256:2".into();
    summarise(&mut cell);
    cell
}

/// The cell with latencies as real trials have them.
pub fn timed(mut cell: Cell) -> Cell {
    for (at, trial) in cell.trials.iter_mut().enumerate() {
        let mut histogram = study::Histogram::default();
        (0..trial.operations).for_each(|number| histogram.record(20_000 + number * number % 9_973 * (at as u64 + 3)));
        let distributions = LatencyDistributions {
            by_operation: [("get".to_owned(), histogram.distribution())].into(),
            ..LatencyDistributions::default()
        };
        trial.latency_ns = LatencyDistributions::together([&distributions]).unwrap();
        let (operations, elapsed_s) = (trial.operations, trial.makespan_s);
        trial.phases = vec![PhaseRecord {
            name: "run".into(),
            timed: true,
            elapsed_s,
            operations,
            records: operations,
            distributions,
            ..PhaseRecord::default()
        }];
    }
    summarise(&mut cell);
    cell
}

pub fn study(cells: Vec<Cell>, cpu: &str, day: u32) -> Study {
    Study {
        schema: SCHEMA,
        kvtrial: "0.1.0".into(),
        command: ["kvtrial", "run", "ycsb", "-s", "lmdb"].map(str::to_owned).into(),
        seed: 42,
        started_at: format!("2026-11-{day:02}T10:00:00Z"),
        host: HostFacts { cpu: cpu.into(), cpus: 2, memory_bytes: 24 << 30, ..HostFacts::default() },
        cells,
        ..Study::default()
    }
}

pub fn put(root: &Path, name: &str, study: &Study) -> PathBuf {
    let directory = root.join(name);
    std::fs::create_dir_all(&directory).unwrap();
    archive::save_study(&directory, study).unwrap();
    directory
}

pub fn read(root: &TempDir) -> Collection {
    Collection::read(&[root.path().to_owned()]).unwrap()
}

/// Studies of all kinds, and their site: its first page.
pub fn site_of_many_kinds(root: &TempDir) -> PathBuf {
    let studies = root.path().join("studies");
    let server = |store: &str, typical_s| {
        other(cell(store, "7.4.2", typical_s), "ycsb", Class::Network, Durability::Second, 0.9)
    };
    let mut shown = cell("lmdb", "0.9.33", 1.0);
    shown.durability_shown = Some(ShownPromise { promise: Promise::Kept, cuts: 20, ..ShownPromise::default() });
    let embedded = vec![shown, cell("sqlite", "3.50", 2.0), cell("redb", "4.1", 2.01), void(cell("fjall", "3.1", 0.2))];
    let writing =
        |store: &str, typical_s| other(cell(store, "1", typical_s), "fans", Class::Embedded, Durability::Commit, 0.0);
    put(&studies, "2026-11-01-ycsb-embedded", &study(embedded, "AMD EPYC 9B14", 1));
    put(
        &studies,
        "2026-11-02-ycsb-servers",
        &study(vec![server("redis", 1.0), server("memcached", 1.3)], "AMD EPYC 9B14", 2),
    );
    put(&studies, "2026-11-03-fans", &study(vec![writing("lmdb", 3.0), writing("sqlite", 9.0)], "Ampere Altra", 3));
    put(&studies, "2026-11-04-ycsb-newer", &study(vec![cell("lmdb@0.9.70", "0.9.70", 0.5)], "AMD EPYC 9B14", 4));
    let out = root.path().join("site");
    write(&Collection::read(&[studies]).unwrap(), &out).unwrap();
    out.join("index.html")
}
