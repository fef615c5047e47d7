//! Whether trials agree with themselves: their phases must add up to them, their histograms to their percentiles, and what went wrong must
//! stand in their verdicts.

use crate::figures::{differences, is_near};
use crate::objection::Objection;
use std::collections::BTreeSet;
use study::{LatencyDistributions, PhaseRecord, Study, TrialRecord, Verdict};

/// Returns every contradiction; of each trial the first.
pub(crate) fn contradictions(study: &Study) -> Vec<Objection> {
    let mut found = Vec::new();
    let mut orders = BTreeSet::new();
    for (at, cell) in study.cells.iter().enumerate() {
        for trial in &cell.trials {
            let place = format!("cells[{at}] ({} on {}), trial {}", cell.job, cell.store, trial.order);
            if !orders.insert(trial.order) {
                found.push(contradiction(&place, "order", trial.order, "an order that no other trial has"));
            }
            found.extend(of_trial(&place, trial));
        }
    }
    found
}

fn contradiction(place: &str, field: &str, written: impl ToString, made: impl ToString) -> Objection {
    Objection::Figure { place: format!("{place}.{field}"), written: written.to_string(), made: made.to_string() }
}

fn of_trial(place: &str, trial: &TrialRecord) -> Option<Objection> {
    of_sums(place, trial).or_else(|| of_latencies(place, trial)).or_else(|| of_verdict(place, trial))
}

fn of_sums(place: &str, trial: &TrialRecord) -> Option<Objection> {
    // A trial that was broken off has no phases.
    if trial.phases.is_empty() {
        return (trial.operations > 0).then(|| contradiction(place, "operations", trial.operations, 0));
    }
    let timed = || trial.phases.iter().filter(|phase| phase.timed);
    let sum = |of: fn(&PhaseRecord) -> u64| timed().map(of).fold(0, u64::saturating_add);
    let counts = [
        ("operations", trial.operations, sum(|phase| phase.operations)),
        ("failed_operations", trial.failed_operations.unwrap_or_default(), sum(|phase| phase.failed_operations)),
        ("answered_late", trial.answered_late, sum(|phase| phase.answered_late)),
    ];
    let counted = counts.into_iter().find(|(_, written, made)| written != made);
    if let Some((field, written, made)) = counted {
        return Some(contradiction(place, field, written, made));
    }
    let elapsed_s: f64 = timed().map(|phase| phase.elapsed_s).sum();
    if !is_near(trial.makespan_s, elapsed_s) {
        return Some(contradiction(place, "makespan_s", trial.makespan_s, elapsed_s));
    }
    let answered = trial.operations - trial.failed_operations.unwrap_or_default().min(trial.operations);
    let in_time = answered.saturating_sub(trial.answered_late);
    let ops_per_s = if trial.makespan_s > 0.0 { in_time as f64 / trial.makespan_s } else { 0.0 };
    (!is_near(trial.ops_per_s, ops_per_s)).then(|| contradiction(place, "ops_per_s", trial.ops_per_s, ops_per_s))
}

fn of_latencies(place: &str, trial: &TrialRecord) -> Option<Objection> {
    let kept = |phase: &&PhaseRecord| phase.timed && !phase.distributions.is_empty();
    let kept: Vec<&LatencyDistributions> = trial.phases.iter().filter(kept).map(|phase| &phase.distributions).collect();
    let written = serde_json::to_value(&trial.latency_ns).ok()?;
    let made = match LatencyDistributions::together(kept) {
        Ok(made) => serde_json::to_value(made).ok()?,
        Err(problem) => return Some(contradiction(place, "phases", "a histogram", problem)),
    };
    let mut found = Vec::new();
    differences(&format!("{place}.latency_ns"), &written, &made, &mut found);
    found.into_iter().next()
}

fn of_verdict(place: &str, trial: &TrialRecord) -> Option<Objection> {
    let made = Verdict::of(trial.verdict.reasons.iter().cloned());
    if made != trial.verdict {
        return Some(contradiction(place, "verdict", trial.verdict.status, made.status));
    }
    let has = |kind| trial.verdict.reasons.iter().any(|reason| reason.kind == kind);
    if let Some(missing) = analysis::disturbances(&trial.noise).into_iter().find(|reason| !has(reason.kind)) {
        return Some(contradiction(place, "verdict", "without it", missing.kind.name()));
    }
    // Of a fault on purpose some operations may fail.
    let is_wrong = trial.errors > 0 && trial.faults.is_empty();
    (is_wrong && trial.verdict.is_ranked())
        .then(|| contradiction(place, "verdict", trial.verdict.status, format!("void: it has {} errors", trial.errors)))
}
