//! Locks by key, for engines without transactions of several steps: what reads a key and then writes it keeps other writers of that
//! key out, and nobody else.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of locks: enough that two of 16 clients rarely meet by chance.
const STRIPES: usize = 256;

/// A set of locks, one of which belongs to each key.
pub struct Stripes([Mutex<()>; STRIPES]);

/// A lock that is held for a key.
pub type Held<'a> = MutexGuard<'a, ()>;

impl Default for Stripes {
    fn default() -> Stripes {
        Stripes([const { Mutex::new(()) }; STRIPES])
    }
}

impl Stripes {
    /// Waits for a key.
    pub fn hold(&self, key: &[u8]) -> Held<'_> {
        self.lock(stripe(key))
    }

    /// Waits for several keys, in the same order for every caller.
    pub fn hold_all<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> Vec<Held<'_>> {
        let mut stripes: Vec<usize> = keys.map(stripe).collect();
        stripes.sort_unstable();
        stripes.dedup();
        stripes.into_iter().map(|stripe| self.lock(stripe)).collect()
    }

    fn lock(&self, stripe: usize) -> Held<'_> {
        self.0[stripe].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stripe(key: &[u8]) -> usize {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish() as usize % STRIPES
}
