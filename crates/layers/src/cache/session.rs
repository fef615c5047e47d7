//! A session that asks the memory first, and the store only for what is not there.

use super::entries::{CachedReply, Value};
use super::memory::Memory;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::task::{Context, Poll};
use store::{
    Abandoned, Capabilities, Expected, Failure, Heed, Operation, OperationKind, OwnedReply, Reply, Session,
    SessionPlan, Sink, Slot, StoreError, Until,
};

/// A session over a session.
pub struct CachedSession {
    beneath: Box<dyn Session>,
    memory: Arc<Memory>,
    limits: Capabilities,
    /// By slot: the operation that waits for its key from the store.
    pending: Vec<Option<Pending>>,
    /// What the reply handed out last borrows from.
    held: Held,
}

#[derive(Default)]
struct Held {
    value: Value,
    words: String,
}

impl Held {
    /// The answer as a reply.
    fn reply(&mut self, answer: CachedReply) -> Reply<'_> {
        match answer {
            CachedReply::Value(value) => {
                self.value = value;
                Reply::Value(&self.value)
            }
            CachedReply::Versioned(value) => {
                self.value = value;
                Reply::Versioned { value: &self.value, version: 0 }
            }
            CachedReply::Missing => Reply::Missing,
            CachedReply::Done => Reply::Done,
            CachedReply::Conflict => Reply::Conflict,
            CachedReply::Failed(words) => {
                self.words = words;
                Reply::Failed(Failure::Refused(&self.words))
            }
        }
    }
}

/// An operation that outlives the call it came with.
struct Pending {
    kind: OperationKind,
    key: Vec<u8>,
    value: Vec<u8>,
    seen: Option<Vec<u8>>,
}

impl Pending {
    fn of(operation: &Operation<'_>) -> Pending {
        let (key, value, seen): (&[u8], &[u8], Option<&[u8]>) = match *operation {
            Operation::Get { key } | Operation::GetVersioned { key } | Operation::Delete { key } => (key, b"", None),
            Operation::Append { key, value } => (key, value, None),
            Operation::CompareAndSet { key, expected, value } => match expected {
                Expected::Absent => (key, value, None),
                Expected::Present { value: seen, .. } => (key, value, Some(seen)),
            },
            _ => (b"", b"", None),
        };
        Pending { kind: operation.kind(), key: key.into(), value: value.into(), seen: seen.map(Into::into) }
    }

    fn operation(&self) -> Operation<'_> {
        let (key, value) = (&self.key[..], &self.value[..]);
        match self.kind {
            OperationKind::GetVersioned => Operation::GetVersioned { key },
            OperationKind::Delete => Operation::Delete { key },
            OperationKind::Append => Operation::Append { key, value },
            OperationKind::CompareAndSet => {
                let expected = match &self.seen {
                    None => Expected::Absent,
                    Some(value) => Expected::Present { version: 0, value },
                };
                Operation::CompareAndSet { key, expected, value }
            }
            _ => Operation::Get { key },
        }
    }

    /// The operation, with what the store said of its key.
    fn end(&self, memory: &Memory, reply: &Reply<'_>) -> CachedReply {
        let found = match *reply {
            Reply::Value(value) | Reply::Versioned { value, .. } => Ok(Some(value)),
            Reply::Missing => Ok(None),
            Reply::Failed(failure) => Err(failure.words().to_owned()),
            other => Err(format!("an unexpected reply to a get: {:?}", OwnedReply::from(other))),
        };
        memory.fetched(&self.operation(), found)
    }
}

impl CachedSession {
    /// Makes a session of a plan over one of the same plan.
    pub fn new(
        beneath: Box<dyn Session>,
        memory: Arc<Memory>,
        limits: &Capabilities,
        plan: SessionPlan,
    ) -> CachedSession {
        let pending = (0..plan.slots().max(1)).map(|_| None).collect();
        CachedSession { beneath, memory, limits: limits.clone(), pending, held: Held::default() }
    }

