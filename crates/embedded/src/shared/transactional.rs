//! Every operation of a key/value store, on any ordered engine that has atomic writes (LMDB, redb, fjall, LevelDB, RocksDB, Berkeley DB).
//!
//! The adapter gives three spaces of byte keys and two views: [`ReadView`], and [`WriteView`] which ends with a commit. Each operation
//! is one such view, opened and closed, so one operation is one transaction of the engine. Append, increment, compare-and-set
//! and the counters of a record read and write within that one transaction: no other client comes between. Compare-and-set
//! compares values (the version in its replies is 0).
//!
//! Counters are 8 bytes, little-endian, in a space of their own. A field of a record of counters lies under the record's key
//! length (2 bytes, big-endian), its key and the field's name, so that no record's fields mix with another's. Deleting a key
//! deletes what is under it in all spaces.

mod held;
mod opened;
mod swept;

pub use held::held;
pub use opened::Opened;
pub use swept::swept;

use crate::shared::embedded::{Buffers, EmbeddedReply, Fault};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::immediate::SyncStore;
use store::{Capabilities, Expected, Facts, Maintenance, Operation, Reply, StoreError};
use study::Durability;

/// The spaces of keys an engine keeps apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Values by key.
    Values,
    /// Counters by key.
    Counters,
    /// Counters by key and field.
    Fields,
}

impl Space {
    /// All spaces, in the order of their numbers.
    pub const ALL: [Space; 3] = [Space::Values, Space::Counters, Space::Fields];

    /// Returns the name of the space's table.
    pub fn name(self) -> &'static str {
        match self {
            Space::Values => "kvtrial-values",
            Space::Counters => "kvtrial-counters",
            Space::Fields => "kvtrial-fields",
        }
    }
}

/// The next step of a scan: whether the scan goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// The next row, please.
    Yes,
    /// Enough.
    No,
}

/// A consistent view to read from.
pub trait ReadView {
    /// Hands the value to `found`, when there is one.
    fn get<T>(&self, space: Space, key: &[u8], found: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Fault>;

    /// Hands rows to `row` in byte order of keys, from `start` on, until `row` wants no more.
    fn scan(&self, space: Space, start: &[u8], row: impl FnMut(&[u8], &[u8]) -> More) -> Result<(), Fault>;
}

/// A view to read and write, that nobody else writes to meanwhile. Dropped without commit, it leaves no trace.
pub trait WriteView: ReadView {
    /// Stores a value.
    fn put(&mut self, space: Space, key: &[u8], value: &[u8]) -> Result<(), Fault>;

    /// Removes a key, and returns whether there was one.
    fn delete(&mut self, space: Space, key: &[u8]) -> Result<bool, Fault>;

    /// Ends the view. Its writes are acknowledged at the level of durability the store was opened with.
    fn commit(self) -> Result<(), Fault>;
}

/// An open engine, shared by all threads.
pub trait Engine: Send + Sync + 'static {
    /// The engine's view to read from.
    type Reader<'e>: ReadView;
    /// The engine's view to write to.
    type Writer<'e>: WriteView;

    /// Returns the facts that the engine reports about itself, opened at this level of durability.
    fn facts(&self, durability: Durability) -> Result<Facts, StoreError>;

    /// Makes acknowledged writes as durable as the level demands, where commits do not.
    fn flush(&self, _: Durability) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns whether an operation failed because of another one, left no trace, and is to be done again.
    fn again(&self, _: &Fault) -> bool {
        false
    }

    /// Returns the number of operations that were done again.
    fn resent(&self) -> u64 {
        0
    }

    /// Returns the work that the engine does on its files when told to.
    fn maintenance(&self) -> Maintenance<'_> {
        Maintenance::default()
    }

    /// Opens a view to read from.
    fn reader(&self) -> Result<Self::Reader<'_>, Fault>;

    /// Opens a view to write under a key. Waits for other writers: at least those of that key, and all of them where the engine has one writer.
    fn writer(&self, key: &[u8]) -> Result<Self::Writer<'_>, Fault>;

    /// Stores one value, for engines that have a shorter way than a view.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let mut writer = self.writer(key)?;
        writer.put(Space::Values, key, value)?;
        writer.commit()
    }

    /// Adds to the end of a value, for engines that have a shorter way than a view. The scratch buffer may be used.
    fn append(&self, key: &[u8], more: &[u8], scratch: &mut Vec<u8>) -> Result<(), Fault> {
        let mut writer = self.writer(key)?;
        scratch.clear();
        writer.get(Space::Values, key, |found| scratch.extend_from_slice(found))?;
        scratch.extend_from_slice(more);
        writer.put(Space::Values, key, scratch)?;
        writer.commit()
    }

    /// Stores several values in one view, for engines that have a shorter way.
    fn put_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), Fault> {
        let mut writer = self.writer(b"")?;
        for (key, value) in pairs {
            writer.put(Space::Values, key, value)?;
        }
        writer.commit()
    }
}

