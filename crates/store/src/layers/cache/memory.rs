//! What the cache holds, and what of it still has to be written.

use crate::{Expected, Operation};
use hashlink::LinkedHashMap;
use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes an entry takes beside key and value, about.
const OVERHEAD_BYTES: u64 = 128;
/// Most entries, and bytes, that are written at once.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 1 << 20;

/// A value, as many hold it.
pub type Value = Arc<Vec<u8>>;
type Key = Arc<[u8]>;

/// What is known of a key.
#[derive(Clone, Debug)]
enum Content {
    /// Nothing yet: it is being fetched.
    Unknown,
    /// There is no such key.
    Absent,
    /// Its value.
    Value(Value),
}

struct Entry {
    content: Content,
    /// Counts changes. What is in the store is `stored`; equal when nothing has to be written.
    version: u64,
    stored: u64,
    /// Whether its key is in the queue.
    queued: bool,
    /// Operations that wait for its value from the store.
    fetching: u32,
}

impl Entry {
    fn bytes(&self, key: &[u8]) -> u64 {
        let value = if let Content::Value(value) = &self.content { value.len() } else { 0 };
        (key.len() + value) as u64 + OVERHEAD_BYTES
    }

    fn waits(&self) -> bool {
        self.version != self.stored
    }
}

/// One entry to write: a value, or nothing where the key is to be deleted.
pub struct Job {
    /// The key.
    pub key: Key,
    /// Its value.
    pub value: Option<Value>,
    version: u64,
}

/// What an operation comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Value(Value),
    Versioned(Value),
    Missing,
    Done,
    Conflict,
    Failed(String),
}

#[derive(Default)]
struct State {
    /// What may be forgotten, used longest ago first.
    clean: LinkedHashMap<Key, Entry>,
    /// What may not: it has to be written, or is being fetched.
    held: HashMap<Key, Entry>,
    /// Keys to write, changed longest ago first.
    queue: VecDeque<Key>,
    bytes: u64,
    waiting_bytes: u64,
    /// Entries that are being written.
    writing: usize,
    /// How many of the queue have to be written now.
    due: usize,
    closing: bool,
    failed: Option<String>,
}

/// The memory, shared by all sessions and the thread that writes.
pub struct Memory {
    state: Mutex<State>,
    capacity_bytes: u64,
    /// Something is to be written.
    work: Condvar,
    /// Something was written.
    written: Condvar,
}

impl Memory {
    pub fn new(capacity_bytes: u64) -> Memory {
        Memory { state: Mutex::default(), capacity_bytes, work: Condvar::new(), written: Condvar::new() }
    }

    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out an operation in memory; `None` when its key has to be fetched, after which [`Memory::fetched`] must be called.
    pub fn begin(&self, operation: &Operation<'_>) -> Option<Answer> {
        let mut state = self.lock();
        if let Some(words) = &state.failed {
            return Some(Answer::Failed(words.clone()));
        }
        let answer = match *operation {
            Operation::Put { key, value } => {
                state.write(key, Content::Value(Arc::new(value.to_vec())));
                Answer::Done
            }
            Operation::PutMany { pairs } => {
                for (key, value) in pairs {
                    state.write(key, Content::Value(Arc::new(value.to_vec())));
                }
                Answer::Done
            }
            _ => state.act(key_of(operation), operation).or_else(|| {
                state.fetch(key_of(operation));
                None
            })?,
        };
        self.make_room(state);
        Some(answer)
    }

    /// Carries out an operation whose key was fetched: there was a value, there was none, or the store said why not.
    pub fn fetched(&self, operation: &Operation<'_>, found: Result<Option<&[u8]>, String>) -> Answer {
        let key = key_of(operation);
        let mut state = self.lock();
        let answer = match found {
            Err(words) => Answer::Failed(words),
            Ok(found) => {
                state.learn(key, found);
                match state.act(key, operation) {
                    Some(answer) => answer,
                    None => Answer::Failed("the cache has lost a key that was being fetched".into()),
                }
            }
        };
        state.fetch_ended(key);
        self.make_room(state);
        answer
    }

    /// An operation will never be told what its key has.
    pub fn abandon(&self, key: &[u8]) {
        self.lock().fetch_ended(key);
    }

