//! Maps of well-known libraries, each as a program would use it: one map behind one lock, grown by its own rules.
//!
//! Values and counters are two maps of the same library. When a map makes room, that is timed and told as a rehash.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use store::immediate::{Immediate, SyncStore};
use store::{
    Capabilities, Counter, Facts, Happening, Holding, Operation, OperationKind, OperationSet, Overflow, Reply, Session,
    SessionPlan, Store, StoreError, Threading, Witness,
};

/// The capabilities of such a store.
pub const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::BASIC.and(&[OperationKind::Append, OperationKind::Increment, OperationKind::GetCounter]),
    counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Refused }),
    ..Capabilities::BASIC
};

/// The number of growths of a map that are reported at most; the first ones are of little use.
const TOLD: usize = 1000;

type Key = Box<[u8]>;

/// A library's map, as this adapter needs it.
trait Map<V>: Default + Send {
    /// Returns the value under a key.
    fn find(&mut self, key: &[u8]) -> Option<&mut V>;
    /// Adds a key that is absent.
    fn add(&mut self, key: Key, value: V);
    /// Removes a key, and returns whether it was there.
    fn take(&mut self, key: &[u8]) -> bool;
    /// Returns the number of keys there is room for; a library that grows key by key always has the same.
    fn room(&self) -> usize;
    /// Returns the number of keys.
    fn keys(&self) -> usize;
    /// Returns whether the next key needs more room.
    fn is_full(&self) -> bool;
}

macro_rules! hash_map {
    ($($map:ident)::+ $(, $remove:ident)?) => {
        impl<V: Send> Map<V> for $($map)::+<Key, V> {
            fn find(&mut self, key: &[u8]) -> Option<&mut V> {
                self.get_mut(key)
            }

            fn add(&mut self, key: Key, value: V) {
                self.insert(key, value);
            }

            fn take(&mut self, key: &[u8]) -> bool {
                hash_map!(@remove self key $($remove)?).is_some()
            }

            fn room(&self) -> usize {
                self.capacity()
            }

            fn keys(&self) -> usize {
                self.len()
            }

            fn is_full(&self) -> bool {
                self.len() == self.capacity()
            }
        }
    };
    (@remove $map:ident $key:ident) => { $map.remove($key) };
    (@remove $map:ident $key:ident $remove:ident) => { $map.$remove($key) };
}

hash_map!(std::collections::HashMap);
hash_map!(hashbrown::HashMap);
hash_map!(indexmap::IndexMap, swap_remove);
hash_map!(griddle::HashMap);

impl<V: Send> Map<V> for BTreeMap<Key, V> {
    fn find(&mut self, key: &[u8]) -> Option<&mut V> {
        self.get_mut(key)
    }

    fn add(&mut self, key: Key, value: V) {
        self.insert(key, value);
    }

    fn take(&mut self, key: &[u8]) -> bool {
        self.remove(key).is_some()
    }

    fn room(&self) -> usize {
        0
    }

    fn keys(&self) -> usize {
        self.len()
    }

    fn is_full(&self) -> bool {
        false
    }
}

/// Opens an empty map of the library with this name.
pub fn open(library: &str) -> Result<Box<dyn Store>, StoreError> {
    type Std<V> = std::collections::HashMap<Key, V>;
    type Brown<V> = hashbrown::HashMap<Key, V>;
    type Index<V> = indexmap::IndexMap<Key, V>;
    type Griddle<V> = griddle::HashMap<Key, V>;
    type Tree<V> = BTreeMap<Key, V>;
    Ok(match library {
        "std" => Box::new(MapStore::<Std<Vec<u8>>, Std<i64>>::new("std", "HashMap of Rust's standard library")),
        "hashbrown" => {
            Box::new(MapStore::<Brown<Vec<u8>>, Brown<i64>>::new("hashbrown", "hashbrown 0.17 (SwissTable)"))
        }
        "indexmap" => Box::new(MapStore::<Index<Vec<u8>>, Index<i64>>::new("indexmap", "indexmap 2")),
        "griddle" => {
            Box::new(MapStore::<Griddle<Vec<u8>>, Griddle<i64>>::new("griddle", "griddle 0.6 (grows step by step)"))
        }
        "btree" => Box::new(MapStore::<Tree<Vec<u8>>, Tree<i64>>::new("btree", "BTreeMap of Rust's standard library")),
        other => {
            return Err(StoreError::Unsupported { store: "ram".into(), problem: format!("map={other} is unknown") });
        }
    })
}

