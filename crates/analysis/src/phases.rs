//! A cell's figures phase by phase.

use crate::metric::quantity;
use study::{PhaseRecord, PhaseSummary, TrialRecord};

/// The phases all of these trials had, in the order they ran. A trial that ended early has fewer, and its reasons say why.
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
                ops_per_s: over(&|phase| {
                    let in_time = phase.operations.saturating_sub(phase.answered_late) as f64;
                    (phase.elapsed_s > 0.0).then(|| in_time / phase.elapsed_s)
                }),
                records_per_s: over(&|phase| (phase.elapsed_s > 0.0).then(|| phase.records as f64 / phase.elapsed_s)),
                p99_ns: over(&|phase| (phase.response_ns.n > 0).then_some(phase.response_ns.p99 as f64)),
                disk_bytes: over(&|phase| phase.disk_bytes.map(|bytes| bytes as f64)),
            }
        })
        .collect()
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