    /// What the store would refuse later has to be refused now.
    fn refused(&self, key: &[u8], value: &[u8]) -> Option<CachedReply> {
        let Capabilities { min_key_bytes: min, max_key_bytes: max, max_value_bytes, .. } = self.limits;
        if !(min..=max).contains(&key.len()) {
            return Some(CachedReply::Failed(format!("key of {} bytes; this store takes {min} to {max}", key.len())));
        }
        if self.limits.value_limit_is_hard && value.len() > max_value_bytes {
            let words = format!("value of {} bytes; this store takes {max_value_bytes}", value.len());
            return Some(CachedReply::Failed(words));
        }
        None
    }

    fn refusal(&self, operation: &Operation<'_>) -> Option<CachedReply> {
        match *operation {
            Operation::Put { key, value }
            | Operation::Append { key, value }
            | Operation::CompareAndSet { key, value, .. } => self.refused(key, value),
            Operation::Get { key } | Operation::GetVersioned { key } | Operation::Delete { key } => {
                self.refused(key, b"")
            }
            Operation::PutMany { pairs } => pairs.iter().find_map(|(key, value)| self.refused(key, value)),
            _ => None,
        }
    }
}

/// What is announced ([`Session::expect`]) is not passed on: what is asked of the store is what is not in the cache, and when.
#[deny(clippy::missing_trait_methods)]
impl Session for CachedSession {
    fn submit(&mut self, slot: Slot, operation: &Operation<'_>) -> Result<Option<Reply<'_>>, StoreError> {
        if let Some(answer) = self.refusal(operation).or_else(|| self.memory.begin(operation)) {
            return Ok(Some(self.held.reply(answer)));
        }
        let pending = Pending::of(operation);
        let get = Operation::Get { key: &pending.key };
        match self.beneath.submit(slot, &get) {
            Ok(Some(reply)) => {
                let answer = pending.end(&self.memory, &reply);
                Ok(Some(self.held.reply(answer)))
            }
            Ok(None) => {
                self.pending[slot as usize] = Some(pending);
                Ok(None)
            }
            Err(error) => {
                self.memory.abandon(&pending.key);
                Err(error)
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, until: Until, sink: &mut dyn Sink) -> Poll<Result<(), StoreError>> {
        let mut through = Through { memory: &self.memory, pending: &mut self.pending, held: &mut self.held, sink };
        self.beneath.poll(cx, until, &mut through)
    }

    fn abandon(&mut self, slot: Slot, sink: &mut dyn Sink) -> Abandoned {
        let mut through = Through { memory: &self.memory, pending: &mut self.pending, held: &mut self.held, sink };
        self.beneath.abandon(slot, &mut through)
    }

    fn expect(&mut self, _: Slot, _: OperationKind, _: &[u8]) -> Heed {
        Heed::Ignored
    }

    fn rest(&mut self, _: Slot) {}

    fn descriptor(&mut self) -> io::Result<Option<BorrowedFd<'_>>> {
        Ok(None)
    }

    store::pass_on!(beneath: believe, parts, part, reconnected, take_head_of_line, executor);
}

impl Drop for CachedSession {
    fn drop(&mut self) {
        for pending in self.pending.drain(..).flatten() {
            self.memory.abandon(&pending.key);
        }
    }
}

/// Completes operations as their keys come from the store.
struct Through<'a> {
    memory: &'a Memory,
    pending: &'a mut [Option<Pending>],
    held: &'a mut Held,
    sink: &'a mut dyn Sink,
}

impl Sink for Through<'_> {
    fn arrived(&mut self) {
        self.sink.arrived();
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        match self.pending.get_mut(slot as usize).and_then(Option::take) {
            Some(pending) => {
                let answer = pending.end(self.memory, reply);
                self.sink.reply(slot, &self.held.reply(answer));
            }
            None => self.sink.reply(slot, reply), // nobody asked for it: the engine will say so
        }
    }
}