    /// Forgets what may be forgotten, and waits for writes as long as that is not enough.
    fn make_room(&self, mut state: MutexGuard<'_, State>) {
        if state.waiting_bytes > self.capacity_bytes / 2 && state.due < state.queue.len() {
            state.due = state.queue.len();
            self.work.notify_one();
        }
        loop {
            while state.bytes > self.capacity_bytes && state.forget_one() {}
            if state.bytes <= self.capacity_bytes || state.waiting_bytes == 0 || state.failed.is_some() {
                return;
            }
            state.due = state.queue.len();
            self.work.notify_one();
            state = self.written.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What to write next; waits for it. Within every interval all that waited at its end becomes due. `None` at the end.
    pub fn next(&self, interval: Duration) -> Option<Vec<Job>> {
        let mut state = self.lock();
        let mut deadline = Instant::now() + interval;
        loop {
            if state.failed.is_some() {
                return None;
            }
            if state.closing {
                state.due = state.queue.len();
            }
            if state.due > 0 && !state.queue.is_empty() {
                return Some(state.take());
            }
            state.due = 0;
            if state.closing {
                return None;
            }
            let now = Instant::now();
            if now >= deadline {
                state.due = state.queue.len();
                deadline = now + interval;
                continue;
            }
            state = self.work.wait_timeout(state, deadline - now).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The store has what was to be written.
    pub fn stored(&self, jobs: &[Job]) {
        let mut state = self.lock();
        for job in jobs {
            state.stored(job);
        }
        state.writing = 0;
        drop(state);
        self.written.notify_all();
    }

    /// The store refused: what was acknowledged is lost, so nothing is done any more.
    pub fn fail(&self, words: String) {
        self.lock().failed.get_or_insert(words);
        self.written.notify_all();
    }

    /// Ends writing, once all that waits is written.
    pub fn close(&self) {
        self.lock().closing = true;
        self.work.notify_one();
    }

    /// Waits until all is written, then forgets it.
    pub fn write_all(&self) -> Result<(), String> {
        let mut state = self.lock();
        loop {
            if let Some(words) = &state.failed {
                return Err(words.clone());
            }
            if state.queue.is_empty() && state.writing == 0 {
                break;
            }
            state.due = state.queue.len();
            self.work.notify_one();
            state = self.written.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        while state.forget_one() {}
        Ok(())
    }
}

#[cfg(test)]
impl Memory {
    pub fn waits(&self) -> bool {
        !self.lock().queue.is_empty()
    }

    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    pub fn forget_one(&self) -> bool {
        self.lock().forget_one()
    }

    /// Sums are those of the entries, and each entry is where it belongs.
    pub fn check_sums(&self) {
        let state = self.lock();
        let all = || state.clean.iter().chain(state.held.iter());
        assert_eq!(state.bytes, all().map(|(key, entry)| entry.bytes(key)).sum::<u64>());
        let waiting = all().filter(|(_, entry)| entry.waits());
        assert_eq!(state.waiting_bytes, waiting.map(|(key, entry)| entry.bytes(key)).sum::<u64>());
        assert!(state.clean.values().all(|entry| !entry.waits() && !entry.queued && entry.fetching == 0));
    }
}

impl State {
    fn entry(&mut self, key: &[u8]) -> Option<&mut Entry> {
        if self.clean.contains_key(key) {
            return self.clean.to_back(key);
        }
        self.held.get_mut(key)
    }

    /// Carries out an operation on what is known of its key; `None` when nothing is.
    fn act(&mut self, key: &[u8], operation: &Operation<'_>) -> Option<Answer> {
        if let Operation::Append { value, .. } = operation {
            return self.append(key, value);
        }
        let entry = self.entry(key)?;
        let now = match &entry.content {
            Content::Unknown => return None,
            Content::Absent => None,
            Content::Value(value) => Some(value),
        };
        let (answer, after) = match (*operation, now) {
            (Operation::Get { .. }, Some(value)) => return Some(Answer::Value(Arc::clone(value))),
            (Operation::GetVersioned { .. }, Some(value)) => return Some(Answer::Versioned(Arc::clone(value))),
            (Operation::Get { .. } | Operation::GetVersioned { .. } | Operation::Delete { .. }, None) => {
                return Some(Answer::Missing);
            }
            (Operation::Delete { .. }, Some(_)) => (Answer::Done, Content::Absent),
            (Operation::CompareAndSet { expected: Expected::Absent, value, .. }, None) => {
                (Answer::Done, Content::Value(Arc::new(value.to_vec())))
            }
            (Operation::CompareAndSet { expected: Expected::Present { value: seen, .. }, value, .. }, Some(now))
                if now[..] == *seen =>
            {
                (Answer::Done, Content::Value(Arc::new(value.to_vec())))
            }
            (Operation::CompareAndSet { .. }, _) => return Some(Answer::Conflict),
            _ => return Some(Answer::Failed(format!("the cache has no {}", operation.kind().name()))),
        };
        self.write(key, after);
        Some(answer)
    }

    /// Changes an entry, or makes it; it has to be written.
    fn write(&mut self, key: &[u8], content: Content) {
        let (key, mut entry) = self.take_out(key);
        entry.content = content;
        self.changed(key, entry);
    }

    /// Adds to the end of a value, in place unless somebody still has it as it was.
    fn append(&mut self, key: &[u8], more: &[u8]) -> Option<Answer> {
        if matches!(self.entry(key)?.content, Content::Unknown) {
            return None;
        }
        let (key, mut entry) = self.take_out(key);
        match &mut entry.content {
            Content::Value(value) => Arc::make_mut(value).extend_from_slice(more),
            content => *content = Content::Value(Arc::new(more.to_vec())),
        }
        self.changed(key, entry);
        Some(Answer::Done)
    }

    /// Takes an entry out of the sums, or makes one.
    fn take_out(&mut self, key: &[u8]) -> (Key, Entry) {
        let found = self.clean.remove_entry(key).or_else(|| self.held.remove_entry(key));
        let Some((key, entry)) = found else {
            let entry = Entry { content: Content::Unknown, version: 0, stored: 0, queued: false, fetching: 0 };
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

    fn fetch(&mut self, key: &[u8]) {
        let (key, mut entry) = self.take_out(key);
        entry.fetching += 1;
        self.put_back(key, entry);
    }

    /// What the store has, unless something newer is known.
    fn learn(&mut self, key: &[u8], found: Option<&[u8]>) {
        let (key, mut entry) = self.take_out(key);
        if let Content::Unknown = entry.content {
            entry.content = found.map_or(Content::Absent, |value| Content::Value(Arc::new(value.to_vec())));
        }
        self.put_back(key, entry);
    }

    fn fetch_ended(&mut self, key: &[u8]) {
        let (key, mut entry) = self.take_out(key);
        entry.fetching = entry.fetching.saturating_sub(1);
        if matches!(entry.content, Content::Unknown) && entry.fetching == 0 {
            return;
        }
        self.put_back(key, entry);
    }

    fn forget_one(&mut self) -> bool {
        let Some((key, entry)) = self.clean.pop_front() else { return false };
        self.bytes -= entry.bytes(&key);
        true
    }

    /// The next entries of the queue, to be written.
    fn take(&mut self) -> Vec<Job> {
        let (mut jobs, mut bytes) = (Vec::new(), 0);
        while self.due > 0 && jobs.len() < BATCH && bytes < BATCH_BYTES {
            let Some(key) = self.queue.pop_front() else { break };
            self.due -= 1;
            let Some(entry) = self.held.get_mut(&key) else { continue };
            entry.queued = false;
            let value = if let Content::Value(value) = &entry.content { Some(Arc::clone(value)) } else { None };
            bytes += key.len() + value.as_ref().map_or(0, |value| value.len());
            jobs.push(Job { version: entry.version, key, value });
        }
        self.writing = jobs.len();
        jobs
    }

    fn stored(&mut self, job: &Job) {
        let (key, mut entry) = self.take_out(&job.key);
        entry.stored = job.version;
        self.put_back(key, entry);
    }
}

/// The key of an operation that has one.
fn key_of<'a>(operation: &Operation<'a>) -> &'a [u8] {
    match *operation {
        Operation::Get { key }
        | Operation::GetVersioned { key }
        | Operation::Put { key, .. }
        | Operation::Delete { key }
        | Operation::Append { key, .. }
        | Operation::CompareAndSet { key, .. } => key,
        _ => b"",
    }
}
