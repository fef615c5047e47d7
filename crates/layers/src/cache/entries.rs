//! Entries of the cache: what is known of each key, which of them have to be written, and what they take.

use hashlink::LinkedHashMap;
use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::Arc;
use store::{Expected, Operation};

/// Bytes an entry takes beside key and value, about.
const OVERHEAD_BYTES: u64 = 128;
/// Most entries, and bytes, that are written at once.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 1 << 20;

/// A value, as many hold it.
pub type Value = Arc<Vec<u8>>;
/// A key, as several places hold it.
pub type Key = Arc<[u8]>;

/// The content of a cache entry.
#[derive(Clone, Debug)]
pub enum EntryContent {
    /// Nothing yet: it is being fetched.
    Unknown,
    /// There is no such key.
    Absent,
    /// The value of the key.
    Value(Value),
}

pub struct Entry {
    pub content: EntryContent,
    /// Counts changes. What is in the store is `stored`; equal when nothing has to be written.
    version: u64,
    stored: u64,
    /// Whether its key is in the queue.
    pub queued: bool,
    /// Operations that wait for its value from the store.
    pub fetching: u32,
}

impl Entry {
    /// Returns the bytes of memory the entry takes.
    pub fn bytes(&self, key: &[u8]) -> u64 {
        let value = if let EntryContent::Value(value) = &self.content { value.len() } else { 0 };
        (key.len() + value) as u64 + OVERHEAD_BYTES
    }

    /// Returns whether it has to be written.
    pub fn waits(&self) -> bool {
        self.version != self.stored
    }
}

/// An entry to write back: a value, or nothing where the key is to be deleted.
pub struct WriteBack {
    /// The key.
    pub key: Key,
    /// The value.
    pub value: Option<Value>,
    version: u64,
}

/// The result of an operation in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CachedReply {
    Value(Value),
    Versioned(Value),
    Missing,
    Done,
    Conflict,
    Failed(String),
}

/// All entries, and sums over them.
#[derive(Default)]
pub struct State {
    /// What may be forgotten, used longest ago first.
    pub clean: LinkedHashMap<Key, Entry>,
    /// What may not: it has to be written, or is being fetched.
    pub held: HashMap<Key, Entry>,
    /// Keys to write, changed longest ago first.
    pub queue: VecDeque<Key>,
    pub bytes: u64,
    pub waiting_bytes: u64,
    /// Entries that are being written.
    pub writing: usize,
    /// How many of the queue have to be written now.
    pub due: usize,
    pub closing: bool,
    pub failed: Option<String>,
}

impl State {
    fn entry(&mut self, key: &[u8]) -> Option<&mut Entry> {
        if self.clean.contains_key(key) {
            return self.clean.to_back(key);
        }
        self.held.get_mut(key)
    }

    /// Carries out an operation on what is known of its key; `None` when nothing is.
    pub fn act(&mut self, key: &[u8], operation: &Operation<'_>) -> Option<CachedReply> {
        if let Operation::Append { value, .. } = operation {
            return self.append(key, value);
        }
        let entry = self.entry(key)?;
        let now = match &entry.content {
            EntryContent::Unknown => return None,
            EntryContent::Absent => None,
            EntryContent::Value(value) => Some(value),
        };
        let (reply, after) = match (*operation, now) {
            (Operation::Get { .. }, Some(value)) => return Some(CachedReply::Value(Arc::clone(value))),
            (Operation::GetVersioned { .. }, Some(value)) => return Some(CachedReply::Versioned(Arc::clone(value))),
            (Operation::Get { .. } | Operation::GetVersioned { .. } | Operation::Delete { .. }, None) => {
                return Some(CachedReply::Missing);
            }
            (Operation::Delete { .. }, Some(_)) => (CachedReply::Done, EntryContent::Absent),
            (Operation::CompareAndSet { expected: Expected::Absent, value, .. }, None) => {
                (CachedReply::Done, EntryContent::Value(Arc::new(value.to_vec())))
            }
            (Operation::CompareAndSet { expected: Expected::Present { value: seen, .. }, value, .. }, Some(now))
                if now[..] == *seen =>
            {
                (CachedReply::Done, EntryContent::Value(Arc::new(value.to_vec())))
            }
            (Operation::CompareAndSet { .. }, _) => return Some(CachedReply::Conflict),
            _ => return Some(CachedReply::Failed(format!("the cache has no {}", operation.kind().name()))),
        };
        self.write(key, after);
        Some(reply)
    }

