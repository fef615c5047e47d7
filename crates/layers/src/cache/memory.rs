//! The memory of the cache, as clients and the thread that writes share it.

use super::entries::{CachedReply, EntryContent, State, WriteBack};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::Operation;

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
    pub fn begin(&self, operation: &Operation<'_>) -> Option<CachedReply> {
        let mut state = self.lock();
        if let Some(words) = &state.failed {
            return Some(CachedReply::Failed(words.clone()));
        }
        let reply = match *operation {
            Operation::Put { key, value } => {
                state.write(key, EntryContent::Value(Arc::new(value.to_vec())));
                CachedReply::Done
            }
            Operation::PutMany { pairs } => {
                for (key, value) in pairs {
                    state.write(key, EntryContent::Value(Arc::new(value.to_vec())));
                }
                CachedReply::Done
            }
            _ => state.act(key_of(operation), operation).or_else(|| {
                state.fetch(key_of(operation));
                None
            })?,
        };
        self.make_room(state);
        Some(reply)
    }

    /// Carries out an operation whose key was fetched: there was a value, there was none, or the store said why not.
    pub fn fetched(&self, operation: &Operation<'_>, found: Result<Option<&[u8]>, String>) -> CachedReply {
        let key = key_of(operation);
        let mut state = self.lock();
        let reply = match found {
            Err(words) => CachedReply::Failed(words),
            Ok(found) => {
                state.learn(key, found);
                match state.act(key, operation) {
                    Some(reply) => reply,
                    None => CachedReply::Failed("the cache has lost a key that was being fetched".into()),
                }
            }
        };
        state.fetch_ended(key);
        self.make_room(state);
        reply
    }

    /// Notes that an operation will never learn what its key has.
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

    /// Returns the entries to write next; waits for them. Within every interval all that waited at its end becomes due. `None` at the end.
    pub fn next(&self, interval: Duration) -> Option<Vec<WriteBack>> {
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

    /// Notes that the store has these writes.
    pub fn stored(&self, batch: &[WriteBack]) {
        let mut state = self.lock();
        for write_back in batch {
            state.stored(write_back);
        }
        state.writing = 0;
        drop(state);
        self.written.notify_all();
    }

    /// Notes that the store refused: acknowledged writes are lost, so nothing is done any more.
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
