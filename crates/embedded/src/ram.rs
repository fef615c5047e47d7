//! The RAM baseline: a sharded hash map in this process, shared by all sessions. What a store costs beyond it is the store's.
//!
//! A key is hashed once: some bits choose the shard, the others place it in the shard's table. A record is one allocation, key
//! before value, so a hit touches one table line and one heap line. Every operation holds one shard's lock and no other;
//! get-many and put-many take their keys one by one and are not atomic. Scan is not native: a hash map has no order.
//! Versions are drawn from a counter of the shard, so a key that was deleted and put again has another version.

mod lines;
mod maps;
mod sets;
mod sharded;

use hashbrown::DefaultHashBuilder;
use sharded::{Record, Shard, ShardedMap, add, counted};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use store::immediate::{Immediate, SyncStore};
use store::{
    Availability, BUILT_IN, Capabilities, Choice, Counter, Expected, Facts, Holding, KeepSets, Opener, Operation,
    OperationKind, OperationSet, OptionInfo, Overflow, Reply, RowBuffer, Session, SessionPlan, Store, StoreError,
    StoreInfo, Threading,
};
use study::{Class, Durability, Spec};

const MAP: OptionInfo = OptionInfo::one_of(
    "map",
    &[SHARDED, LINES, "std", "hashbrown", "indexmap", "griddle", "btree"],
    "sharded: many small hash tables, each with a lock; lines: kvtrial's own, a cache line per record; else one map of that library behind one lock",
);

/// The number of shards. Usually there are more of them than threads that run at once, so that two threads seldom want the same shard, and few
/// enough to stay in the nearest cache.
const SHARDS: Choice<usize> =
    OptionInfo::one_of("shards", &["64", "4096"], "tables of map=sharded; more of them rehash less at once")
        .means(&[64, 4096]);

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "ram",
    family: "ram",
    transport: None,
    driver: None,
    class: Class::Baseline,
    kind: "hash",
    summary: "a hash map in this process: the cost of the job without a store",
    durabilities: &[Durability::None],
    options: &[MAP, SHARDS.info, sets::OPTION],
    install: BUILT_IN,
    licence: "MIT OR Apache-2.0",
    declares,
    probe: || Availability::Found(concat!("ram ", env!("CARGO_PKG_VERSION")).into()),
    opener: Opener::Embedded(|spec, _| open(spec)),
}];

const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::BASIC.and(&[
        OperationKind::GetVersioned,
        OperationKind::Append,
        OperationKind::Increment,
        OperationKind::GetCounter,
        OperationKind::IncrementField,
        OperationKind::GetFields,
        OperationKind::CompareAndSet,
        OperationKind::GetMany,
        OperationKind::PutMany,
    ]),
    counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Refused }),
    ..Capabilities::BASIC
};

const SHARDED: &str = "sharded";
const LINES: &str = "lines";

fn declares(spec: &Spec) -> Capabilities {
    match MAP.read(spec) {
        SHARDED => Capabilities { sets: sets::of(spec).map(KeepSets::way), ..CAPABILITIES },
        _ => maps::CAPABILITIES,
    }
}

fn open(spec: &Spec) -> Result<Box<dyn Store>, StoreError> {
    let sets = sets::of(spec);
    if sets.is_some() && (MAP.read(spec) != SHARDED || SHARDS.asked(spec).is_some()) {
        let problem = "way= keeps sets in a data structure of its own; leave map= and shards= out".into();
        return Err(StoreError::Unsupported { store: "ram".into(), problem });
    }
    match (MAP.read(spec), SHARDS.asked(spec)) {
        (SHARDED, _) => Ok(Box::new(Ram::new(SHARDS.read(spec), sets))),
        (LINES, None) => Ok(lines::open()),
        (library, None) => maps::open(library),
        (library, Some(_)) => {
            let problem = format!("map={library} is one table; shards= belongs to map=sharded");
            Err(StoreError::Unsupported { store: "ram".into(), problem })
        }
    }
}

struct Ram {
    map: Arc<ShardedMap>,
    sets: Option<&'static sets::RamSets>,
    capabilities: Capabilities,
}

impl Ram {
    fn new(shards: usize, sets: Option<&'static sets::RamSets>) -> Ram {
        let shards = (0..shards).map(|_| Shard(Mutex::default())).collect();
        Ram {
            map: Arc::new(ShardedMap { hasher: DefaultHashBuilder::default(), shards }),
            sets,
            capabilities: Capabilities { sets: sets.map(KeepSets::way), ..CAPABILITIES },
        }
    }
}

impl Store for Ram {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn sets(&self) -> Option<&dyn KeepSets> {
        self.sets.map(|sets| sets as &dyn KeepSets)
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Immediate::session(plan, || {
            Ok(Handle { map: Arc::clone(&self.map), value: Vec::new(), rows: RowBuffer::default() })
        })
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let mut config = BTreeMap::from([("shards".to_owned(), self.map.shards.len().to_string())]);
        config.extend(self.capabilities.sets.map(|way| ("way".to_owned(), way.name.to_owned())));
        Ok(Facts { product: "ram".into(), version: env!("CARGO_PKG_VERSION").into(), config, ..Facts::default() })
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        let shards = self.map.shards.iter().map(|shard| shard.0.lock().unwrap_or_else(PoisonError::into_inner));
        let keys = shards.map(|tables| tables.values.len() + tables.counts.counters.len() + tables.counts.fields.len());
        Ok(Holding { keys: Some(keys.sum::<usize>() as u64), ..Holding::default() })
    }
}

