//! The questions: one operation each, with what it needs before it.

use super::KEY_PREFIX;
use crate::{
    BlockingClient, Counter, Expected, Operation, OperationKind, Overflow, OwnedFailure, OwnedReply, Store, StoreError,
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time one answer may take. A server that does not know a command may say nothing at all.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most bytes of one answer; the values asked for are short.
const ANSWER_BYTES: u64 = 1 << 20;

const VALUE: &[u8] = b"a value";

/// The time to live that is tried, in ms: longer than the questions take.
const LIFE_MS: u64 = 60_000;

/// The place of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counters {
    /// A place among the values: a delete removes a counter.
    Among,
    /// A place of their own, where no operation would remove the counter that was tried. The adapter has made that place, so it knows what counting
    /// does there.
    Apart,
}

/// The range of counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// A range up to these bounds, with this behaviour beyond them.
    To(Counter),
    /// A range of less than 31 bits.
    Short,
    /// A wrong count: the question, the answer and the expected answer.
    Wrong(String),
}

/// A server's refusal in its words.
type Refusal = String;

/// One server, and the keys written there so far.
pub(super) struct Questions<'a> {
    store: &'a dyn Store,
    client: Option<BlockingClient>,
    prefix: String,
    written: Vec<Vec<u8>>,
}

