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

use super::Layer;
use crate::{
    Capabilities, Facts, Group, Happening, Holding, OperationKind, OperationSet, OptionInfo, Reduction, Session,
    SessionPlan, Store, StoreError, Sweep, Swept, Threading, size,
};
use flusher::Flusher;
use memory::Memory;
use session::CachedSession;
use std::sync::Arc;
use std::time::Duration;
use study::Durability;

/// The layer.
pub const LAYER: Layer = Layer {
    options: &[
        OptionInfo { name: "cache", values: &[], help: "a write-behind cache of this size in memory (64MiB)" },
        OptionInfo { name: "flush", values: &[], help: "longest time the cache holds a write back [1s]" },
    ],
    check: |option, value| match option {
        "cache" => capacity(value).map(|_| ()),
        _ => interval(value).map(|_| ()),
    },
    declares,
    wrap: |spec, store| {
        let value = |name: &str| spec.options.get(name).map(String::as_str);
        let unsupported = |problem| StoreError::Unsupported { store: spec.name.clone(), problem };
        let capacity_bytes = capacity(value("cache").unwrap_or_default()).map_err(unsupported)?;
        let interval = interval(value("flush").unwrap_or("1s")).map_err(unsupported)?;
        Ok(Box::new(Cached::new(store.into(), capacity_bytes, interval)?))
    },
};

/// Least memory, in bytes: room for a few values.
const LEAST: u64 = 64 << 10;

fn capacity(text: &str) -> Result<u64, String> {
    size::bytes(text)
        .filter(|bytes| *bytes >= LEAST)
        .ok_or_else(|| format!("cache={text} is not possible; use a size of 64KiB or more, such as 64MiB"))
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
    Capabilities { native: NATIVE, counter: None, durability: Durability::None, ..beneath }
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

    fn over(&self, beneath: Box<dyn Session>, plan: SessionPlan) -> Box<dyn Session> {
        Box::new(CachedSession::new(beneath, Arc::clone(&self.memory), &self.capabilities, plan))
    }

    /// Writes all that waits, and forgets what is in memory.
    fn write_all(&self) -> Result<(), StoreError> {
        self.memory.write_all().map_err(StoreError::Session)
    }
}

impl Store for Cached {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Ok(self.over(self.store.session(plan)?, plan))
    }

    fn believing_session(&self, plan: SessionPlan, largest_reply_bytes: u64) -> Result<Box<dyn Session>, StoreError> {
        Ok(self.over(self.store.believing_session(plan, largest_reply_bytes)?, plan))
    }

    fn lacks(&self, kind: OperationKind) -> Option<&str> {
        self.store.lacks(kind)
    }

    fn threading(&self) -> Threading {
        self.store.threading()
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let mut facts = self.store.facts()?;
        let beneath = self.store.capabilities().durability;
        for (name, value) in [
            ("cache_bytes", self.memory.capacity_bytes().to_string()),
            ("cache_flush_ms", self.interval.as_millis().to_string()),
            ("cache_crash_loses", "acknowledged writes that still wait in memory".into()),
            ("cache_durability_beneath", beneath.name().into()),
        ] {
            facts.config.insert(name.into(), value);
        }
        Ok(facts)
    }

    fn look(&self, within: Duration) {
        self.store.look(within);
    }

    fn happened(&self) -> Vec<Happening> {
        self.store.happened()
    }

    fn resent(&self) -> u64 {
        self.store.resent()
    }

    fn own_rows(&self) -> Result<Option<u64>, StoreError> {
        self.store.own_rows()
    }

    fn clear(&self) -> Result<(), StoreError> {
        self.store.clear()
    }

    fn made(&self) -> Vec<String> {
        self.store.made()
    }

    fn unmake(&self) -> Result<(), StoreError> {
        self.store.unmake()
    }

    fn sweep(&self, sweep: Sweep, keys: &[&[u8]]) -> Result<Option<Swept>, StoreError> {
        self.store.sweep(sweep, keys)
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        self.write_all()?;
        self.store.holding()
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.write_all()?;
        self.store.flush()
    }

    fn compact(&self, patience: Duration) -> Result<(), StoreError> {
        self.write_all()?;
        self.store.compact(patience)
    }

    fn reduce(&self, reduction: &Reduction, patience: Duration) -> Result<Vec<Group>, StoreError> {
        self.write_all()?;
        self.store.reduce(reduction, patience)
    }
}

#[cfg(test)]
mod tests;
