//! The time that a search is given.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Beyond this share of the budget a running trial is stopped.
const HARD_SHARE: f64 = 1.05;
/// The time between two looks at the clock.
const LOOKS: Duration = Duration::from_millis(20);

/// Wall time for a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchTime {
    /// The time in all.
    pub whole: Duration,
    /// The moment from which it is counted.
    pub begun: Instant,
}

impl SearchTime {
    /// Returns the time used so far.
    pub fn spent(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Returns the time that is left.
    pub fn left(&self) -> Duration {
        self.whole.saturating_sub(self.spent())
    }

    /// Works, and meanwhile sets `stop` when the budget is used up or `interrupted` is set.
    pub(crate) fn watched<T>(&self, stop: &AtomicBool, interrupted: &AtomicBool, work: impl FnOnce() -> T) -> T {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    if interrupted.load(Ordering::Relaxed) || self.spent() > self.whole.mul_f64(HARD_SHARE) {
                        stop.store(true, Ordering::Relaxed);
                    }
                    std::thread::sleep(LOOKS);
                }
            });
            let done = work();
            over.store(true, Ordering::Relaxed);
            done
        })
    }
}