impl<'a> Questions<'a> {
    pub(super) fn new(store: &'a dyn Store) -> Questions<'a> {
        // Of this moment and this process, so that nobody else writes the same keys, and none is there already.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let prefix = format!("{KEY_PREFIX}{:016x}:", now ^ u64::from(std::process::id()).rotate_left(40));
        Questions { store, client: None, prefix, written: Vec::new() }
    }

    /// Tries get, put and delete.
    pub(super) fn basics(&mut self) -> Result<(), (OperationKind, Refusal)> {
        let key = self.key("a");
        let none = self.key("none");
        for operation in [
            Operation::Get { key: &none },
            Operation::Put { key: &key, value: VALUE },
            Operation::Get { key: &key },
            Operation::Delete { key: &none },
        ] {
            self.ask(&operation).map_err(|words| (operation.kind(), words))?;
        }
        Ok(())
    }

    /// Returns where the server keeps counters. Only a server that keeps them apart answers `Missing` for a counter under the key of a plain value.
    pub(super) fn counters(&mut self) -> Counters {
        let there = self.key("a");
        match self.ask(&Operation::GetCounter { key: &there }) {
            Ok(OwnedReply::Missing) => Counters::Apart,
            _ => Counters::Among,
        }
    }

    /// Returns whether the server has an operation beside the basic ones; if not, why.
    ///
    /// # Errors
    /// The server does not even answer a get any more: then nothing is known.
    pub(super) fn has(&mut self, kind: OperationKind) -> Result<Result<(), Refusal>, StoreError> {
        let answer = self.tries(kind);
        if answer.is_err() {
            let key = self.key("a");
            self.ask(&Operation::Get { key: &key }).map_err(|words| {
                StoreError::Session(format!(
                    "the server no longer answers, after it was asked for {}: {words}",
                    kind.name()
                ))
            })?;
        }
        Ok(answer)
    }

    fn tries(&mut self, kind: OperationKind) -> Result<(), Refusal> {
        let (there, none) = (self.key("a"), self.key("none"));
        let fresh = self.key(kind.name());
        match kind {
            OperationKind::GetVersioned | OperationKind::CompareAndSet => self.swaps(&there, &fresh)?,
            OperationKind::Append => {
                self.ask(&Operation::Append { key: &fresh, value: VALUE })?;
                self.ask(&Operation::Append { key: &fresh, value: VALUE })?;
            }
            OperationKind::Increment => {
                self.ask(&Operation::Increment { key: &fresh, by: 5 })?;
                self.ask(&Operation::Increment { key: &fresh, by: -2 })?;
            }
            OperationKind::GetCounter => drop(self.ask(&Operation::GetCounter { key: &none })?),
            OperationKind::IncrementField => {
                drop(self.ask(&Operation::IncrementField { key: &fresh, field: b"f", by: 1 })?)
            }
            OperationKind::GetFields => drop(self.ask(&Operation::GetFields { key: &none })?),
            OperationKind::GetMany => drop(self.ask(&Operation::GetMany { keys: &[&there, &none] })?),
            OperationKind::PutMany => {
                let other = self.key("put_many too");
                self.ask(&Operation::PutMany { pairs: &[(&fresh, VALUE), (&other, VALUE)] })?;
            }
            OperationKind::Scan => drop(self.ask(&Operation::Scan { start: &there, limit: 1 })?),
            OperationKind::PutTtl => {
                drop(self.ask(&Operation::PutTtl { key: &fresh, value: VALUE, ttl_ms: LIFE_MS })?)
            }
            OperationKind::TimeLeft => drop(self.ask(&Operation::TimeLeft { key: &none })?),
            OperationKind::Touch => drop(self.ask(&Operation::Touch { key: &none, ttl_ms: LIFE_MS })?),
            OperationKind::Get
            | OperationKind::Put
            | OperationKind::Delete
            | OperationKind::Command
            | OperationKind::Sql => {}
        }
        Ok(())
    }

    /// Tries each way to compare: with an absent value, with the value that was read, and with a value that is gone.
    fn swaps(&mut self, there: &[u8], fresh: &[u8]) -> Result<(), Refusal> {
        let read = self.ask(&Operation::GetVersioned { key: there })?;
        let (version, value) = match read {
            OwnedReply::Versioned { version, value } => (version, value),
            _ => (1, VALUE.to_vec()),
        };
        let was = Expected::Present { version, value: &value };
        self.ask(&Operation::CompareAndSet { key: fresh, expected: was, value: VALUE })?;
        self.ask(&Operation::CompareAndSet { key: there, expected: was, value: VALUE })?;
        self.ask(&Operation::CompareAndSet { key: fresh, expected: Expected::Absent, value: VALUE }).map(drop)
    }

    /// Returns how far counters really go, and how they behave beyond.
    pub(super) fn bounds(&mut self, declared: Counter) -> Reach {
        for (by, right) in [(5, 5), (7, 12), (-2, 10)] {
            match self.count("small", by) {
                Ok(number) if number != right => {
                    return Reach::Wrong(format!("a counter incremented by {by} answered {number}, must be {right}"));
                }
                _ => {}
            }
        }
        self.reach(declared).map_or(Reach::Short, Reach::To)
    }

    fn reach(&mut self, declared: Counter) -> Option<Counter> {
        let below = self.count("lower", -1);
        let min = if below == Ok(-1) { declared.min.min(-1) } else { 0 };
        let reached = [declared.max, i64::from(u32::MAX), i64::from(i32::MAX)];
        let max = reached
            .into_iter()
            .find(|max| *max <= declared.max && self.count(&format!("to {max}"), *max) == Ok(*max))?;
        let key = format!("to {max}");
        let overflow = match self.count(&key, 1) {
            Err(_) => Overflow::Refused,
            Ok(beyond) if beyond == max => Overflow::Saturates,
            Ok(beyond) if beyond == min && self.count(&key, -1) == Ok(max) => Overflow::Wraps,
            Ok(_) => Overflow::Undefined,
        };
        Some(Counter { min, max, overflow })
    }

    fn count(&mut self, name: &str, by: i64) -> Result<i64, Refusal> {
        let key = self.key(name);
        match self.ask(&Operation::Increment { key: &key, by })? {
            OwnedReply::Number(number) => Ok(number),
            other => Err(format!("{other:?}")),
        }
    }

    /// Deletes everything that was written. Keys that cannot be deleted now were refused or lost before.
    pub(super) fn clean(&mut self) {
        let mut written = std::mem::take(&mut self.written);
        written.sort_unstable();
        written.dedup();
        for key in written {
            let _ = self.ask(&Operation::Delete { key: &key });
        }
    }

    fn key(&self, name: &str) -> Vec<u8> {
        format!("{}{name}", self.prefix).into_bytes()
    }

    /// Sends one operation. After a failure the next gets a new connection: a server may answer a request it does not know twice, or
    /// take the value behind it for another.
    fn ask(&mut self, operation: &Operation<'_>) -> Result<OwnedReply, Refusal> {
        match operation {
            Operation::Put { key, .. }
            | Operation::PutTtl { key, .. }
            | Operation::CompareAndSet { key, .. }
            | Operation::Append { key, .. }
            | Operation::Increment { key, .. }
            | Operation::IncrementField { key, .. } => self.written.push(key.to_vec()),
            Operation::PutMany { pairs } => self.written.extend(pairs.iter().map(|(key, _)| key.to_vec())),
            _ => {}
        }
        let mut client = match self.client.take() {
            Some(client) => client,
            None => {
                BlockingClient::believing(ANSWER_BYTES, self.store, 1, PATIENCE).map_err(|error| error.to_string())?
            }
        };
        let reply = client.execute(operation).map_err(|error| error.to_string())?;
        match reply {
            OwnedReply::Failed(OwnedFailure::Protocol(words)) => {
                Err(format!("its answer is not one to this request: expected {words}"))
            }
            OwnedReply::Failed(OwnedFailure::Deadline) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
            OwnedReply::Failed(failure) => Err(failure.as_failure().words().into()),
            reply => {
                self.client = Some(client);
                Ok(reply)
            }
        }
    }
}