    /// Changes an entry, or makes it; it has to be written.
    pub fn write(&mut self, key: &[u8], content: EntryContent) {
        let (key, mut entry) = self.take_out(key);
        entry.content = content;
        self.changed(key, entry);
    }

    /// Adds to the end of a value, in place unless somebody still has it as it was.
    fn append(&mut self, key: &[u8], more: &[u8]) -> Option<CachedReply> {
        if matches!(self.entry(key)?.content, EntryContent::Unknown) {
            return None;
        }
        let (key, mut entry) = self.take_out(key);
        match &mut entry.content {
            EntryContent::Value(value) => Arc::make_mut(value).extend_from_slice(more),
            content => *content = EntryContent::Value(Arc::new(more.to_vec())),
        }
        self.changed(key, entry);
        Some(CachedReply::Done)
    }

    /// Takes an entry out of the sums, or makes one.
    fn take_out(&mut self, key: &[u8]) -> (Key, Entry) {
        let found = self.clean.remove_entry(key).or_else(|| self.held.remove_entry(key));
        let Some((key, entry)) = found else {
            let entry = Entry { content: EntryContent::Unknown, version: 0, stored: 0, queued: false, fetching: 0 };
            return (key.into(), entry);
        };
        let bytes = entry.bytes(&key);
        self.bytes -= bytes;
        if entry.waits() {
            self.waiting_bytes -= bytes;
        }
        (key, entry)
    }

    /// Puts an entry back that has to be written.
    fn changed(&mut self, key: Key, mut entry: Entry) {
        entry.version += 1;
        if !mem::replace(&mut entry.queued, true) {
            self.queue.push_back(Arc::clone(&key));
        }
        self.put_back(key, entry);
    }

    /// Puts an entry where it belongs, and into the sums.
    fn put_back(&mut self, key: Key, entry: Entry) {
        let bytes = entry.bytes(&key);
        self.bytes += bytes;
        if entry.waits() {
            self.waiting_bytes += bytes;
        }
        if entry.waits() || entry.queued || entry.fetching > 0 {
            self.held.insert(key, entry);
        } else {
            self.clean.insert(key, entry);
        }
    }

    /// Notes that a client has to ask the store for a key.
    pub fn fetch(&mut self, key: &[u8]) {
        let (key, mut entry) = self.take_out(key);
        entry.fetching += 1;
        self.put_back(key, entry);
    }

    /// Takes the value that the store has, unless something newer is known.
    pub fn learn(&mut self, key: &[u8], found: Option<&[u8]>) {
        let (key, mut entry) = self.take_out(key);
        if let EntryContent::Unknown = entry.content {
            entry.content = found.map_or(EntryContent::Absent, |value| EntryContent::Value(Arc::new(value.to_vec())));
        }
        self.put_back(key, entry);
    }

    /// Notes that the client has asked the store, or never will.
    pub fn fetch_ended(&mut self, key: &[u8]) {
        let (key, mut entry) = self.take_out(key);
        entry.fetching = entry.fetching.saturating_sub(1);
        if matches!(entry.content, EntryContent::Unknown) && entry.fetching == 0 {
            return;
        }
        self.put_back(key, entry);
    }

    /// Forgets what was used longest ago; whether there was anything to forget.
    pub fn forget_one(&mut self) -> bool {
        let Some((key, entry)) = self.clean.pop_front() else { return false };
        self.bytes -= entry.bytes(&key);
        true
    }

    /// Returns the next entries of the queue, to be written.
    pub fn take(&mut self) -> Vec<WriteBack> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while self.due > 0 && batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some(key) = self.queue.pop_front() else { break };
            self.due -= 1;
            let Some(entry) = self.held.get_mut(&key) else { continue };
            entry.queued = false;
            let value = if let EntryContent::Value(value) = &entry.content { Some(Arc::clone(value)) } else { None };
            bytes += key.len() + value.as_ref().map_or(0, |value| value.len());
            batch.push(WriteBack { version: entry.version, key, value });
        }
        self.writing = batch.len();
        batch
    }

    /// Notes that the store has these writes.
    pub fn stored(&mut self, write_back: &WriteBack) {
        let (key, mut entry) = self.take_out(&write_back.key);
        entry.stored = write_back.version;
        self.put_back(key, entry);
    }
}
