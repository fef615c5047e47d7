//! One client of a check: sends operations and compares every reply with what must come.

use crate::fault::{Stop, difference, excerpt};
use crate::subject::Subject;
use crate::written::{KeyLedger, Owner};
use jobkit::{Offence, printable};
use std::sync::atomic::Ordering;
use store::{BlockingClient, Expected, Operation, OwnedFailure, OwnedReply};
use study::ReasonKind;

/// A connection to the store under check.
pub struct Probe<'a> {
    subject: &'a Subject<'a>,
    client: BlockingClient,
}

/// A reply that must come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Must<'a> {
    /// `Done`.
    BeDone,
    /// `Done`, or the bytes the value must have now, where the store says how many.
    Grow(i64),
    /// The value.
    Hold(&'a [u8]),
    /// `Missing`.
    Miss,
    /// A number.
    Count(i64),
    /// Rows: exactly these, in this order.
    List(&'a [(&'a [u8], &'a [u8])]),
}

impl<'a> Probe<'a> {
    pub fn new(subject: &'a Subject<'a>, client: BlockingClient) -> Probe<'a> {
        Probe { subject, client }
    }

    /// Sends one operation; a refusal is handed back, any other failure ends the case.
    pub fn attempt(&mut self, operation: &Operation<'_>) -> Result<OwnedReply, Stop> {
        let reply = self.send(std::slice::from_ref(operation))?.pop().unwrap_or(OwnedReply::Missing);
        match &reply {
            OwnedReply::Failed(OwnedFailure::Refused(_)) => {}
            OwnedReply::Failed(_) => return Err(Offence::failed(first_key(operation), &reply.as_reply()).into()),
            _ => {}
        }
        Ok(reply)
    }

    /// Sends one operation; any failure ends the case.
    pub fn ask(&mut self, operation: &Operation<'_>) -> Result<OwnedReply, Stop> {
        let reply = self.attempt(operation)?;
        match reply {
            OwnedReply::Failed(_) => Err(Offence::failed(first_key(operation), &reply.as_reply()).into()),
            reply => Ok(reply),
        }
    }

    /// Sends one operation that must have this reply.
    pub fn must(&mut self, operation: Operation<'_>, must: Must<'_>) -> Result<(), Stop> {
        self.all_must(&[(operation, must)])
    }

    /// Sends operations, as many in flight as the pipeline allows, each of which must have its reply. None of them may
    /// write what another reads or writes, as stores may carry them out in any order.
    pub fn all_must(&mut self, script: &[(Operation<'_>, Must<'_>)]) -> Result<(), Stop> {
        let operations: Vec<_> = script.iter().map(|(operation, _)| *operation).collect();
        let replies = self.send(&operations)?;
        let outcomes = script.iter().zip(&replies);
        let judged = outcomes.filter_map(|((operation, must), reply)| self.judge(operation, *must, reply).err());
        let mut stops: Vec<Stop> = judged.collect();
        // A wrong answer says more than the connection that was lost, or the deadline that passed, with it.
        let telling = stops.iter().position(|stop| !stop.is_breakdown());
        match telling.or(if stops.is_empty() { None } else { Some(0) }) {
            Some(at) => Err(stops.swap_remove(at)),
            None => Ok(()),
        }
    }

    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Stop> {
        self.must(Operation::Put { key, value }, Must::BeDone)
    }

    pub fn holds(&mut self, key: &[u8], value: &[u8]) -> Result<(), Stop> {
        self.must(Operation::Get { key }, Must::Hold(value))
    }

    pub fn misses(&mut self, key: &[u8]) -> Result<(), Stop> {
        self.must(Operation::Get { key }, Must::Miss)
    }

    pub fn delete(&mut self, key: &[u8]) -> Result<(), Stop> {
        self.must(Operation::Delete { key }, Must::BeDone)
    }

    /// Appends to a value, which must then have `whole_bytes` bytes.
    pub fn append(&mut self, key: &[u8], value: &[u8], whole_bytes: usize) -> Result<(), Stop> {
        self.must(Operation::Append { key, value }, Must::Grow(whole_bytes as i64))
    }

    /// Appends to a value others append to as well.
    pub fn append_beside_others(&mut self, key: &[u8], value: &[u8]) -> Result<(), Stop> {
        match self.ask(&Operation::Append { key, value })? {
            OwnedReply::Done | OwnedReply::Number(_) => Ok(()),
            other => Err(Offence::failed(key, &other.as_reply()).into()),
        }
    }

    /// Reads a value of which it is only known that it must exist.
    pub fn value(&mut self, key: &[u8]) -> Result<Vec<u8>, Stop> {
        match self.ask(&Operation::Get { key })? {
            OwnedReply::Value(value) => Ok(value),
            OwnedReply::Missing => Err(Stop::wrong(ReasonKind::UnexpectedMiss, key, "expected a value, got a miss")),
            other => Err(Offence::failed(key, &other.as_reply()).into()),
        }
    }

    /// Adds to a counter and returns its new count.
    pub fn increment(&mut self, key: &[u8], by: i64) -> Result<i64, Stop> {
        match self.ask(&Operation::Increment { key, by })? {
            OwnedReply::Number(number) => Ok(number),
            other => Err(Offence::failed(key, &other.as_reply()).into()),
        }
    }

    /// Reads a key for a compare-and-set: value and version, or `None` when it is missing.
    pub fn versioned(&mut self, key: &[u8]) -> Result<Option<(Vec<u8>, u64)>, Stop> {
        match self.ask(&Operation::GetVersioned { key })? {
            OwnedReply::Versioned { value, version } => Ok(Some((value, version))),
            OwnedReply::Missing => Ok(None),
            other => Err(Offence::failed(key, &other.as_reply()).into()),
        }
    }

    /// Reads a key that must hold `value`, and returns its version.
    pub fn version_of(&mut self, key: &[u8], value: &[u8]) -> Result<u64, Stop> {
        match self.versioned(key)? {
            Some((got, version)) if got == value => Ok(version),
            Some((got, _)) => Err(wrong_value(&self.subject.ledger, key, value, &got)),
            None => Err(missed(key, value)),
        }
    }

    /// Sends a compare-and-set; returns whether it was stored (`Done`) or not (`Conflict`).
    pub fn compare_and_set(&mut self, key: &[u8], expected: Expected<'_>, value: &[u8]) -> Result<Swap, Stop> {
        match self.ask(&Operation::CompareAndSet { key, expected, value })? {
            OwnedReply::Done => Ok(Swap::Stored),
            OwnedReply::Conflict => Ok(Swap::Conflict),
            other => Err(Offence::failed(key, &other.as_reply()).into()),
        }
    }

    /// Sends operations and waits for their replies, failures among them.
    pub fn send(&mut self, operations: &[Operation<'_>]) -> Result<Vec<OwnedReply>, Stop> {
        if self.subject.is_stopped() {
            return Err(Stop::Skipped("the check was interrupted".into()));
        }
        for operation in operations {
            self.enter(operation);
        }
        self.subject.operations.fetch_add(operations.len() as u64, Ordering::Relaxed);
        let replies = self.client.pipelined(operations);
        replies.map_err(|error| match operations.first() {
            Some(operation) => Stop::wrong(ReasonKind::ConnectionLost, first_key(operation), error.to_string()),
            None => Stop::keyless(ReasonKind::ConnectionLost, error.to_string()),
        })
    }

    /// Enters what is about to be written into the ledger.
    fn enter(&self, operation: &Operation<'_>) {
        let ledger = &self.subject.ledger;
        match operation {
            Operation::Put { key, value } | Operation::CompareAndSet { key, value, .. } => ledger.write(key, value),
            Operation::PutMany { pairs } => pairs.iter().for_each(|(key, value)| ledger.write(key, value)),
            Operation::Append { key, .. }
            | Operation::Increment { key, .. }
            | Operation::IncrementField { key, .. } => {
                ledger.touch(key);
            }
            _ => {}
        }
    }

    fn judge(&self, operation: &Operation<'_>, must: Must<'_>, reply: &OwnedReply) -> Result<(), Stop> {
        let key = first_key(operation);
        let ledger = &self.subject.ledger;
        match (must, reply) {
            (Must::BeDone | Must::Grow(_), OwnedReply::Done) | (Must::Miss, OwnedReply::Missing) => Ok(()),
            (Must::Grow(expected), OwnedReply::Number(got)) if *got == expected => Ok(()),
            (Must::Grow(expected), OwnedReply::Number(got)) => {
                let seen = format!("expected {expected} bytes after the append, the store says {got}");
                Err(Stop::wrong(ReasonKind::WrongNumber, key, seen))
            }
            (Must::Hold(expected), OwnedReply::Value(got)) if got == expected => Ok(()),
            (Must::Hold(expected), OwnedReply::Value(got)) => Err(wrong_value(ledger, key, expected, got)),
            (Must::Hold(expected), OwnedReply::Missing) => Err(missed(key, expected)),
            (Must::Miss, OwnedReply::Value(got)) => Err(match ledger.owner(key, got) {
                Owner::OtherKey(other) => another_keys(key, "a miss", &other),
                _ => Stop::wrong(ReasonKind::UnexpectedHit, key, format!("expected a miss, got {}", excerpt(got, 0))),
            }),
            (Must::Miss, OwnedReply::Done) => {
                Err(Stop::wrong(ReasonKind::UnexpectedHit, key, "deleted a key that did not exist"))
            }
            (Must::BeDone | Must::Grow(_), OwnedReply::Missing) => {
                Err(Stop::wrong(ReasonKind::UnexpectedMiss, key, "expected done, got a miss"))
            }
            (Must::Count(expected), OwnedReply::Number(got)) if *got == expected => Ok(()),
            (Must::Count(expected), OwnedReply::Number(got)) => {
                Err(Stop::wrong(ReasonKind::WrongNumber, key, format!("expected {expected}, got {got}")))
            }
            (Must::Count(expected), OwnedReply::Missing) => {
                Err(Stop::wrong(ReasonKind::UnexpectedMiss, key, format!("expected {expected}, got a miss")))
            }
            (Must::List(expected), OwnedReply::Rows(rows)) => {
                let got: Vec<_> = rows.rows().iter().collect();
                same_rows(ledger, key, expected, &got)
            }
            (_, other) => Err(Offence::failed(key, &other.as_reply()).into()),
        }
    }
}

/// The result of a compare-and-set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swap {
    /// The new value was stored.
    Stored,
    /// The key was not as expected.
    Conflict,
}

