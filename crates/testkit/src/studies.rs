//! Sample studies, built from trials as the runner would.

use analysis::summarise;
use serde_json::json;
use std::collections::BTreeMap;
use study::{
    Answer, Cell, Class, Durability, HostFacts, Latencies, LatencySummary, Reason, ReasonKind, ServerUse, Study,
    TrialRecord, Verdict,
};

/// The answer of every store that has one.
pub const DIGEST: &str = "sha256:9c6e0f1a52c4b7d8e90a1b2c3d4e5f60718293a4b5c6d7e8f9010203040506af";

/// The look of one sample cell.
pub struct Sample {
    /// Its spec.
    pub store: &'static str,
    /// `baseline`, `embedded` or `network`.
    pub class: Class,
    /// What it promises.
    pub durability: Durability,
    /// Name and version.
    pub product: (&'static str, &'static str),
    /// The time of each trial.
    pub times_s: Vec<f64>,
    /// The 99th percentile of each.
    pub p99_ns: u64,
}

impl Sample {
    /// Makes a sample without a product and without durability.
    pub fn new(store: &'static str, class: Class, times_s: &[f64], p99_ns: u64) -> Sample {
        Sample { store, class, durability: Durability::None, product: ("", ""), times_s: times_s.into(), p99_ns }
    }

    /// Names the product of the sample.
    pub fn product(self, name: &'static str, version: &'static str) -> Sample {
        Sample { product: (name, version), ..self }
    }

    /// Gives the sample this durability.
    pub fn durable(self, durability: Durability) -> Sample {
        Sample { durability, ..self }
    }

    /// Returns the cell, with its summary.
    pub fn cell(self) -> Cell {
        let trials = self.times_s.iter().enumerate().map(|(at, &time)| self.trial(at as u32 + 1, time)).collect();
        let mut cell = Cell {
            job: "fans".into(),
            store: self.store.into(),
            params: [("clients", "1"), ("pipeline", "1"), ("policy", "partition")]
                .map(|(key, value)| (key.into(), value.into()))
                .into(),
            baseline: self.class == Class::Baseline,
            class: self.class,
            durability: Some(self.durability),
            product: self.product.0.into(),
            store_version: self.product.1.into(),
            trials,
            ..Cell::default()
        };
        summarise(&mut cell);
        cell
    }

    fn trial(&self, order: u32, makespan_s: f64) -> TrialRecord {
        let operations = 98_064;
        let response = LatencySummary {
            n: operations,
            mean: self.p99_ns as f64 / 3.0,
            min: self.p99_ns / 9,
            p50: self.p99_ns / 4,
            p90: self.p99_ns / 2,
            p95: self.p99_ns * 2 / 3,
            p99: self.p99_ns,
            p99_9: self.p99_ns * 3,
            max: self.p99_ns * 20,
            ..LatencySummary::default()
        };
        let digest = if self.store == "null" { String::new() } else { DIGEST.into() };
        TrialRecord {
            order,
            started_at: study::rfc3339(1_793_000_000 + u64::from(order)),
            makespan_s,
            operations,
            ops_per_s: operations as f64 / makespan_s,
            latency_ns: Latencies { service: response, response, ..Latencies::default() },
            hits: 35_838,
            misses: 13_194,
            client_cpu_s: makespan_s / 2.0,
            server: (self.class == Class::Network)
                .then_some(ServerUse { cpu_s: makespan_s / 3.0, peak_rss_bytes: 64 << 20 }),
            answer: Answer { digest, facts: BTreeMap::from([("pages".into(), json!(13_194))]) },
            verdict: Verdict::of([]),
            ..TrialRecord::default()
        }
    }
}

/// Gives every counted trial of a cell a reason.
pub fn spoil(cell: &mut Cell, kind: ReasonKind, count: u64, example: &str) {
    for trial in cell.trials.iter_mut().filter(|trial| !trial.warmup) {
        trial.verdict = Verdict::of([Reason { kind, count, example: example.into() }]);
    }
    summarise(cell);
}

/// Makes a study of these cells.
pub fn study(cells: Vec<Cell>) -> Study {
    Study {
        schema: study::SCHEMA,
        kvtrial: "0.1.0".into(),
        command: ["kvtrial", "run", "fans"].map(String::from).into(),
        seed: 42,
        started_at: study::rfc3339(1_793_000_000),
        repeats: 5,
        input: BTreeMap::from([("name".into(), json!("debian_fans_10k")), ("profiles".into(), json!(10_000))]),
        host: HostFacts {
            kernel: "Linux 6.1.0-18-amd64".into(),
            cpu: "AMD EPYC 7763 64-Core Processor".into(),
            cpus: 2,
            memory_bytes: 24 << 30,
            ..HostFacts::default()
        },
        cells,
        ..Study::default()
    }
}

/// Returns a study of the job of 2009 on the stores of today, with everything that can happen to a cell.
pub fn fans() -> Study {
    let mut cells = vec![
        Sample::new("null", Class::Baseline, &[0.412, 0.415, 0.409, 0.420, 0.411], 180).cell(),
        Sample::new("ram", Class::Baseline, &[1.93, 1.90, 1.97, 1.92, 1.95], 2_100).cell(),
        Sample::new("lmdb", Class::Embedded, &[2.21, 2.25, 2.19, 2.24, 2.20], 9_800).product("LMDB", "0.9.33").cell(),
        Sample::new("redb", Class::Embedded, &[2.95, 3.01, 2.90, 3.44, 2.97], 21_400).product("redb", "4.4.0").cell(),
        Sample::new("fjall", Class::Embedded, &[2.97, 2.99, 3.02, 2.93, 3.05], 18_200)
            .product("fjall", "3.1.13")
            .cell(),
        Sample::new("sqlite,durability=commit", Class::Embedded, &[310.2, 305.8, 322.1, 308.8, 309.0], 4_210_000)
            .product("SQLite", "3.50.4")
            .durable(Durability::Commit)
            .cell(),
        Sample::new("redis-unix", Class::Network, &[3.31, 3.35, 3.29, 3.40, 3.33], 41_000)
            .product("Redis", "7.0.15")
            .cell(),
        Sample::new("memcached", Class::Network, &[4.81, 4.85, 4.79, 4.90, 4.83], 62_000)
            .product("memcached", "1.6.18")
            .cell(),
        Sample::new("tyrant", Class::Network, &[4.01, 4.05, 3.99, 4.10, 4.03], 52_000)
            .product("Tokyo Tyrant", "1.1.41")
            .cell(),
        Sample::new("mysql-unix", Class::Network, &[14.81, 14.85, 14.79, 14.90, 14.83], 262_000)
            .product("MariaDB", "10.11.6-MariaDB-0+deb12u1")
            .cell(),
        Sample::new("mongodb", Class::Network, &[88.3, 90.1, 87.5, 88.8, 89.0], 1_920_000)
            .product("FerretDB", "1.24.0")
            .cell(),
        Sample::new("couchdb", Class::Network, &[], 0).cell(),
    ];
    cells[8].emulated = vec!["append".into()];
    cells[9].emulated = vec!["append".into(), "compare_and_set".into()];
    spoil(&mut cells[7], ReasonKind::Refused, 412, "page libc6: SERVER_ERROR object too large for cache");
    spoil(&mut cells[10], ReasonKind::OtherLoad, 1, "other processes used 23 % of the processors in trial 31");
    cells[11].verdict = Verdict::of([Reason {
        kind: ReasonKind::NotStarted,
        count: 1,
        example: "couchdb is not on PATH and not in /opt/couchdb/bin".into(),
    }]);
    study(cells)
}
