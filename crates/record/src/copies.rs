//! The copies on their way from the relay to the tape: the relay leaves them and goes on, waking nobody; the tape comes for them many times per
//! second. So a round trip costs no switch to another thread.

use crate::chunk::{Chunk, Happened};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes that may wait: then the relay waits, too.
const MOST_BYTES: usize = 128 << 20;
/// Bytes for which the tape is woken before its time.
const MANY_BYTES: usize = 4 << 20;

/// Where copies wait.
#[derive(Default)]
pub(crate) struct Copies {
    waiting: Mutex<WaitingCopies>,
    /// There are many.
    many: Condvar,
    /// There is room again.
    room: Condvar,
}

#[derive(Default)]
struct WaitingCopies {
    chunks: Vec<Chunk>,
    bytes: usize,
    /// The tape takes no more.
    is_over: bool,
}

impl Copies {
    fn waiting(&self) -> MutexGuard<'_, WaitingCopies> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a copy; waits where too many bytes wait already.
    pub(crate) fn leave(&self, chunk: Chunk) {
        let mut waiting = self.waiting();
        while waiting.bytes > MOST_BYTES && !waiting.is_over {
            waiting = self.room.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        if waiting.is_over {
            return;
        }
        let before = waiting.bytes;
        waiting.bytes += match &chunk.what {
            Happened::Asked(bytes) | Happened::Answered(bytes) => bytes.len() + size_of::<Chunk>(),
            Happened::Opened | Happened::Closed => size_of::<Chunk>(),
            Happened::End => MANY_BYTES,
        };
        let many = before < MANY_BYTES && waiting.bytes >= MANY_BYTES;
        waiting.chunks.push(chunk);
        drop(waiting);
        if many {
            self.many.notify_one();
        }
    }

    /// Takes all there are into `chunks`, after this time, or sooner if there are many.
    pub(crate) fn take(&self, chunks: &mut Vec<Chunk>, after: Duration) {
        chunks.clear();
        let waiting = self.waiting();
        let waited = self.many.wait_timeout_while(waiting, after, |waiting| waiting.bytes < MANY_BYTES);
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut waiting.chunks, chunks);
        waiting.bytes = 0;
        drop(waiting);
        self.room.notify_all();
    }

    /// Takes no more: what is left from now on is dropped, and nobody waits.
    pub(crate) fn end(&self) {
        self.waiting().is_over = true;
        self.room.notify_all();
    }
}
