//! A map made for this: a record is a cache line, memory is in huge pages, growth is a segment at a time, and keys that are told
//! beforehand are fetched while others are worked on. One map behind one lock; told of keys, a client keeps the lock for its turn.

mod arena;
mod line;
mod table;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::immediate::{Heed, Immediate, SyncStore};
use store::{Capabilities, Facts, Operation, Reply, Session, SessionPlan, Store, StoreError, Threading};
use table::Table;

/// Keys told between the fetch of a key's line and that of the end of its value: those of a turn of the engine.
const BETWEEN: usize = 64;

/// Opens an empty map.
pub fn open() -> Box<dyn Store> {
    Box::new(Lines::default())
}

#[derive(Default)]
struct Lines {
    maps: Arc<Mutex<Maps>>,
}

#[derive(Default)]
struct Maps {
    values: Table,
    counters: Table,
}

impl Store for Lines {
    fn capabilities(&self) -> &Capabilities {
        &super::maps::CAPABILITIES
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Immediate::session(plan, || Ok(Handle::new(Arc::clone(&self.maps))))
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let says = [("map", "lines"), ("library", "kvtrial's own: a cache line a record, extendible hashing, huge pages")];
        let config = says.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Ok(Facts { product: "ram".into(), version: env!("CARGO_PKG_VERSION").into(), config })
    }
}

struct Handle {
    /// The lock, kept for a turn. Before `maps`, so that it is let go of first.
    held: Option<MutexGuard<'static, Maps>>,
    maps: Arc<Mutex<Maps>>,
    value: Vec<u8>,
    /// Hashes of the last keys told.
    told: [u64; BETWEEN],
    at: usize,
}

impl Handle {
    fn new(maps: Arc<Mutex<Maps>>) -> Handle {
        Handle { held: None, maps, value: Vec::new(), told: [0; BETWEEN], at: 0 }
    }

    /// Locks the maps until [`rest`](SyncStore::rest).
    fn hold(&mut self) -> &mut Maps {
        let maps = &self.maps;
        self.held.get_or_insert_with(|| {
            let guard = maps.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the guard borrows what the Arc beside it keeps, and is dropped before it: fields drop in order.
            unsafe { std::mem::transmute::<MutexGuard<'_, Maps>, MutexGuard<'static, Maps>>(guard) }
        })
    }
}

impl SyncStore for Handle {
    #[inline]
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        match &mut self.held {
            Some(maps) => maps.execute(operation, &mut self.value),
            None => self.maps.lock().unwrap_or_else(PoisonError::into_inner).execute(operation, &mut self.value),
        }
    }

    #[inline]
    fn expect(&mut self, key: &[u8]) -> Heed {
        let maps = self.hold();
        let hash = maps.values.hash(key);
        maps.values.fetch(hash);
        let before = std::mem::replace(&mut self.told[self.at], hash);
        self.at = (self.at + 1) % BETWEEN;
        self.hold().values.fetch_end(before);
        Heed::Fetched
    }

    fn rest(&mut self) {
        self.held = None;
    }
}

impl Maps {
    #[inline]
    fn execute<'a>(&mut self, operation: &Operation<'_>, read: &'a mut Vec<u8>) -> Reply<'a> {
        let Maps { values, counters } = self;
        match *operation {
            Operation::Append { key, value } => {
                values.append(values.hash(key), key, value);
                Reply::Done
            }
            Operation::Get { key } => match values.get(values.hash(key), key) {
                Some(value) => {
                    read.clear();
                    read.extend_from_slice(value);
                    Reply::Value(read)
                }
                None => Reply::Missing,
            },
            Operation::Put { key, value } => {
                values.put(values.hash(key), key, value);
                Reply::Done
            }
            Operation::Delete { key } => {
                let hash = values.hash(key);
                let (value, counter) = (values.delete(hash, key), counters.delete(counters.hash(key), key));
                if value || counter { Reply::Done } else { Reply::Missing }
            }
            Operation::Increment { key, by } => {
                let hash = counters.hash(key);
                let count = count(counters.get(hash, key)).unwrap_or(0).wrapping_add(by);
                counters.put(hash, key, &count.to_ne_bytes());
                Reply::Number(count)
            }
            Operation::GetCounter { key } => match count(counters.get(counters.hash(key), key)) {
                Some(count) => Reply::Number(count),
                None => Reply::Missing,
            },
            _ => Reply::Failed(store::Failure::Refused("this map does not do that")),
        }
    }
}

/// A counter as it is kept.
fn count(bytes: Option<&[u8]>) -> Option<i64> {
    bytes.and_then(|bytes| bytes.try_into().ok()).map(i64::from_ne_bytes)
}
