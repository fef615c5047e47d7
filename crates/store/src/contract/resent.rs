//! The requests that an adapter has sent again without being asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A count of requests that were sent again because the store had undone them in favour of another one: a deadlock, a serialisation failure, a race
/// of two upserts. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Resent(Arc<AtomicU64>);

impl Resent {
    /// Counts one more request that was sent again.
    #[cold]
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of such requests.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