struct MapStore<M, C> {
    maps: Arc<Mutex<Maps<M, C>>>,
    name: &'static str,
    library: &'static str,
}

struct Maps<M, C> {
    values: M,
    counters: C,
    grown: VecDeque<Happening>,
}

impl<M: Map<Vec<u8>>, C: Map<i64>> MapStore<M, C> {
    fn new(name: &'static str, library: &'static str) -> MapStore<M, C> {
        let maps = Maps { values: M::default(), counters: C::default(), grown: VecDeque::new() };
        MapStore { maps: Arc::new(Mutex::new(maps)), name, library }
    }
}

impl<M: Map<Vec<u8>> + 'static, C: Map<i64> + 'static> Store for MapStore<M, C> {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Immediate::session(plan, || Ok(Handle { maps: Arc::clone(&self.maps), value: Vec::new() }))
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let config = [("map".to_owned(), self.name.to_owned()), ("library".to_owned(), self.library.to_owned())].into();
        Ok(Facts { product: "ram".into(), version: env!("CARGO_PKG_VERSION").into(), config, ..Facts::default() })
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        let maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Holding { keys: Some((maps.values.keys() + maps.counters.keys()) as u64), ..Holding::default() })
    }
    fn witness(&self) -> Option<&dyn Witness> {
        Some(self)
    }
}

impl<M: Map<Vec<u8>> + 'static, C: Map<i64> + 'static> Witness for MapStore<M, C> {
    fn happened(&self) -> Vec<Happening> {
        self.maps.lock().unwrap_or_else(PoisonError::into_inner).grown.iter().cloned().collect()
    }
}

/// Adds a key, and reports when the map made room for it. Only an add to a full map is timed.
fn add<V>(map: &mut impl Map<V>, key: &[u8], value: V, grown: &mut VecDeque<Happening>) {
    let room = map.room();
    let start = map.is_full().then(Instant::now);
    map.add(key.into(), value);
    let Some(start) = start.filter(|_| map.room() != room) else { return };
    let detail =
        format!("the map grew from room for {} keys to {}", study::whole(room as u64), study::whole(map.room() as u64));
    grown.truncate(TOLD - 1);
    grown.push_front(Happening { cause: "rehash", start: Some(start), duration: start.elapsed(), detail });
}

struct Handle<M, C> {
    maps: Arc<Mutex<Maps<M, C>>>,
    value: Vec<u8>,
}

impl<M: Map<Vec<u8>>, C: Map<i64>> SyncStore for Handle<M, C> {
    #[inline]
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        let Maps { values, counters, grown } = &mut *maps;
        match *operation {
            Operation::Get { key } => match values.find(key) {
                Some(value) => {
                    self.value.clone_from(value);
                    Reply::Value(&self.value)
                }
                None => Reply::Missing,
            },
            Operation::Put { key, value } => {
                match values.find(key) {
                    Some(old) => old.splice(.., value.iter().copied()).for_each(drop),
                    None => add(values, key, value.to_vec(), grown),
                }
                Reply::Done
            }
            Operation::Append { key, value } => {
                match values.find(key) {
                    Some(old) => old.extend_from_slice(value),
                    None => add(values, key, value.to_vec(), grown),
                }
                Reply::Done
            }
            Operation::Delete { key } => {
                let (value, counter) = (values.take(key), counters.take(key));
                if value || counter { Reply::Done } else { Reply::Missing }
            }
            Operation::Increment { key, by } => super::counted(match counters.find(key) {
                Some(count) => count.checked_add(by).inspect(|sum| *count = *sum),
                None => {
                    add(counters, key, by, grown);
                    Some(by)
                }
            }),
            Operation::GetCounter { key } => counters.find(key).map_or(Reply::Missing, |count| Reply::Number(*count)),
            _ => Reply::Failed(store::Failure::Refused("this map does not do that")),
        }
    }
}
