//! What a phase shows of itself while it runs. Its threads add to it where they pause anyway: operations when they look for
//! work, latencies when an interval of their series ends. No single operation touches it.

use crate::coarse::{COARSE_BUCKETS, CoarseCounts, coarse_percentile};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The progress of a phase; handed to the observer 10 times per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Operations with a reply so far.
    pub operations: u64,
    /// Operations that failed or were answered wrongly so far.
    pub errors: u64,
    /// Response time 99 of 100 operations stayed within so far (≤ 7 % error), as of the last full second; `None` in the first.
    pub p99_ns: Option<u64>,
    /// Time since the clock was switched on.
    pub elapsed: Duration,
    /// How long a thread has been in a call of the store, or otherwise given no sign of life: the longest time of all threads. `None`: no
    /// thread is at operations of its own.
    pub silent: Option<Duration>,
    /// Response times by coarse bucket, as of the last full second: what tails of several workers are made of. Empty where nobody needs it.
    #[serde(default, skip_serializing_if = "CoarseCounts::is_empty")]
    pub latencies: CoarseCounts,
}

/// Shared by the threads of a phase and its watcher.
pub struct Live {
    operations: AtomicU64,
    errors: AtomicU64,
    /// Latencies by coarse bucket.
    latencies: [AtomicU64; COARSE_BUCKETS],
}

impl Default for Live {
    fn default() -> Self {
        Live {
            operations: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            latencies: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl Live {
    /// Adds operations that have a reply.
    #[inline]
    pub fn add_operations(&self, operations: u64) {
        self.operations.fetch_add(operations, Ordering::Relaxed);
    }

    /// Adds an operation that failed.
    pub fn add_error(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds latencies to a coarse bucket.
    pub fn add_latencies(&self, bucket: usize, count: u64) {
        if count > 0 {
            self.latencies[bucket].fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Returns all of it, `elapsed` after the start.
    pub fn progress(&self, elapsed: Duration, silent: Option<Duration>) -> Progress {
        // Threads go on adding: what is counted is one moment's view.
        let latencies = self.latencies.each_ref().map(|count| count.load(Ordering::Relaxed));
        Progress {
            operations: self.operations.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            p99_ns: coarse_percentile(latencies.into_iter(), 99),
            elapsed,
            silent,
            latencies: CoarseCounts(latencies.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Live;
    use crate::coarse::{COARSE_BUCKETS, add_coarse};
    use std::time::Duration;
    use study::Histogram;

    #[test]
    fn the_tail_so_far_is_that_of_all_threads_together() {
        let live = Live::default();
        assert_eq!(live.progress(Duration::ZERO, None).p99_ns, None);
        let (mut fast, mut slow) = (Histogram::default(), Histogram::default());
        fast.record_many(1_000, 985);
        slow.record_many(70_000, 15);
        for histogram in [fast, slow] {
            let mut coarse = [0; COARSE_BUCKETS];
            add_coarse(&histogram, &mut coarse);
            (0..).zip(coarse).for_each(|(bucket, count)| live.add_latencies(bucket, count));
        }
        let p99_ns = live.progress(Duration::ZERO, None).p99_ns.unwrap_or(0);
        assert!((p99_ns as f64 / 70_000.0 - 1.0).abs() < 0.07, "{p99_ns}");
    }
}
