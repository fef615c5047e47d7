//! A cell's figures phase by phase.

use crate::metric::{NOT_REACHED_NS, percentile, quantity};
use study::{LatencyDistributions, PhaseRecord, PhaseSummary, Quantity, TrialRecord};

/// Returns the phases all of these trials had, in the order they ran. A trial that ended early has fewer, and its reasons say why.
pub(crate) fn by_phase(trials: &[&TrialRecord]) -> Vec<PhaseSummary> {
    let Some(first) = trials.first() else { return Vec::new() };
    let common = trials.iter().map(|trial| trial.phases.len()).min().unwrap_or(0);
    first.phases[..common]
        .iter()
        .enumerate()
        .map(|(at, phase)| {
            let over = |figure: &dyn Fn(&PhaseRecord) -> Option<f64>| {
                quantity(&trials.iter().filter_map(|trial| figure(&trial.phases[at])).collect::<Vec<_>>())
            };
            PhaseSummary {
                name: phase.name.clone(),
                timed: phase.timed,
                operations: phase.operations,
                records: phase.records,
                elapsed_s: over(&|phase| Some(phase.elapsed_s)),
                ops_per_s: over(&|phase| (phase.elapsed_s > 0.0).then(|| answered(phase) as f64 / phase.elapsed_s)),
                records_per_s: over(&|phase| (phase.elapsed_s > 0.0).then(|| phase.records as f64 / phase.elapsed_s)),
                p99_ns: p99_ns(trials.iter().map(|trial| &trial.phases[at])),
                disk_bytes: over(&|phase| phase.disk_bytes.map(|bytes| bytes as f64)),
            }
        })
        .collect()
}

/// Operations that were answered, within the time where one was given.
fn answered(phase: &PhaseRecord) -> u64 {
    phase.operations.saturating_sub(phase.failed_operations + phase.answered_late)
}

/// The 99th percentile of all that was asked in a phase of all trials; of earlier builds the median of the trials.
fn p99_ns<'a>(phases: impl Iterator<Item = &'a PhaseRecord>) -> Option<Quantity> {
    let known: Vec<&PhaseRecord> = phases.filter(|phase| phase.response_ns.asked_n() > 0).collect();
    let of_trial = |phase: &&PhaseRecord| phase.response_ns.of_asked().p99.map_or(NOT_REACHED_NS, |ns| ns as f64);
    let samples: Vec<f64> = known.iter().map(of_trial).collect();
    let is_kept = known.iter().all(|phase| !phase.distributions.is_empty());
    match LatencyDistributions::together(known.iter().map(|phase| &phase.distributions)) {
        Ok(all) if is_kept => percentile(&all, |asked| asked.p99, &samples),
        _ => quantity(&samples),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::by_phase;
    use study::{PhaseRecord, TrialRecord};

    fn trial(phases: &[(&str, f64)]) -> TrialRecord {
        let phase = |&(name, elapsed_s): &(&str, f64)| PhaseRecord {
            name: name.into(),
            elapsed_s,
            operations: 100,
            ..PhaseRecord::default()
        };
        TrialRecord { phases: phases.iter().map(phase).collect(), ..TrialRecord::default() }
    }

    #[test]
    fn each_phase_has_its_own_median_and_phases_a_trial_never_reached_are_left_out() {
        let trials = [
            trial(&[("insert", 1.0), ("select", 2.0)]),
            trial(&[("insert", 4.0)]),
            trial(&[("insert", 2.0), ("select", 1.0)]),
        ];
        let phases = by_phase(&trials.iter().collect::<Vec<_>>());
        assert_eq!(phases.len(), 1);
        assert_eq!((phases[0].name.as_str(), phases[0].elapsed_s.unwrap().value), ("insert", 2.0));
        assert_eq!(phases[0].ops_per_s.unwrap().value, 50.0);
        assert_eq!((phases[0].p99_ns, phases[0].disk_bytes), (None, None));
    }
}
