//! Every document read by its id, in requests of a hundred where the store has them; and each compared to the last byte.

use super::trial::BulkTrial;
use data::digest::hex_of_bytes;
use jobkit::{Offence, Offences, Step, Worker};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::PoisonError;
use store::{Capabilities, Operation, OperationKind, Reply, Slot};
use study::ReasonKind;

/// Documents of one request.
pub(super) const MANY: usize = 100;

/// Documents of a part of what is read, all by one slot.
pub(super) fn documents_of_part(store: &Capabilities) -> usize {
    if store.has(OperationKind::GetMany) { MANY } else { 1 }
}

/// A wrong document: the kind of fault, and what was seen.
pub type Wrong = (ReasonKind, String);

/// The documents of one thread's slots, asked for part by part. Part p is read by slot p modulo slots.
pub struct Reads<'a> {
    trial: &'a BulkTrial<'a>,
    part: usize,
    /// The first document of each slot's next part.
    next: Vec<usize>,
    keys: Vec<&'a [u8]>,
    /// What else was wrong in replies that had more than one wrong.
    more: Offences,
}

impl<'a> Reads<'a> {
    /// Makes the reads of these slots of the trial.
    pub fn new(trial: &'a BulkTrial<'a>, slots: Range<Slot>) -> Reads<'a> {
        let part = documents_of_part(&trial.capabilities);
        let next = slots.map(|slot| slot as usize * part).collect();
        Reads { trial, part, next, keys: Vec::with_capacity(part), more: Offences::default() }
    }

    /// The documents of the slot's part.
    fn range(&self, slot: Slot) -> Range<usize> {
        let first = self.next[slot as usize];
        first..(first + self.part).min(self.trial.input.documents.len())
    }

    /// Returns the slot's next request.
    pub fn next(&mut self, slot: Slot) -> Step<'_> {
        let documents = &self.trial.input.documents;
        let range = self.range(slot);
        if range.is_empty() {
            return Step::Finished;
        }
        if self.part == 1 {
            return Step::Operation(Operation::Get { key: documents.id(range.start) });
        }
        self.keys.clear();
        self.keys.extend(range.map(|at| documents.id(at)));
        Step::Operation(Operation::GetMany { keys: &self.keys })
    }

    /// Hands every document of the reply, or `None` where it is missing, to `judge`, with its number.
    pub fn reply(
        &mut self,
        slot: Slot,
        reply: &Reply<'_>,
        mut judge: impl FnMut(u32, Option<&[u8]>) -> Result<(), Wrong>,
    ) -> Result<(), Offence> {
        let documents = &self.trial.input.documents;
        let range = self.range(slot);
        self.next[slot as usize] += self.part * self.trial.slots as usize;
        let mut offences = Vec::new();
        let mut see = |at: usize, value: Option<&[u8]>| {
            if let Err((kind, seen)) = judge(at as u32, value) {
                offences.push(Offence::new(kind, documents.id(at), seen));
            }
        };
        match reply {
            Reply::Value(value) if self.part == 1 => see(range.start, Some(value)),
            Reply::Missing if self.part == 1 => see(range.start, None),
            Reply::Rows(rows) if self.part > 1 => {
                let mut rows = rows.iter().peekable();
                for at in range {
                    let value = rows.next_if(|(key, _)| *key == documents.id(at)).map(|(_, value)| value);
                    see(at, value);
                }
                if let Some((key, _)) = rows.next() {
                    offences.push(Offence::new(
                        ReasonKind::WrongKey,
                        key,
                        "answered, but not asked for, or out of order",
                    ));
                }
            }
            _ => {
                offences.push(Offence::failed(documents.id(range.start), reply));
            }
        }
        let mut offences = offences.into_iter();
        let first = offences.next();
        offences.for_each(|offence| self.more.add(offence));
        first.map_or(Ok(()), Err)
    }
}

impl Drop for Reads<'_> {
    fn drop(&mut self) {
        self.trial.more.lock().unwrap_or_else(PoisonError::into_inner).merge(std::mem::take(&mut self.more));
    }
}

/// Reads everything back.
pub struct ReadBack<'a> {
    trial: &'a BulkTrial<'a>,
    reads: Reads<'a>,
    /// Documents that are not as they must be: what they are, `None` when missing.
    otherwise: BTreeMap<u32, Option<[u8; 64]>>,
}

impl<'a> ReadBack<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a BulkTrial<'a>, slots: Range<Slot>) -> ReadBack<'a> {
        ReadBack { trial, reads: Reads::new(trial, slots), otherwise: BTreeMap::new() }
    }
}

impl Drop for ReadBack<'_> {
    fn drop(&mut self) {
        self.trial.otherwise.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.otherwise);
    }
}

impl Worker for ReadBack<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        self.reads.next(slot)
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let ReadBack { trial, reads, otherwise } = self;
        if !matches!(reply, Reply::Value(_) | Reply::Missing | Reply::Rows(_)) {
            otherwise.extend(reads.range(slot).map(|at| (at as u32, None)));
        }
        reads.reply(slot, reply, |at, value| {
            let expected = trial.input.documents.document(at as usize);
            match value {
                Some(value) if value == expected => {
                    trial.written.is_there(at.into());
                    Ok(())
                }
                Some(value) => {
                    otherwise.insert(at, Some(hex_of_bytes(value)));
                    Err((ReasonKind::WrongValue, difference(value, expected)))
                }
                None => {
                    otherwise.insert(at, None);
                    if trial.written.may_be_missing(at.into()) {
                        return Ok(());
                    }
                    Err((ReasonKind::UnexpectedMiss, "missing, after its write was acknowledged".into()))
                }
            }
        })
    }
}

/// Returns where a document differs from what it must be.
pub(super) fn difference(value: &[u8], expected: &[u8]) -> String {
    if value.len() != expected.len() {
        return format!("{} bytes, must be {}", value.len(), expected.len());
    }
    let at = value.iter().zip(expected).position(|(one, other)| one != other).unwrap_or(0);
    format!("byte {at} is wrong")
}
