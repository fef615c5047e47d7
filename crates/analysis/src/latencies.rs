//! The latencies of a cell: those of all its trials together.

use crate::Metric;
use crate::metric::{finite, percentile, quantity};
use std::collections::BTreeMap;
use study::{Latencies, LatencyDistributions, LatencySummary, Quantity, TrialRecord};

/// Returns the latencies of these trials, and the interval of their 99th percentile: from the histograms of all timed phases, added to
/// each other. Where a trial has none, as in studies of earlier builds, medians over trials take the place of percentiles.
pub(crate) fn latencies(timed: &[&TrialRecord]) -> (Latencies, Option<Quantity>) {
    let known: Vec<&TrialRecord> =
        timed.iter().copied().filter(|trial| trial.latency_ns.response.asked_n() > 0).collect();
    let p99s: Vec<f64> = known.iter().filter_map(|trial| Metric::P99.of_trial(trial)).map(finite).collect();
    if known.iter().all(|trial| kept(trial).next().is_some())
        && let Ok(all) = LatencyDistributions::together(known.iter().flat_map(|trial| kept(trial)))
    {
        let p99_ns = percentile(&all, |asked| asked.p99, &p99s);
        return (all, p99_ns);
    }
    (medians(&known), quantity(&p99s))
}

/// The latency histograms that a trial kept of its timed phases.
fn kept(trial: &TrialRecord) -> impl Iterator<Item = &LatencyDistributions> {
    trial.phases.iter().filter(|phase| phase.timed).map(|phase| &phase.distributions).filter(|it| !it.is_empty())
}

fn medians(timed: &[&TrialRecord]) -> Latencies {
    let over = |part: &dyn Fn(&Latencies) -> Option<LatencySummary>| {
        latency(timed.iter().filter_map(|trial| part(&trial.latency_ns)).filter(|latency| latency.n > 0).collect())
    };
    let mut by_operation = BTreeMap::new();
    for name in timed.iter().flat_map(|trial| trial.latency_ns.by_operation.keys()) {
        if !by_operation.contains_key(name) {
            by_operation.insert(name.clone(), over(&|all| all.by_operation.get(name).copied()));
        }
    }
    Latencies {
        service: over(&|all| Some(all.service)),
        response: over(&|all| Some(all.response)),
        send_lag: over(&|all| Some(all.send_lag)),
        percentiles: percentiles(timed),
        client_lag: over(&|all| Some(all.client_lag)),
        by_operation,
    }
}

/// Medians over trials of the percentiles all of them have.
fn percentiles(timed: &[&TrialRecord]) -> Vec<(f64, u64)> {
    let curves: Vec<&[(f64, u64)]> = timed
        .iter()
        .filter(|trial| trial.latency_ns.response.n > 0)
        .map(|trial| trial.latency_ns.percentiles.as_slice())
        .collect();
    let Some(first) = curves.first() else { return Vec::new() };
    let of_all = |percent: f64| -> Option<(f64, u64)> {
        let figures: Option<Vec<f64>> = curves
            .iter()
            .map(|curve| curve.iter().find(|point| point.0 == percent).map(|point| point.1 as f64))
            .collect();
        Some((percent, stats::median(&figures?)?.round() as u64))
    };
    first.iter().filter_map(|point| of_all(point.0)).collect()
}

fn latency(trials: Vec<LatencySummary>) -> LatencySummary {
    let n = trials.iter().map(|trial| trial.n).fold(0, u64::saturating_add);
    if n == 0 {
        return LatencySummary::default();
    }
    let median = |figure: fn(&LatencySummary) -> u64| {
        let figures: Vec<f64> = trials.iter().map(|trial| figure(trial) as f64).collect();
        stats::median(&figures).unwrap_or_default().round() as u64
    };
    LatencySummary {
        n,
        mean: trials.iter().map(|trial| trial.mean * trial.n as f64).sum::<f64>() / n as f64,
        min: trials.iter().map(|trial| trial.min).min().unwrap_or_default(),
        p50: median(|trial| trial.p50),
        p90: median(|trial| trial.p90),
        p95: median(|trial| trial.p95),
        p99: median(|trial| trial.p99),
        p99_9: median(|trial| trial.p99_9),
        max: trials.iter().map(|trial| trial.max).max().unwrap_or_default(),
        ..LatencySummary::default()
    }
}