/// An engine, and the state that all its handles share.
pub struct Shared<E> {
    /// The engine.
    pub engine: E,
    /// Whether there may be counters. Deleting a key deletes its counters too, but looks for counters only then.
    counted: AtomicBool,
}

impl<E: Engine> Shared<E> {
    /// Wraps an engine that was just opened.
    pub fn new(engine: E) -> Result<Shared<E>, Fault> {
        let counted = AtomicBool::new(false);
        for space in [Space::Counters, Space::Fields] {
            engine.reader()?.scan(space, b"", |_, _| {
                counted.store(true, Ordering::Relaxed);
                More::No
            })?;
        }
        Ok(Shared { engine, counted })
    }
}

/// A client's handle.
pub struct Handle<E> {
    shared: Arc<Shared<E>>,
    min_key_bytes: usize,
    max_key_bytes: usize,
    path: Vec<u8>,
    buffers: Buffers,
}

impl<E: Engine> Handle<E> {
    /// Makes a handle on the engine, with the key limits that `limits` declares.
    pub fn new(shared: Arc<Shared<E>>, limits: &Capabilities) -> Handle<E> {
        Handle {
            shared,
            min_key_bytes: limits.min_key_bytes,
            max_key_bytes: limits.max_key_bytes,
            path: Vec::new(),
            buffers: Buffers::default(),
        }
    }

    fn check(&self, key: &[u8]) -> Result<(), Fault> {
        if (self.min_key_bytes..=self.max_key_bytes).contains(&key.len()) {
            return Ok(());
        }
        let (min, max) = (self.min_key_bytes, self.max_key_bytes);
        Err(Fault(format!("key of {} bytes; this store takes {min} to {max}", key.len())))
    }

    /// Copies a value into the handle's buffer, and returns whether there is one.
    fn read(&mut self, key: &[u8]) -> Result<bool, Fault> {
        let value = &mut self.buffers.value;
        value.clear();
        Ok(self.shared.engine.reader()?.get(Space::Values, key, |found| value.extend_from_slice(found))?.is_some())
    }