/// The key an operation is named by.
fn first_key<'a>(operation: &Operation<'a>) -> &'a [u8] {
    operation.keys().next().unwrap_or_default()
}

fn missed(key: &[u8], expected: &[u8]) -> Stop {
    Stop::wrong(ReasonKind::UnexpectedMiss, key, format!("expected {}, got a miss", excerpt(expected, 0)))
}

fn another_keys(key: &[u8], expected: &str, other: &[u8]) -> Stop {
    Stop::wrong(ReasonKind::WrongKey, key, format!("expected {expected}, got the value of key {}", printable(other)))
}

/// Returns the failure of a value that is not the expected one.
pub fn wrong_value(ledger: &KeyLedger, key: &[u8], expected: &[u8], got: &[u8]) -> Stop {
    match ledger.owner(key, got) {
        Owner::OtherKey(other) => another_keys(key, &excerpt(expected, 0), &other),
        Owner::SameKey => {
            let seen = format!("got an earlier value: {}", difference(expected, got));
            Stop::wrong(ReasonKind::StaleValue, key, seen)
        }
        Owner::Nobody => Stop::wrong(ReasonKind::WrongValue, key, difference(expected, got)),
    }
}

/// Compares rows in order; the first that differs is the failure.
fn same_rows(
    ledger: &KeyLedger,
    asked: &[u8],
    expected: &[(&[u8], &[u8])],
    got: &[(&[u8], &[u8])],
) -> Result<(), Stop> {
    for (&(key, value), &(got_key, got_value)) in expected.iter().zip(got) {
        if key != got_key {
            let kind = if expected.iter().any(|(known, _)| *known == got_key) {
                if got.iter().any(|(found, _)| *found == key) {
                    ReasonKind::WrongKey
                } else {
                    ReasonKind::UnexpectedMiss
                }
            } else {
                ReasonKind::UnexpectedHit
            };
            return Err(Stop::wrong(
                kind,
                key,
                format!("the row that came in its place is of key {}", printable(got_key)),
            ));
        }
        if value != got_value {
            return Err(wrong_value(ledger, key, value, got_value));
        }
    }
    match (expected.get(got.len()), got.get(expected.len())) {
        (Some((key, value)), _) => Err(missed(key, value)),
        (None, Some((key, value))) => {
            let seen = format!("an unexpected row with {}, asked for {}", excerpt(value, 0), printable(asked));
            Err(Stop::wrong(ReasonKind::UnexpectedHit, key, seen))
        }
        (None, None) => Ok(()),
    }
}
