//! The table of `map=sharded`: shards with a lock each, records of one allocation, counters beside them.

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use std::hash::{BuildHasher, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::Reply;

/// Spare bytes a record may keep when a shorter value replaces a longer one, beyond its own length.
const SPARE_BYTES: usize = 64;

pub(super) struct ShardedMap {
    pub(super) hasher: DefaultHashBuilder,
    pub(super) shards: Box<[Shard]>,
}

/// A shard on cache lines of its own, so that locking one does not slow its neighbours.
#[repr(align(128))]
pub(super) struct Shard(pub(super) Mutex<Tables>);

/// With its lock it fills one cache line; what is used less is elsewhere.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) values: HashTable<Record>,
    pub(super) last_version: u64,
    pub(super) counts: Box<Counts>,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) counters: Counters,
    pub(super) fields: HashMap<Box<[u8]>, Counters>,
}

pub(super) type Counters = HashMap<Box<[u8]>, i64>;

/// A key and its value, in that order, in one allocation.
pub(super) struct Record {
    pub(super) bytes: Vec<u8>,
    pub(super) key_bytes: usize,
    pub(super) version: u64,
}

impl Record {
    pub(super) fn key(&self) -> &[u8] {
        &self.bytes[..self.key_bytes]
    }

    pub(super) fn value(&self) -> &[u8] {
        &self.bytes[self.key_bytes..]
    }

    pub(super) fn new(key: &[u8], value: &[u8], version: u64) -> Record {
        let mut bytes = Vec::with_capacity(key.len() + value.len());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
        Record { bytes, key_bytes: key.len(), version }
    }

    pub(super) fn replace(&mut self, value: &[u8], version: u64) {
        let bytes = self.key_bytes + value.len();
        if self.bytes.capacity() < bytes || self.bytes.capacity() > 2 * bytes + SPARE_BYTES {
            *self = Record::new(self.key(), value, version);
        } else {
            self.bytes.truncate(self.key_bytes);
            self.bytes.extend_from_slice(value);
            self.version = version;
        }
    }
}

impl ShardedMap {
    #[inline]
    pub(super) fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        hasher.finish()
    }

    /// Locks the shard of a hash. The table uses the lowest bits for the place and the highest seven as a tag: the bits of the shard lie between.
    #[inline]
    pub(super) fn lock(&self, hash: u64) -> MutexGuard<'_, Tables> {
        let shard = &self.shards[(hash >> 44) as usize & (self.shards.len() - 1)]; // a power of two of them
        // A panic elsewhere cannot leave a table half changed in a way that matters to a run that then ends.
        shard.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tables {
    #[inline]
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<&Record> {
        self.values.find(hash, |record| record.key() == key)
    }

    pub(super) fn next_version(&mut self) -> u64 {
        self.last_version += 1;
        self.last_version
    }

    #[inline]
    pub(super) fn put(&mut self, hash: u64, key: &[u8], value: &[u8], rehash: impl Fn(&[u8]) -> u64) {
        let version = self.next_version();
        match self.values.find_mut(hash, |record| record.key() == key) {
            Some(record) => record.replace(value, version),
            None => self.insert(hash, Record::new(key, value, version), rehash),
        }
    }

    pub(super) fn insert(&mut self, hash: u64, record: Record, rehash: impl Fn(&[u8]) -> u64) {
        self.values.insert_unique(hash, record, |record| rehash(record.key()));
    }
}

/// Adds to a counter of a map, and creates it at `by` where it is absent; only then is the key copied. `None`: the counter would leave its range.
pub(super) fn add(counters: &mut Counters, key: &[u8], by: i64) -> Option<i64> {
    match counters.get_mut(key) {
        Some(count) => {
            *count = count.checked_add(by)?;
            Some(*count)
        }
        None => {
            counters.insert(key.into(), by);
            Some(by)
        }
    }
}

/// Returns the reply to an increment.
pub(super) fn counted(sum: Option<i64>) -> Reply<'static> {
    let beyond = Reply::Failed(store::Failure::Refused("the counter would leave the range of 64-bit integers"));
    sum.map_or(beyond, Reply::Number)
}
