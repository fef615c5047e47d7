//! Things found by a key, for all threads of a trial. A thread keeps hold of those it has met: a key it knows costs no lock and no allocation.

use jobs::fingerprint::fingerprint;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shards: more than there are threads.
const SHARDS: usize = 64;

/// A thing that is kept under a key, and says under which.
pub(crate) trait Keyed {
    /// Returns a new one.
    fn named(key: &[u8]) -> Self;
    /// Returns the key.
    fn key(&self) -> &[u8];
}

/// A map all threads share. A lock is taken only by a thread that meets a key for the first time.
pub(crate) struct SharedMap<T> {
    shards: Vec<Mutex<HashMap<u64, Vec<Arc<T>>, BuildHasherDefault<Itself>>>>,
}

impl<T> Default for SharedMap<T> {
    fn default() -> SharedMap<T> {
        SharedMap { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

type Shard<'a, T> = MutexGuard<'a, HashMap<u64, Vec<Arc<T>>, BuildHasherDefault<Itself>>>;

impl<T: Keyed> SharedMap<T> {
    fn shard(&self, print: u64) -> Shard<'_, T> {
        self.shards[(print >> 32) as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn found(&self, print: u64, key: &[u8]) -> Option<Arc<T>> {
        self.shard(print).get(&print)?.iter().find(|it| it.key() == key).cloned()
    }

    fn made(&self, print: u64, key: &[u8]) -> Arc<T> {
        let mut shard = self.shard(print);
        let here = shard.entry(print).or_default();
        match here.iter().find(|it| it.key() == key) {
            Some(it) => Arc::clone(it),
            None => {
                let new = Arc::new(T::named(key));
                here.push(Arc::clone(&new));
                new
            }
        }
    }

    /// Returns what is under this key, if anything ever was.
    pub(crate) fn find(&self, key: &[u8]) -> Option<Arc<T>> {
        self.found(fingerprint(key), key)
    }

    /// Returns what is under this key; puts it there if there was nothing.
    pub(crate) fn make(&self, key: &[u8]) -> Arc<T> {
        self.made(fingerprint(key), key)
    }

    /// Goes over everything, in no order.
    pub(crate) fn each(&self, mut act: impl FnMut(&T)) {
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.values().flatten().for_each(|it| act(it));
        }
    }
}

/// The part of a map one thread has met.
pub(crate) struct Met<T> {
    by_print: HashMap<u64, Arc<T>, BuildHasherDefault<Itself>>,
}

impl<T> Default for Met<T> {
    fn default() -> Met<T> {
        Met { by_print: HashMap::default() }
    }
}

impl<T: Keyed> Met<T> {
    /// Returns what is under this key, if anything is. Looks for a key nobody has written in the map each time: somebody may have since.
    #[inline]
    pub(crate) fn find(&mut self, shared_map: &SharedMap<T>, key: &[u8]) -> Option<&T> {
        let print = fingerprint(key);
        match self.by_print.entry(print) {
            Entry::Occupied(known) if known.get().key() == key => Some(known.into_mut()),
            // Two keys of one fingerprint take turns here.
            Entry::Occupied(mut other) => {
                other.insert(shared_map.found(print, key)?);
                Some(other.into_mut())
            }
            Entry::Vacant(empty) => Some(empty.insert(shared_map.found(print, key)?)),
        }
    }

    /// Returns what is under this key; puts it there if there was nothing.
    #[inline]
    pub(crate) fn make(&mut self, shared_map: &SharedMap<T>, key: &[u8]) -> &T {
        let print = fingerprint(key);
        match self.by_print.entry(print) {
            Entry::Occupied(known) if known.get().key() == key => known.into_mut(),
            Entry::Occupied(mut other) => {
                other.insert(shared_map.made(print, key));
                other.into_mut()
            }
            Entry::Vacant(empty) => empty.insert(shared_map.made(print, key)),
        }
    }
}

/// A fingerprint is its own hash.
#[derive(Default)]
pub(crate) struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use super::{Keyed, Met, SharedMap};
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Tally(Box<[u8]>, AtomicU64);

    impl Keyed for Tally {
        fn named(key: &[u8]) -> Tally {
            Tally(key.into(), AtomicU64::new(0))
        }

        fn key(&self) -> &[u8] {
            &self.0
        }
    }

    #[test]
    fn what_one_thread_puts_under_a_key_another_finds_there() {
        let shared_map: SharedMap<Tally> = SharedMap::default();
        let (mut one, mut two) = (Met::default(), Met::default());
        assert!(two.find(&shared_map, b"a").is_none());
        one.make(&shared_map, b"a").1.store(7, Ordering::Relaxed);
        assert_eq!(two.find(&shared_map, b"a").map(|it| it.1.load(Ordering::Relaxed)), Some(7));
        assert!(shared_map.find(b"b").is_none());
        let mut keys = Vec::new();
        two.make(&shared_map, b"b");
        shared_map.each(|it| keys.push(it.key().to_vec()));
        keys.sort_unstable();
        assert_eq!(keys, [b"a", b"b"]);
    }

    #[test]
    fn a_key_that_was_met_is_found_while_every_lock_is_held_by_others() {
        let shared_map: SharedMap<Tally> = SharedMap::default();
        let mut met = Met::default();
        met.make(&shared_map, b"a");
        let locks: Vec<_> = shared_map.shards.iter().map(|shard| shard.lock()).collect();
        assert!(met.find(&shared_map, b"a").is_some());
        assert_eq!(met.make(&shared_map, b"a").key(), b"a");
        drop(locks);
    }
}
