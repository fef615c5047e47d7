//! Engines that put, append, count and compare with one call each (Tokyo Cabinet, Kyoto Cabinet, Tkrzw), as stores.
//!
//! Each call is atomic by the library's own locks. Counters share the key space of values, as they do in the libraries.

use crate::shared::embedded::{Buffers, EmbeddedReply, Fault};
use std::sync::Arc;
use store::immediate::{Immediate, SyncStore};
use store::{
    Capabilities, Expected, Facts, Holding, Maintenance, Operation, Reply, Session, SessionPlan, Store, StoreError,
    Sweep, Swept, Threading,
};
use study::Durability;

/// An open database; any thread may call it.
pub trait Cabinet: Send + Sync + 'static {
    /// Reads a value into a buffer, and returns whether there is one.
    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, Fault>;

    /// Stores a value.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Fault>;

    /// Adds to the end of a value, or creates it.
    fn append(&self, key: &[u8], more: &[u8]) -> Result<(), Fault>;

    /// Removes a record, and returns whether there was one.
    fn delete(&self, key: &[u8]) -> Result<bool, Fault>;

    /// Stores a value only when there is none, and returns whether it was stored.
    fn put_absent(&self, key: &[u8], value: &[u8]) -> Result<bool, Fault>;

    /// Replaces a value only when it is the expected one, and returns whether it was replaced.
    fn replace(&self, key: &[u8], expected: &[u8], value: &[u8]) -> Result<bool, Fault>;

    /// Adds to a counter, or creates it, and returns the sum. The buffer may be used.
    fn increment(&self, key: &[u8], by: i64, scratch: &mut Vec<u8>) -> Result<i64, Fault>;

    /// Reads a stored counter.
    fn count(&self, stored: &[u8]) -> Result<i64, Fault>;

    /// Deletes keys, in one transaction in engines that have transactions; returns how many of them were there.
    fn delete_many(&self, keys: &[&[u8]]) -> Result<Swept, Fault>;

    /// Stores several values together, in engines that declare put-many.
    fn put_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), Fault>;

    /// Returns the number of records.
    fn records(&self) -> Result<u64, Fault>;

    /// Returns the facts that the engine reports about itself.
    fn facts(&self) -> Facts;

    /// Flushes the engine's files.
    fn sync(&self) -> Result<(), Fault>;

    /// Returns the work that the engine does on its files when told to.
    fn maintenance(&self) -> Maintenance<'_> {
        Maintenance::default()
    }
}

/// Asks about keys one by one, or deletes them; counts the keys that were there.
pub fn each(keys: &[&[u8]], mut was_there: impl FnMut(&[u8]) -> Result<bool, Fault>) -> Result<Swept, Fault> {
    let mut swept = Swept::default();
    for (place, key) in keys.iter().enumerate() {
        if was_there(key)? {
            swept.count(place);
        }
    }
    Ok(swept)
}

/// A store over an engine.
pub struct Opened<C> {
    cabinet: Arc<C>,
    capabilities: Capabilities,
}

impl<C: Cabinet> Opened<C> {
    /// Makes a store over an engine that was just opened.
    pub fn store(cabinet: C, capabilities: Capabilities) -> Box<dyn Store> {
        Box::new(Opened { cabinet: Arc::new(cabinet), capabilities })
    }
}

impl<C: Cabinet> Store for Opened<C> {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Immediate::session(plan, || Ok(Handle { cabinet: Arc::clone(&self.cabinet), buffers: Buffers::default() }))
    }

    fn threading(&self) -> Threading {
        Threading::PerClient
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(self.cabinet.facts())
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        Ok(Holding { keys: Some(self.cabinet.records()?), ..Holding::default() })
    }

    fn sweep(&self, sweep: Sweep, keys: &[&[u8]]) -> Result<Option<Swept>, StoreError> {
        let mut value = Vec::new();
        let swept = match sweep {
            Sweep::Look => each(keys, |key| self.cabinet.get(key, &mut value)),
            Sweep::Delete => self.cabinet.delete_many(keys),
        };
        Ok(Some(swept?))
    }

    fn maintenance(&self) -> Maintenance<'_> {
        self.cabinet.maintenance()
    }

    fn flush(&self) -> Result<(), StoreError> {
        match self.capabilities.durability {
            Durability::Commit => Ok(self.cabinet.sync()?),
            _ => Ok(()),
        }
    }
}

struct Handle<C> {
    cabinet: Arc<C>,
    buffers: Buffers,
}

impl<C: Cabinet> Handle<C> {
    fn carry_out(&mut self, operation: &Operation<'_>) -> Result<EmbeddedReply, Fault> {
        let done_or = |done, otherwise| if done { Reply::Done } else { otherwise };
        let (cabinet, buffers) = (&*self.cabinet, &mut self.buffers);
        let reply = match *operation {
            Operation::Get { key } if cabinet.get(key, &mut buffers.value)? => return Ok(EmbeddedReply::Value),
            Operation::GetVersioned { key } if cabinet.get(key, &mut buffers.value)? => {
                return Ok(EmbeddedReply::Versioned);
            }
            Operation::Get { .. } | Operation::GetVersioned { .. } => Reply::Missing,
            Operation::Put { key, value } => {
                cabinet.put(key, value)?;
                Reply::Done
            }
            Operation::Append { key, value } => {
                cabinet.append(key, value)?;
                Reply::Done
            }
            Operation::Delete { key } => done_or(cabinet.delete(key)?, Reply::Missing),
            Operation::Increment { key, by } => Reply::Number(cabinet.increment(key, by, &mut buffers.value)?),
            Operation::GetCounter { key } => match cabinet.get(key, &mut buffers.value)? {
                true => Reply::Number(cabinet.count(&buffers.value)?),
                false => Reply::Missing,
            },
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => {
                done_or(cabinet.put_absent(key, value)?, Reply::Conflict)
            }
            Operation::CompareAndSet { key, expected: Expected::Present { value: seen, .. }, value } => {
                done_or(cabinet.replace(key, seen, value)?, Reply::Conflict)
            }
            Operation::PutMany { pairs } => {
                cabinet.put_many(pairs)?;
                Reply::Done
            }
            Operation::IncrementField { .. }
            | Operation::GetFields { .. }
            | Operation::GetMany { .. }
            | Operation::Scan { .. }
            | Operation::PutTtl { .. }
            | Operation::Touch { .. }
            | Operation::TimeLeft { .. }
            | Operation::Command { .. }
            | Operation::Sql { .. } => {
                return Err(Fault(format!("this engine has no {}", operation.kind().name())));
            }
        };
        Ok(EmbeddedReply::Own(reply))
    }
}

impl<C: Cabinet> SyncStore for Handle<C> {
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        let outcome = self.carry_out(operation);
        self.buffers.reply(outcome)
    }
}