struct Handle {
    map: Arc<ShardedMap>,
    value: Vec<u8>,
    rows: RowBuffer,
}

impl Handle {
    /// Copies a value into the handle's buffer, and returns its version; `None`: there is no such key.
    #[inline]
    fn read(&mut self, key: &[u8]) -> Option<u64> {
        let hash = self.map.hash(key);
        let tables = self.map.lock(hash);
        let record = tables.find(hash, key)?;
        self.value.clear();
        self.value.extend_from_slice(record.value());
        Some(record.version)
    }

    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) {
        let hash = self.map.hash(key);
        self.map.lock(hash).put(hash, key, value, |key| self.map.hash(key));
    }

    fn append(&self, key: &[u8], value: &[u8]) {
        let hash = self.map.hash(key);
        let mut tables = self.map.lock(hash);
        let version = tables.next_version();
        match tables.values.find_mut(hash, |record| record.key() == key) {
            Some(record) => {
                record.bytes.extend_from_slice(value);
                record.version = version;
            }
            None => tables.insert(hash, Record::new(key, value, version), |key| self.map.hash(key)),
        }
    }

    /// Deletes everything under a key: value, counter and record.
    fn delete(&self, key: &[u8]) -> Reply<'static> {
        let hash = self.map.hash(key);
        let mut tables = self.map.lock(hash);
        let value = tables.values.find_entry(hash, |record| record.key() == key).map(|entry| entry.remove()).is_ok();
        let counter = tables.counts.counters.remove(key).is_some();
        let record = tables.counts.fields.remove(key).is_some();
        if value || counter || record { Reply::Done } else { Reply::Missing }
    }

    fn compare_and_set(&self, key: &[u8], expected: &Expected<'_>, value: &[u8]) -> Reply<'static> {
        let hash = self.map.hash(key);
        let mut tables = self.map.lock(hash);
        let found = tables.find(hash, key).map(|record| record.version);
        let wanted = match expected {
            Expected::Absent => None,
            Expected::Present { version, .. } => Some(*version),
        };
        if found != wanted {
            return Reply::Conflict;
        }
        tables.put(hash, key, value, |key| self.map.hash(key));
        Reply::Done
    }

    fn get_fields(&mut self, key: &[u8]) {
        self.rows.clear();
        let hash = self.map.hash(key);
        if let Some(fields) = self.map.lock(hash).counts.fields.get(key) {
            for (field, count) in fields {
                self.rows.push(field, count.to_string().as_bytes());
            }
        }
    }

    fn increment_field(&self, key: &[u8], field: &[u8], by: i64) -> Option<i64> {
        let mut tables = self.map.lock(self.map.hash(key));
        match tables.counts.fields.get_mut(key) {
            Some(fields) => add(fields, field, by),
            None => add(tables.counts.fields.entry(key.into()).or_default(), field, by),
        }
    }
}

impl SyncStore for Handle {
    #[inline]
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        // Gets and puts by themselves: what the others need of registers and stack is not theirs to save.
        match *operation {
            Operation::Get { key } => match self.read(key) {
                Some(_) => Reply::Value(&self.value),
                None => Reply::Missing,
            },
            Operation::Put { key, value } => {
                self.put(key, value);
                Reply::Done
            }
            _ => self.execute_other(operation),
        }
    }
}

impl Handle {
    /// Carries out what is neither a get nor a put.
    #[inline(never)]
    fn execute_other(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        match *operation {
            Operation::Get { .. } | Operation::Put { .. } => Reply::Failed(store::Failure::Refused("a get or a put")),
            Operation::GetVersioned { key } => match self.read(key) {
                Some(version) => Reply::Versioned { value: &self.value, version },
                None => Reply::Missing,
            },
            Operation::Delete { key } => self.delete(key),
            Operation::Append { key, value } => {
                self.append(key, value);
                Reply::Done
            }
            Operation::Increment { key, by } => {
                counted(add(&mut self.map.lock(self.map.hash(key)).counts.counters, key, by))
            }
            Operation::GetCounter { key } => match self.map.lock(self.map.hash(key)).counts.counters.get(key) {
                Some(count) => Reply::Number(*count),
                None => Reply::Missing,
            },
            Operation::IncrementField { key, field, by } => counted(self.increment_field(key, field, by)),
            Operation::GetFields { key } => {
                self.get_fields(key);
                Reply::Rows(self.rows.rows())
            }
            Operation::CompareAndSet { key, ref expected, value } => self.compare_and_set(key, expected, value),
            Operation::GetMany { keys } => {
                self.rows.clear();
                for key in keys {
                    let hash = self.map.hash(key);
                    if let Some(record) = self.map.lock(hash).find(hash, key) {
                        self.rows.push(key, record.value());
                    }
                }
                Reply::Rows(self.rows.rows())
            }
            Operation::PutMany { pairs } => {
                for (key, value) in pairs {
                    self.put(key, value);
                }
                Reply::Done
            }
            Operation::Scan { .. } => Reply::Failed(store::Failure::Refused("a hash map has no order to scan in")),
            Operation::PutTtl { .. }
            | Operation::Touch { .. }
            | Operation::TimeLeft { .. }
            | Operation::Command { .. }
            | Operation::Sql { .. } => Reply::Failed(store::Failure::Refused(store::NOTHING_EXPIRES)),
        }
    }
}
