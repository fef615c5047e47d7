//! What a worker that shares a trial tells while it works: what it did since it last told, so that all of it adds up to what it says in the end.

use measure::{CoarseCounts, Progress};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How often a worker tells; sooner where the deadline of an operation is short.
const EVERY: Duration = Duration::from_secs(1);

/// The work of a worker since the tick before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tick {
    /// Operations with a reply.
    pub(crate) operations: u64,
    /// Operations that failed or were answered wrongly.
    pub(crate) errors: u64,
    /// Their response times, by coarse bucket, as far as a full second is over.
    pub(crate) latencies: CoarseCounts,
    /// CPU seconds of the worker's process.
    pub(crate) cpu_s: f64,
    /// The time since its clock was switched on.
    pub(crate) elapsed: Duration,
    /// How long a thread has given no sign of life, where one is at operations.
    pub(crate) silent: Option<Duration>,
}

/// Makes ticks of what a phase shows of itself.
pub(crate) struct Ticker {
    every: Duration,
    told_at: Option<Instant>,
    told: Progress,
    last: Progress,
    told_cpu_s: f64,
}

impl Ticker {
    pub(crate) fn new(deadline: Duration, cpu_s: f64) -> Ticker {
        let (told, last) = (Progress::default(), Progress::default());
        Ticker { every: EVERY.min(deadline / 4), told_at: None, told, last, told_cpu_s: cpu_s }
    }

    /// Takes note of how far the phase is; returns a tick when it is time for one.
    pub(crate) fn look(&mut self, progress: Progress, now: Instant, cpu_s: impl FnOnce() -> f64) -> Option<Tick> {
        self.last = progress;
        let since = self.told_at.get_or_insert(now);
        (now.saturating_duration_since(*since) >= self.every).then(|| {
            self.told_at = Some(now);
            self.tick(cpu_s())
        })
    }

    /// Returns what was not told yet, when the phase is over; `None`: it was over before anything was seen of it.
    pub(crate) fn rest(mut self, cpu_s: f64) -> Option<Tick> {
        self.told_at.map(|_| Tick { silent: None, ..self.tick(cpu_s) })
    }

    fn tick(&mut self, cpu_s: f64) -> Tick {
        let told = std::mem::replace(&mut self.told, self.last.clone());
        let told_cpu_s = std::mem::replace(&mut self.told_cpu_s, cpu_s);
        Tick {
            operations: self.last.operations - told.operations,
            errors: self.last.errors - told.errors,
            latencies: self.last.latencies.since(&told.latencies),
            cpu_s: cpu_s - told_cpu_s,
            elapsed: self.last.elapsed,
            silent: self.last.silent,
        }
    }
}

/// The sum of a worker's ticks in a phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct TickSum {
    pub(crate) ticks: u64,
    pub(crate) operations: u64,
    pub(crate) elapsed: Duration,
    errors: u64,
    latencies: CoarseCounts,
    silent: Option<Duration>,
}

impl TickSum {
    pub(crate) fn add(&mut self, tick: &Tick) {
        self.ticks += 1;
        self.operations += tick.operations;
        self.errors += tick.errors;
        self.latencies.add(&tick.latencies);
        self.elapsed = tick.elapsed;
        self.silent = tick.silent;
    }

    /// Returns the progress of all these workers together. Tails are those of all operations: no percentile is averaged.
    pub(crate) fn together<'a>(sums: impl IntoIterator<Item = &'a TickSum>) -> Progress {
        let mut all = Progress::default();
        for sum in sums {
            all.operations += sum.operations;
            all.errors += sum.errors;
            all.latencies.add(&sum.latencies);
            all.elapsed = all.elapsed.max(sum.elapsed);
            all.silent = all.silent.max(sum.silent);
        }
        all.p99_ns = all.latencies.percentile(99);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{TickSum, Ticker};
    use measure::{COARSE_BUCKETS, CoarseCounts, Live};
    use std::time::{Duration, Instant};

    #[test]
    fn ticks_add_up_to_what_was_done_and_the_tail_is_that_of_all_workers() {
        let begun = Instant::now();
        let second = Duration::from_secs(1);
        let worker = |operations: u64, bucket: usize| {
            let (live, mut sum) = (Live::default(), TickSum::default());
            let mut ticker = Ticker::new(second * 10, 1.0);
            for tenth in 0..=35 {
                live.add_operations(operations);
                live.add_latencies(bucket, operations);
                let seen = live.progress(second * tenth / 10, Some(Duration::ZERO));
                let tick = ticker.look(seen, begun + second * tenth / 10, || 1.0 + f64::from(tenth));
                assert_eq!(tick.is_some(), tenth > 0 && tenth % 10 == 0, "{tenth}");
                tick.iter().for_each(|tick| sum.add(tick));
            }
            sum.add(&ticker.rest(40.0).unwrap());
            assert_eq!((sum.ticks, sum.operations, sum.elapsed), (4, 36 * operations, second * 35 / 10));
            sum
        };
        // 1.5 % of all are slow, though no operation of the first worker is, and every one of the second.
        let (fast, slow) = (worker(985, 20), worker(15, 90));
        let all = TickSum::together([&fast, &slow]);
        let mut expected = CoarseCounts(vec![0; COARSE_BUCKETS].into());
        (expected.0[20], expected.0[90]) = (36 * 985, 36 * 15);
        assert_eq!((all.operations, all.latencies.clone()), (36_000, expected));
        assert_eq!(all.p99_ns, slow.latencies.percentile(99));
    }

    #[test]
    fn a_phase_too_short_to_be_looked_at_has_no_ticks() {
        assert_eq!(Ticker::new(Duration::from_secs(1), 0.0).rest(1.0), None);
    }
}
