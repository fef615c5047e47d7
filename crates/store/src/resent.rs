//! Requests an adapter sent again of its own accord.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts requests that were sent again because the store had undone them for the sake of another one: a deadlock, a
/// serialisation failure, a race of two upserts. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Resent(Arc<AtomicU64>);

impl Resent {
    /// Counts one more request that was sent again.
    #[cold]
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many there have been.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
