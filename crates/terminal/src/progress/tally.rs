//! What the trials of each cell came to so far.

use std::collections::BTreeMap;
use study::{Status, TrialRecord};
use words::Batches;

/// Stands for a percentile that was not reached, because too many operations failed.
const NOT_REACHED_NS: f64 = 1e100;

/// One cell so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Trials that count, as far as they are finished.
    pub(super) trials: u32,
    /// The worst of them.
    pub(super) status: Status,
    makespans_s: Vec<f64>,
    per_s: Vec<f64>,
    /// Whether an operation carries several records.
    batches: bool,
    p99_ns: Vec<f64>,
}

impl Tally {
    /// Adds a trial that counts.
    pub(super) fn add(&mut self, trial: &TrialRecord) {
        self.trials += 1;
        self.status = self.status.max(trial.verdict.status);
        self.makespans_s.push(trial.makespan_s);
        self.per_s.push(per_s(trial));
        self.batches |= analysis::records_per_operation(trial).is_some();
        let p99_ns = trial.latency_ns.response.of_asked().p99;
        self.p99_ns.push(p99_ns.map_or(NOT_REACHED_NS, |ns| ns as f64));
    }

    /// Medians over its trials.
    pub(super) fn makespan_s(&self) -> f64 {
        stats::median(&self.makespans_s).unwrap_or(0.0)
    }

    pub(super) fn per_s(&self) -> f64 {
        stats::median(&self.per_s).unwrap_or(0.0)
    }

    pub(super) fn unit(&self, stored: Batches) -> &'static str {
        unit(self.batches, stored)
    }

    pub(super) fn p99_s(&self) -> f64 {
        match stats::median(&self.p99_ns).unwrap_or(0.0) {
            NOT_REACHED_NS.. => f64::INFINITY,
            p99_ns => p99_ns * 1e-9,
        }
    }
}

/// Returns a trial's rate: of records where an operation carries several, else of operations.
pub(super) fn per_s(trial: &TrialRecord) -> f64 {
    trial.ops_per_s * analysis::records_per_operation(trial).unwrap_or(1.0)
}

/// Names what is counted: what the job stores, where an operation carries several.
pub(super) fn unit(batches: bool, stored: Batches) -> &'static str {
    if batches { stored.unit() } else { "op/s" }
}

/// Returns all cells so far, and the verdict on the study: how many cells are void, how many degraded.
pub(super) fn verdict<'a>(cells: impl Iterator<Item = &'a Tally>) -> (Status, String) {
    let mut counts = BTreeMap::<Status, u32>::new();
    for tally in cells.filter(|tally| tally.trials > 0) {
        *counts.entry(tally.status).or_default() += 1;
    }
    let cells = |status| match counts.get(&status) {
        Some(1) => "1 cell".to_owned(),
        many => format!("{} cells", many.unwrap_or(&0)),
    };
    match counts.keys().max() {
        None => (Status::Valid, String::new()),
        Some(Status::Valid) => (Status::Valid, "all valid so far".into()),
        Some(&worst) => (worst, format!("{} {worst} so far", cells(worst))),
    }
}