    fn delete(&mut self, key: &[u8]) -> Result<Reply<'static>, Fault> {
        let mut writer = self.shared.engine.writer(key)?;
        let mut found = writer.delete(Space::Values, key)?;
        if self.shared.counted.load(Ordering::Relaxed) {
            found |= writer.delete(Space::Counters, key)?;
            if record_prefix(&mut self.path, key, self.max_key_bytes) {
                found |= delete_fields(&mut writer, &self.path)?;
            }
        }
        if !found {
            return Ok(Reply::Missing);
        }
        writer.commit()?;
        Ok(Reply::Done)
    }

    fn compare_and_set(&self, key: &[u8], expected: &Expected<'_>, value: &[u8]) -> Result<Reply<'static>, Fault> {
        let mut writer = self.shared.engine.writer(key)?;
        let as_expected = match expected {
            Expected::Absent => writer.get(Space::Values, key, |_| ())?.is_none(),
            Expected::Present { value: seen, .. } => {
                writer.get(Space::Values, key, |found| found == *seen)?.unwrap_or(false)
            }
        };
        if !as_expected {
            return Ok(Reply::Conflict);
        }
        writer.put(Space::Values, key, value)?;
        writer.commit()?;
        Ok(Reply::Done)
    }

    /// Adds to the counter at a path, which is under a key.
    fn increment(&self, space: Space, key: &[u8], path: &[u8], by: i64) -> Result<i64, Fault> {
        self.shared.counted.store(true, Ordering::Relaxed);
        let mut writer = self.shared.engine.writer(key)?;
        let before = writer.get(space, path, count)?.transpose()?.unwrap_or(0);
        let after = before.checked_add(by).ok_or("the counter would leave the range of 64-bit integers")?;
        writer.put(space, path, &after.to_le_bytes())?;
        writer.commit()?;
        Ok(after)
    }

    fn increment_field(&mut self, key: &[u8], field: &[u8], by: i64) -> Result<i64, Fault> {
        let max = self.max_key_bytes;
        if !record_prefix(&mut self.path, key, max.saturating_sub(field.len())) {
            let bytes = key.len() + field.len();
            return Err(Fault(format!("key and field of {bytes} bytes; this store takes {} together", max - 2)));
        }
        self.path.extend_from_slice(field);
        self.increment(Space::Fields, key, &self.path, by)
    }

    fn get_fields(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.buffers.rows.clear();
        if !record_prefix(&mut self.path, key, self.max_key_bytes) {
            return Ok(());
        }
        let (rows, mut unreadable) = (&mut self.buffers.rows, None);
        let prefix = &self.path;
        self.shared.engine.reader()?.scan(Space::Fields, prefix, |path, value| {
            let Some(field) = path.strip_prefix(&prefix[..]) else { return More::No };
            match count(value) {
                Ok(count) => rows.push(field, count.to_string().as_bytes()),
                Err(fault) => unreadable = Some(fault),
            }
            More::Yes
        })?;
        unreadable.map_or(Ok(()), Err)
    }

    fn get_many(&mut self, keys: &[&[u8]]) -> Result<(), Fault> {
        self.buffers.rows.clear();
        let reader = self.shared.engine.reader()?;
        for key in keys {
            self.check(key)?;
            let rows = &mut self.buffers.rows;
            reader.get(Space::Values, key, |value| rows.push(key, value))?;
        }
        Ok(())
    }

    fn put_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), Fault> {
        for (key, _) in pairs {
            self.check(key)?;
        }
        self.shared.engine.put_many(pairs)
    }

    fn scan(&mut self, start: &[u8], limit: u32) -> Result<(), Fault> {
        self.buffers.rows.clear();
        if limit == 0 {
            return Ok(());
        }
        let rows = &mut self.buffers.rows;
        self.shared.engine.reader()?.scan(Space::Values, start, |key, value| {
            rows.push(key, value);
            if rows.rows().len() < limit as usize { More::Yes } else { More::No }
        })
    }

    fn carry_out(&mut self, operation: &Operation<'_>) -> Result<EmbeddedReply, Fault> {
        let own = |reply| Ok(EmbeddedReply::Own(reply));
        match *operation {
            Operation::Get { key } => {
                self.check(key)?;
                if self.read(key)? { Ok(EmbeddedReply::Value) } else { own(Reply::Missing) }
            }
            Operation::GetVersioned { key } => {
                self.check(key)?;
                if self.read(key)? { Ok(EmbeddedReply::Versioned) } else { own(Reply::Missing) }
            }
            Operation::Put { key, value } => {
                self.check(key)?;
                self.shared.engine.put(key, value)?;
                own(Reply::Done)
            }
            Operation::Delete { key } => {
                self.check(key)?;
                own(self.delete(key)?)
            }
            Operation::Append { key, value } => {
                self.check(key)?;
                self.shared.engine.append(key, value, &mut self.buffers.value)?;
                own(Reply::Done)
            }
            Operation::Increment { key, by } => {
                self.check(key)?;
                own(Reply::Number(self.increment(Space::Counters, key, key, by)?))
            }
            Operation::GetCounter { key } => {
                self.check(key)?;
                let found = self.shared.engine.reader()?.get(Space::Counters, key, count)?.transpose()?;
                own(found.map_or(Reply::Missing, Reply::Number))
            }
            Operation::IncrementField { key, field, by } => own(Reply::Number(self.increment_field(key, field, by)?)),
            Operation::CompareAndSet { key, ref expected, value } => {
                self.check(key)?;
                own(self.compare_and_set(key, expected, value)?)
            }
            Operation::PutMany { pairs } => {
                self.put_many(pairs)?;
                own(Reply::Done)
            }
            Operation::GetFields { key } => self.get_fields(key).map(|()| EmbeddedReply::Rows),
            Operation::GetMany { keys } => self.get_many(keys).map(|()| EmbeddedReply::Rows),
            Operation::Scan { start, limit } => self.scan(start, limit).map(|()| EmbeddedReply::Rows),
            Operation::PutTtl { .. }
            | Operation::Touch { .. }
            | Operation::TimeLeft { .. }
            | Operation::Command { .. }
            | Operation::Sql { .. } => own(Reply::Failed(store::Failure::Refused(store::NOTHING_EXPIRES))),
        }
    }
}

/// Writes the beginning of the paths of all fields of a record; false when the key is too long to have any.
fn record_prefix(path: &mut Vec<u8>, key: &[u8], max_key_bytes: usize) -> bool {
    let Ok(bytes) = u16::try_from(key.len()) else { return false };
    path.clear();
    path.extend_from_slice(&bytes.to_be_bytes());
    path.extend_from_slice(key);
    path.len() <= max_key_bytes
}

/// Deletes all counters of a record, and returns whether there were any.
fn delete_fields(writer: &mut impl WriteView, prefix: &[u8]) -> Result<bool, Fault> {
    let mut paths = Vec::new();
    writer.scan(Space::Fields, prefix, |path, _| {
        if !path.starts_with(prefix) {
            return More::No;
        }
        paths.push(path.to_vec());
        More::Yes
    })?;
    for path in &paths {
        writer.delete(Space::Fields, path)?;
    }
    Ok(!paths.is_empty())
}

/// Reads a stored counter.
fn count(stored: &[u8]) -> Result<i64, Fault> {
    Ok(i64::from_le_bytes(stored.try_into().map_err(|_| "a stored counter is not 8 bytes long")?))
}

impl<E: Engine> SyncStore for Handle<E> {
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        let mut outcome = self.carry_out(operation);
        while outcome.as_ref().is_err_and(|fault| self.shared.engine.again(fault)) {
            outcome = self.carry_out(operation);
        }
        self.buffers.reply(outcome)
    }
}
