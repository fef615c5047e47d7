//! Reads every value back and compares it with the one made again from the input.

use super::doubt::{AppendsFound, judge};
use super::trial::{AppendTrial, Found};
use data::append::{Event, KEY_BYTES, RECORD_BYTES};
use jobkit::{Doubt, Offence, Step, Worker};
use std::ops::Range;
use std::sync::PoisonError;
use store::{Operation, Reply, Slot};
use study::{ReasonKind, whole};

/// A thread's slots that read back. Key number k of those to be read is read by slot k modulo slots.
pub struct ReadBack<'a> {
    trial: &'a AppendTrial<'a>,
    slots: Vec<SlotState>,
    found: Found,
    expected: Vec<u8>,
    scratch: Vec<(u64, u64)>,
}

struct SlotState {
    /// Number of the key in flight or next.
    number: u64,
    key: [u8; KEY_BYTES],
}

impl<'a> ReadBack<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a AppendTrial<'a>, slots: Range<Slot>) -> ReadBack<'a> {
        let one_in = trial.job.verify.one_in();
        ReadBack {
            trial,
            slots: slots.map(|slot| SlotState { number: u64::from(slot) * one_in, key: [0; KEY_BYTES] }).collect(),
            found: Found::default(),
            expected: Vec::new(),
            scratch: Vec::new(),
        }
    }
}

impl Drop for ReadBack<'_> {
    fn drop(&mut self) {
        self.trial.take(std::mem::take(&mut self.found));
    }
}

impl Worker for ReadBack<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let events = &self.trial.job.events;
        let state = &mut self.slots[slot as usize];
        if state.number >= events.keys() {
            return Step::Finished;
        }
        state.key = Event { id: events.id(state.number), fields: 0 }.key();
        Step::Operation(Operation::Get { key: &state.key })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let ReadBack { trial, slots, found, expected, scratch } = self;
        let state = &mut slots[slot as usize];
        let id = u64::from_be_bytes(state.key);
        trial.job.events.value(state.number, scratch, expected);
        expected.truncate(expected.len() - trial.left_out(id) * RECORD_BYTES);
        state.number += u64::from(trial.slots) * trial.job.verify.one_in();
        match reply {
            Reply::Value(value) if *value == expected.as_slice() => {
                match trial.left_out(id) {
                    0 => found.right(value),
                    _ => found.wrong(id, Some(value)), // right as far as it goes
                }
                explained(trial, found, id, value, expected);
                Ok(())
            }
            Reply::Value(value) => {
                found.wrong(id, Some(value));
                if explained(trial, found, id, value, expected) {
                    return Ok(());
                }
                Err(diagnose(&state.key, value, expected))
            }
            Reply::Missing if expected.is_empty() => {
                found.wrong(id, None); // nothing of it was ever sent
                Ok(())
            }
            Reply::Missing => {
                found.wrong(id, None);
                if explained(trial, found, id, &[], expected) {
                    return Ok(());
                }
                let seen =
                    format!("missing at the end; it has {} records", whole((expected.len() / RECORD_BYTES) as u64));
                Err(Offence::new(ReasonKind::UnexpectedMiss, &state.key, seen))
            }
            other => Err(Offence::failed(&state.key, other)),
        }
    }
}

/// Whether a value is what it must be, but for appends that failed. What became of all is added to what was found.
fn explained(trial: &AppendTrial<'_>, found: &mut Found, id: u64, value: &[u8], expected: &[u8]) -> bool {
    if value == expected && trial.doubts.read().unwrap_or_else(PoisonError::into_inner).is_empty() {
        return true;
    }
    let (right, _) = expected.as_chunks::<RECORD_BYTES>();
    let doubts = trial.doubts.read().unwrap_or_else(PoisonError::into_inner);
    let judged = match doubts.get(&id) {
        Some(doubt) => judge(doubt, value, right),
        None => judge(&Doubt::default(), value, right),
    };
    match judged {
        AppendsFound::Explained(account) => {
            found.account.merge(account);
            true
        }
        AppendsFound::Lost(account) => {
            found.account.merge(account);
            false
        }
        AppendsFound::Otherwise => false,
    }
}

/// Records that are missing were lost; anything else is a wrong value.
#[cold]
fn diagnose(key: &[u8], value: &[u8], expected: &[u8]) -> Offence {
    let (records, rest) = value.as_chunks::<RECORD_BYTES>();
    let (right, _) = expected.as_chunks::<RECORD_BYTES>();
    let mut left = right.iter();
    if rest.is_empty() && records.iter().all(|record| left.any(|known| known == record)) {
        let seen = format!("{} of {} records are there", whole(records.len() as u64), whole(right.len() as u64));
        return Offence::new(ReasonKind::LostUpdates, key, seen);
    }
    let at =
        value.iter().zip(expected).position(|(found, right)| found != right).unwrap_or(expected.len().min(value.len()));
    let seen = format!("{} bytes where {} are right, different from byte {at} on", value.len(), expected.len());
    Offence::new(ReasonKind::WrongValue, key, seen)
}
