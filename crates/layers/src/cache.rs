//! `cache=64MiB`: a write-behind cache in memory before a store, shared by all clients of the trial.
//!
//! A write is acknowledged once it is in memory; a thread of the cache writes it to the store later: at the latest when `flush=1s` is
//! over, sooner when half of the memory is waiting. A read of what is in memory never reaches the store, nor does a read of what is
//! known to be absent. What was used longest ago goes first when memory is full; what still has to be written never goes, so a
//! client may have to wait for the store.
//!
//! Get, put, delete, append and compare-and-set happen in memory, on a value fetched from the store before when it has to be, so all
//! clients see one and the same. Counters and scans of the store would not see what is waiting, so a job counts by get and put, and
//! says so.
//!
//! **What a crash loses**: all acknowledged writes that were still waiting. Whatever the store beneath promises, the level of
//! durability is therefore `none`. An orderly end loses nothing: [`Store::flush`], which is inside of the clock, writes all that
//! waits. It then empties the memory as well, so that reading back asks the store.

mod entries;
mod flusher;
mod memory;
mod session;

use super::{Layer, Wrap};
use flusher::Flusher;
use memory::Memory;
use session::CachedSession;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::layered::Layered;
use store::{Capabilities, OperationKind, OperationSet, OptionInfo, Session, SessionPlan, Store, StoreError, size};
use study::Durability;

const CACHE: OptionInfo = OptionInfo::text("cache", "a write-behind cache of this size in memory (64MiB)");
const FLUSH: OptionInfo = OptionInfo::text("flush", "longest time the cache holds a write back").usual("1s");

/// The layer.
pub const LAYER: Layer = Layer {
    options: &[CACHE, FLUSH],
    asked_by: &[CACHE.name],
    check: |_, option, value| match option {
        _ if option == CACHE.name => capacity(value).and_then(|bytes| fits(value, bytes, store::memory::free_bytes())),
        _ => interval(value).map(|_| ()),
    },
    declares: |_, beneath| declares(beneath),
    wrap: Wrap::Around(|spec, store| {
        let unsupported = |problem| StoreError::Unsupported { store: spec.name.clone(), problem };
        let capacity_bytes = capacity(CACHE.read(spec)).map_err(unsupported)?;
        let interval = interval(FLUSH.read(spec)).map_err(unsupported)?;
        Ok(Box::new(Cached::new(store.into(), capacity_bytes, interval)?))
    }),
};

/// Least memory, in bytes: room for a few values.
const LEAST: u64 = 64 << 10;

fn capacity(text: &str) -> Result<u64, String> {
    size::bytes(text)
        .filter(|bytes| *bytes >= LEAST)
        .ok_or_else(|| format!("cache={text} is not possible; use a size of 64KiB or more, such as 64MiB"))
}

/// Whether so large a cache can be filled here.
fn fits(text: &str, bytes: u64, free_bytes: Option<u64>) -> Result<(), String> {
    match free_bytes {
        Some(free) if bytes > free => {
            Err(format!("cache={text} is not possible; {} MiB of memory are free here, use less", free >> 20))
        }
        _ => Ok(()),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let number = |unit: &str| text.strip_suffix(unit).and_then(|number| number.parse::<f64>().ok());
    let seconds = number("ms").map(|ms| ms / 1e3).or_else(|| number("s"));
    let seconds = seconds.filter(|seconds| (0.001..=3600.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("flush={text} is not possible; use a time from 1ms to 3600s, such as 1s or 200ms"))
}

const NATIVE: OperationSet = OperationSet::BASIC.and(&[
    OperationKind::GetVersioned,
    OperationKind::Append,
    OperationKind::CompareAndSet,
    OperationKind::PutMany,
]);

fn declares(beneath: Capabilities) -> Capabilities {
    Capabilities { native: NATIVE, counter: None, sets: None, durability: Durability::None, ..beneath }
}

struct Cached {
    store: Arc<dyn Store>,
    memory: Arc<Memory>,
    interval: Duration,
    capabilities: Capabilities,
    _flusher: Flusher,
}

impl Cached {
    fn new(store: Arc<dyn Store>, capacity_bytes: u64, interval: Duration) -> Result<Cached, StoreError> {
        let memory = Arc::new(Memory::new(capacity_bytes));
        let capabilities = declares(store.capabilities().clone());
        let flusher = Flusher::start(Arc::clone(&store), Arc::clone(&memory), interval)?;
        Ok(Cached { store, memory, interval, capabilities, _flusher: flusher })
    }
}

impl Layered for Cached {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    fn declared(&self) -> &Capabilities {
        &self.capabilities
    }

    fn around(&self, session: Box<dyn Session>, plan: SessionPlan) -> Box<dyn Session> {
        Box::new(CachedSession::new(session, Arc::clone(&self.memory), &self.capabilities, plan))
    }

    fn add_facts(&self, config: &mut BTreeMap<String, String>) {
        let beneath = self.store.capabilities().durability;
        for (name, value) in [
            ("cache_bytes", self.memory.capacity_bytes().to_string()),
            ("cache_flush_ms", self.interval.as_millis().to_string()),
            ("cache_crash_loses", "acknowledged writes that are still waiting in memory".into()),
            ("cache_durability_beneath", beneath.name().into()),
        ] {
            config.insert(name.into(), value);
        }
    }

    /// Writes all that waits, and forgets what is in memory.
    fn hand_down(&self) -> Result<(), StoreError> {
        self.memory.write_all().map_err(StoreError::Session)
    }
}

#[cfg(test)]
mod tests;
