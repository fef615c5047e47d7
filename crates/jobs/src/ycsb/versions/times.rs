//! When the last write of each key was acknowledged: kept only where nodes fail on purpose, to say how old a lost write was.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const NEVER: u32 = u32::MAX;

/// A moment per key, in milliseconds since these were made.
pub struct WriteTimes {
    made: Instant,
    acknowledged_ms: Box<[AtomicU32]>,
    oldest_lost_ms: AtomicU32,
}

impl WriteTimes {
    /// Makes the times of the keys below `keys`; others are not timed.
    pub fn new(keys: usize) -> WriteTimes {
        WriteTimes {
            made: Instant::now(),
            acknowledged_ms: (0..keys).map(|_| AtomicU32::new(NEVER)).collect(),
            oldest_lost_ms: AtomicU32::new(NEVER),
        }
    }

    /// Notes that a write of this key was acknowledged just now.
    pub fn acknowledged(&self, id: u64) {
        let Some(moment_ms) = self.acknowledged_ms.get(id as usize) else { return };
        let now_ms = u32::try_from(self.made.elapsed().as_millis()).unwrap_or(NEVER - 1);
        moment_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Notes that the last acknowledged write of this key is not there.
    #[cold]
    pub fn lose(&self, id: u64) {
        if let Some(moment_ms) = self.acknowledged_ms.get(id as usize) {
            self.oldest_lost_ms.fetch_min(moment_ms.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Returns how long ago the oldest of the lost writes was acknowledged; `None`: none is known to be lost.
    pub fn oldest_lost(&self) -> Option<Duration> {
        let moment_ms = Some(self.oldest_lost_ms.load(Ordering::Relaxed)).filter(|&moment_ms| moment_ms != NEVER)?;
        Some(self.made.elapsed().saturating_sub(Duration::from_millis(moment_ms.into())))
    }
}
