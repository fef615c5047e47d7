//! The account of what each worker of a fleet did in a trial: who it was, what it drove, when it began, how fast it was.

use super::{ClockReading, FleetWorker};
use crate::message::PhaseDone;
use engine::Outcome;
use jobkit::Share;
use serde::{Deserialize, Serialize};
use study::{Reason, ReasonKind, WorkerUse};

/// What the workers of a trial did, and what is wrong with what they said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetAccount {
    /// Each worker.
    pub workers: Vec<WorkerUse>,
    /// Operations per second in the time in which all of them ran.
    pub ops_per_s_together: Option<f64>,
    /// How much later than the first the last of them began, seconds; of several timed phases the longest. `None`: no phase was timed.
    pub start_spread_s: Option<f64>,
    /// What does not add up.
    pub reasons: Vec<Reason>,
}

/// Keeps the books on the timed phases of a trial.
pub(super) struct Bookkeeper {
    workers: Vec<Kept>,
    /// When each worker began each timed phase, by its own clock.
    begun_ns: Vec<Vec<u64>>,
    together: (f64, f64),
    /// Operations that were answered in all phases, as the workers say.
    answered: u64,
    reasons: Vec<Reason>,
}

struct Kept {
    worker: FleetWorker,
    share: Share,
    answered: u64,
    used: WorkerUse,
}

impl Bookkeeper {
    pub(super) fn new(workers: &[FleetWorker], shares: &[Share]) -> Bookkeeper {
        let kept = |(worker, share): (&FleetWorker, &Share)| Kept {
            worker: worker.clone(),
            share: *share,
            answered: 0,
            used: WorkerUse::default(),
        };
        let workers = workers.iter().zip(shares).map(kept).collect();
        Bookkeeper { workers, begun_ns: Vec::new(), together: (0.0, 0.0), answered: 0, reasons: Vec::new() }
    }

    pub(super) fn disagrees(&mut self, reason: Reason) {
        self.reasons.push(reason);
    }

    /// Counts what was answered in a phase, timed or not.
    pub(super) fn count(&mut self, phases: &[&PhaseDone]) {
        self.answered += phases.iter().map(|phase| phase.outcome.counts.answered()).sum::<u64>();
    }

    /// Holds what the workers say against the server's own count: each operation took a command or more.
    pub(super) fn hold_against(&mut self, commands: Option<u64>) {
        let Some(commands) = commands.filter(|commands| *commands < self.answered) else { return };
        let [answered, counted] = [self.answered, commands].map(study::whole);
        let example =
            format!("the workers say that {answered} operations were answered; the server counts {counted} commands");
        self.disagrees(Reason { kind: ReasonKind::WorkerDisagrees, count: 1, example });
    }

    /// Adds a timed phase: what each worker did in it, and when it was told to begin, by its own clock.
    pub(super) fn add(&mut self, phases: &[&PhaseDone], told_ns: &[u64]) {
        let late = |phase: &&PhaseDone| phase.outcome.late_start.as_nanos() as u64;
        self.begun_ns.push(phases.iter().zip(told_ns).map(|(phase, told_ns)| told_ns + late(phase)).collect());
        for (kept, phase) in self.workers.iter_mut().zip(phases) {
            let (outcome, used) = (&phase.outcome, &mut kept.used);
            kept.answered += outcome.counts.answered() - outcome.counts.late;
            used.operations += outcome.counts.operations;
            used.elapsed_s += outcome.elapsed.as_secs_f64();
            used.client_cpu_s += outcome.client_cpu.as_secs_f64();
            used.client_thread_load = used.client_thread_load.max(outcome.thread_load);
            used.threads = used.threads.max(outcome.threads);
        }
        let common_s = phases.iter().map(|phase| phase.outcome.elapsed.as_secs_f64()).reduce(f64::min).unwrap_or(0.0);
        self.together.0 += phases.iter().map(|phase| operations_until(&phase.outcome, common_s)).sum::<f64>();
        self.together.1 += common_s;
    }

