//! The thread that writes to the store what clients have left in memory.

use super::entries::WriteBack;
use super::memory::Memory;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use store::{BlockingClient, Operation, OperationKind, OwnedFailure, OwnedReply, Store, StoreError};

/// Writes in flight at once, where they are not one request.
const PIPELINE: u32 = 64;
/// Longest time a write may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The running thread. Dropped, it writes all that waits, and ends.
pub struct Flusher {
    memory: Arc<Memory>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    /// Starts it.
    pub fn start(store: Arc<dyn Store>, memory: Arc<Memory>, interval: Duration) -> Result<Flusher, StoreError> {
        let shared = Arc::clone(&memory);
        let run = move || {
            let mut client = match BlockingClient::open(&*store, PIPELINE, PATIENCE) {
                Ok(client) => client,
                Err(error) => return shared.fail(format!("the cache could not reach the store: {error}")),
            };
            let together = store.capabilities().has(OperationKind::PutMany);
            while let Some(batch) = shared.next(interval) {
                match write(&mut client, &batch, together) {
                    Ok(()) => shared.stored(&batch),
                    Err(words) => shared.fail(format!("the store refused what the cache had acknowledged: {words}")),
                }
            }
        };
        let thread = Builder::new().name("cache".into()).spawn(run);
        let thread = thread.map_err(|error| StoreError::open("the thread of the cache", error))?;
        Ok(Flusher { memory, thread: Some(thread) })
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.memory.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic was printed where it happened
        }
    }
}

/// Writes entries: values in one request where the store has one, else side by side.
fn write(client: &mut BlockingClient, batch: &[WriteBack], together: bool) -> Result<(), String> {
    let mut operations = Vec::with_capacity(batch.len());
    let mut pairs: Vec<(&[u8], &[u8])> = Vec::new();
    for WriteBack { key, value, .. } in batch {
        match value {
            Some(value) if together => pairs.push((key, value)),
            Some(value) => operations.push(Operation::Put { key, value }),
            None => operations.push(Operation::Delete { key }),
        }
    }
    if !pairs.is_empty() {
        operations.push(Operation::PutMany { pairs: &pairs });
    }
    for reply in client.pipelined(&operations).map_err(|error| error.to_string())? {
        match reply {
            OwnedReply::Done | OwnedReply::Missing => {}
            OwnedReply::Failed(OwnedFailure::Deadline) => return Err("no reply within a minute".into()),
            OwnedReply::Failed(failure) => return Err(failure.as_failure().words().into()),
            other => return Err(format!("an unexpected reply to a write: {other:?}")),
        }
    }
    Ok(())
}
