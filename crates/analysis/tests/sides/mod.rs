//! Studies made from times, for comparisons.

use analysis::summarise;
use study::{Cell, Class, Durability, HostFacts, Latencies, LatencySummary, Study, TrialRecord};

/// A cell whose trials took these times.
pub fn cell(store: &str, times_s: &[f64]) -> Cell {
    let trial = |(order, &makespan_s): (usize, &f64)| TrialRecord {
        order: order as u32 + 1,
        makespan_s,
        operations: 1_000,
        ops_per_s: 1_000.0 / makespan_s,
        client_cpu_s: makespan_s / 2.0,
        latency_ns: Latencies {
            response: LatencySummary {
                n: 1_000,
                p50: 10,
                p99: (makespan_s * 1e6) as u64,
                p99_9: 90,
                ..LatencySummary::default()
            },
            ..Latencies::default()
        },
        ..TrialRecord::default()
    };
    let mut cell = Cell {
        job: "fans".into(),
        store: store.into(),
        class: Class::Embedded.into(),
        durability: Some(Durability::Os),
        trials: times_s.iter().enumerate().map(trial).collect(),
        ..Cell::default()
    };
    summarise(&mut cell);
    cell
}

/// A study of these cells.
pub fn study(cells: Vec<Cell>) -> Study {
    Study {
        schema: study::SCHEMA,
        kvtrial: "0.1.0".into(),
        host: HostFacts { cpu: "one".into(), cpus: 2, ..HostFacts::default() },
        cells,
        ..Study::default()
    }
}

/// `n` times about this one, a few per cent apart; never two alike, and another set for every `salt`.
pub fn times(about_s: f64, n: usize, salt: usize) -> Vec<f64> {
    (0..n).map(|i| about_s * (1.0 + 0.02 * (((i * 7 + salt * 3) % 11) as f64 / 11.0 - 0.5))).collect()
}