    /// Closes the books; `after` are the clocks as they are now.
    pub(super) fn close(self, after: &[Option<ClockReading>]) -> FleetAccount {
        let clocks: Vec<ClockReading> =
            self.workers.iter().zip(after).map(|(kept, after)| middle(kept.worker.clock, *after)).collect();
        let mut offsets_s = vec![0.0_f64; self.workers.len()];
        for begun_ns in &self.begun_ns {
            let ours: Vec<u64> = begun_ns.iter().zip(&clocks).map(|(at_ns, clock)| clock.ours(*at_ns)).collect();
            let first = ours.iter().min().copied().unwrap_or(0);
            offsets_s.iter_mut().zip(&ours).for_each(|(offset, at)| *offset = offset.max((at - first) as f64 / 1e9));
        }
        let start_spread_s = offsets_s.iter().copied().reduce(f64::max).filter(|_| !self.begun_ns.is_empty());
        let (operations, together_s) = self.together;
        let workers = self.workers.into_iter().zip(clocks).zip(offsets_s).map(|((kept, clock), start_offset_s)| {
            let Kept { worker, share, answered, used } = kept;
            WorkerUse {
                name: worker.name,
                cpus: worker.cpus,
                first_client: share.first,
                clients: share.clients,
                ops_per_s: if used.elapsed_s > 0.0 { answered as f64 / used.elapsed_s } else { 0.0 },
                start_offset_s,
                clock_error_s: clock.error_ns as f64 / 1e9,
                ..used
            }
        });
        FleetAccount {
            workers: workers.collect(),
            ops_per_s_together: (together_s > 0.0).then(|| operations / together_s),
            start_spread_s,
            reasons: self.reasons,
        }
    }
}

/// Returns the operations of a phase until some time of it.
fn operations_until(outcome: &Outcome, until_s: f64) -> f64 {
    let (mut from_s, mut operations) = (0.0, 0.0);
    for point in outcome.series() {
        let within = ((until_s - from_s) / (point.at_s - from_s).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        operations += point.operations as f64 * within;
        from_s = point.at_s;
    }
    operations
}

/// Returns the clock as it was in the middle of a trial, between what was read before and after.
pub(super) fn middle(before: ClockReading, after: Option<ClockReading>) -> ClockReading {
    let Some(after) = after else { return before };
    let astray_ns = after.offset_ns.abs_diff(before.offset_ns);
    ClockReading {
        offset_ns: before.offset_ns.midpoint(after.offset_ns),
        error_ns: before.error_ns.max(after.error_ns) + astray_ns / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ClockReading, FleetWorker, WorkerPlace};
    use super::Bookkeeper;
    use crate::message::{PhaseDone, UnderWay};
    use engine::Outcome;
    use jobkit::Share;
    use std::time::Duration;

    fn phase(operations: u64, elapsed_s: u64, late_ms: u64) -> PhaseDone {
        let mut outcome = Outcome { elapsed: Duration::from_secs(elapsed_s), ..Outcome::default() };
        outcome.late_start = Duration::from_millis(late_ms);
        outcome.counts.operations = operations;
        PhaseDone {
            phase: UnderWay { name: "run".into(), timed: true, operations: None, carried: None },
            outcome,
            flush: Duration::ZERO,
            curve: Vec::new(),
            stalls: Vec::new(),
            carried: None,
            reads_back: false,
            process_cpu_s: 0.0,
        }
    }

    #[test]
    fn starts_are_compared_by_one_clock_however_far_apart_those_of_the_workers_are() {
        const HOUR_NS: i64 = 3_600_000_000_000;
        let worker = |name: &str, offset_ns: i64| FleetWorker {
            name: name.into(),
            cpus: 2,
            whereabouts: WorkerPlace::Elsewhere,
            clock: ClockReading { offset_ns, error_ns: 50_000 },
        };
        let mut books = Bookkeeper::new(&[worker("a", HOUR_NS), worker("b", -5)], &Share::split(5, 2));
        let told = [HOUR_NS as u64 + 7_000_000_000, 6_999_999_995];
        books.add(&[&phase(1_000, 2, 0), &phase(3_000, 4, 3)], &told);
        // The clock of the first goes 2 ms ahead within the trial.
        let after = [ClockReading { offset_ns: HOUR_NS + 2_000_000, error_ns: 40_000 }, ClockReading::default()];
        let account = books.close(&after.map(Some));
        let [a, b] = &account.workers[..] else { panic!("{account:?}") };
        assert_eq!((a.name.as_str(), a.first_client, a.clients, a.ops_per_s), ("a", 0, 2, 500.0));
        assert_eq!((b.name.as_str(), b.first_client, b.clients, b.ops_per_s), ("b", 2, 3, 750.0));
        // In the middle of the trial it was 1 ms ahead, so that worker began 1 ms too early; the other was 3 ms late.
        assert!((b.start_offset_s - 0.004).abs() < 1e-6 && a.start_offset_s == 0.0, "{account:?}");
        assert_eq!(account.start_spread_s, Some(b.start_offset_s));
        assert!((a.clock_error_s - 0.001_05).abs() < 1e-9 && b.clock_error_s < 1e-4);
    }
}
