//! A map made for this: a record is a cache line, memory is in huge pages, growth is a segment at a time, and keys that are announced
//! beforehand are fetched while others are worked on. One map behind one lock; told of keys, a client keeps the lock for its turn.

mod arena;
mod line;
mod table;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::immediate::{Heed, Immediate, SyncStore};
use store::{
    Capabilities, Facts, Holding, Operation, OperationKind, Reply, Session, SessionPlan, Store, StoreError, Threading,
};
use table::{LINE_BYTES, RecordTable, fetch};

/// Keys told at once, at most: those of a turn of the engine.
const TURN: usize = 64;

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
    values: RecordTable,
    counters: RecordTable,
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
        let says =
            [("map", "lines"), ("library", "kvtrial's own: a cache line a record, extendible hashing, huge pages")];
        let config = says.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Ok(Facts { product: "ram".into(), version: env!("CARGO_PKG_VERSION").into(), config, ..Facts::default() })
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        let maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Holding { keys: Some(maps.values.keys() + maps.counters.keys()), ..Holding::default() })
    }
}

struct Handle {
    /// The lock, kept for a turn. It stands before `maps`, so that it is released first.
    held: Option<MutexGuard<'static, Maps>>,
    maps: Arc<Mutex<Maps>>,
    value: Vec<u8>,
    told: Told,
}

/// Keys told and not yet fetched, and those told the turn before: their lines are there by now, and say where their values end.
///
/// A fetch is not over for the processor before it knows the page, so fetches run side by side only as far as they stand side by side:
/// they are collected, and made in loops that do nothing else.
struct Told {
    lines: [*const u8; TURN],
    count: usize,
    /// Hashes of keys whose values may be elsewhere.
    now: Hashes,
    before: Hashes,
}

struct Hashes {
    hashes: [u64; TURN],
    count: usize,
}

impl Hashes {
    const NONE: Hashes = Hashes { hashes: [0; TURN], count: 0 };

    #[inline]
    fn note(&mut self, hash: u64) {
        self.hashes[self.count] = hash;
        self.count += 1;
    }
}

impl Told {
    const NOTHING: Told = Told { lines: [std::ptr::null(); TURN], count: 0, now: Hashes::NONE, before: Hashes::NONE };

    /// Notes where a key's line is; returns `true` when there is no room for another line.
    #[inline]
    fn note(&mut self, line: *const u8) -> bool {
        self.lines[self.count] = line;
        self.count += 1;
        self.count == TURN
    }

    /// Begins to fetch the lines that were noted, and the ends of the values of the turn before.
    #[inline(never)]
    fn fetch(&mut self, values: &RecordTable) {
        for &line in &self.lines[..self.count] {
            fetch(line);
        }
        for &line in &self.lines[..self.count] {
            fetch(line.wrapping_add(LINE_BYTES)); // its neighbour, which is often the one
        }
        for &hash in &self.before.hashes[..self.before.count] {
            values.fetch_end(hash);
        }
        std::mem::swap(&mut self.now, &mut self.before);
        (self.now.count, self.count) = (0, 0);
    }
}

impl Handle {
    fn new(maps: Arc<Mutex<Maps>>) -> Handle {
        Handle { held: None, maps, value: Vec::new(), told: Told::NOTHING }
    }

    /// Locks the maps until [`rest`](SyncStore::rest).
    fn hold(&mut self) {
        let maps = &self.maps;
        self.held.get_or_insert_with(|| {
            let guard = maps.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the guard borrows what the Arc beside it keeps, and is dropped before it: fields drop in order.
            unsafe { std::mem::transmute::<MutexGuard<'_, Maps>, MutexGuard<'static, Maps>>(guard) }
        });
    }
}

impl SyncStore for Handle {
    #[inline]
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        match &mut self.held {
            Some(maps) => {
                if self.told.count > 0 {
                    self.told.fetch(&maps.values);
                }
                maps.execute(operation, &mut self.value)
            }
            None => self.maps.lock().unwrap_or_else(PoisonError::into_inner).execute(operation, &mut self.value),
        }
    }

    #[inline]
    fn expect(&mut self, kind: OperationKind, key: &[u8]) -> Heed {
        self.hold();
        let (Some(maps), told) = (&self.held, &mut self.told) else { return Heed::Ignored };
        let line = match kind {
            OperationKind::Increment | OperationKind::GetCounter => maps.counters.place(maps.counters.hash(key)),
            _ => {
                let hash = maps.values.hash(key);
                told.now.note(hash);
                maps.values.place(hash)
            }
        };
        if told.note(line) {
            told.fetch(&maps.values);
        }
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
            Operation::Increment { key, by } => super::counted(counters.add(counters.hash(key), key, by)),
            Operation::GetCounter { key } => match count(counters.get(counters.hash(key), key)) {
                Some(count) => Reply::Number(count),
                None => Reply::Missing,
            },
            _ => Reply::Failed(store::Failure::Refused("this map does not do that")),
        }
    }
}

/// Reads a counter from its stored bytes.
fn count(bytes: Option<&[u8]>) -> Option<i64> {
    bytes.and_then(|bytes| bytes.try_into().ok()).map(i64::from_ne_bytes)
}
