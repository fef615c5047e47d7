//! Reads every key back: its final version must not be out of date.

use super::expiring::Read;
use super::judge;
use super::key::KEY_BYTES;
use super::lives::Lifetime;
use super::trial::YcsbTrial;
use super::value::version_in;
use super::versions::Sight;
use crate::witnessed::Telling;
use jobkit::{Offence, Step, Think, Worker};
use std::ops::Range;
use std::sync::PoisonError;
use store::{Operation, Reply, Slot};

/// A thread's slots that read back. Key i is read by slot i modulo slots; in a share, if it is the share's, and those that are beside its
/// numbers behind all others.
pub struct ReadBack<'a> {
    trial: &'a YcsbTrial<'a>,
    /// Of each slot: its key, or beyond all keys a place among those beside.
    next: Vec<u64>,
    beside: Vec<u64>,
    /// Of each slot: what was known of its key when it was asked for, where values have a time to live.
    asked: Vec<(Sight, Lifetime)>,
    key: [u8; KEY_BYTES],
    valid: u64,
}

impl<'a> ReadBack<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a YcsbTrial<'a>, slots: Range<Slot>) -> ReadBack<'a> {
        // Those beside are read by the share's first slots.
        let beside = if slots.start == trial.own.start { trial.keys.beside() } else { Vec::new() };
        let next: Vec<u64> = (0..).zip(slots).map(|(number, slot)| own_from(trial, slot.into(), number)).collect();
        ReadBack { trial, asked: vec![Default::default(); next.len()], next, beside, key: [0; KEY_BYTES], valid: 0 }
    }

    /// The key a slot reads now.
    fn id(&self, slot: Slot) -> Option<u64> {
        let (next, ids) = (self.next[slot as usize], self.trial.ledger.ids());
        if next < ids { Some(next) } else { self.beside.get((next - ids) as usize).copied() }
    }

    /// Gives a slot its next key.
    fn step(&mut self, slot: Slot) {
        let (next, ids) = (self.next[slot as usize], self.trial.ledger.ids());
        self.next[slot as usize] = match next < ids {
            true => own_from(self.trial, next + u64::from(self.trial.slots), slot.into()),
            false => next + self.next.len() as u64,
        };
    }
}

/// The first key of this share from `next` on in steps of all slots; beyond all keys the place of the thread's slot of that number.
fn own_from(trial: &YcsbTrial<'_>, mut next: u64, number: u64) -> u64 {
    let ids = trial.ledger.ids();
    while next < ids && !trial.keys.has(next) {
        next += u64::from(trial.slots);
    }
    if next < ids { next } else { ids + number }
}

impl Drop for ReadBack<'_> {
    fn drop(&mut self) {
        self.trial.verdicts.lock().unwrap_or_else(PoisonError::into_inner).valid += self.valid;
    }
}

impl Telling for ReadBack<'_> {
    #[inline]
    fn key_number(&self, slot: Slot) -> u64 {
        self.next[slot as usize]
    }

    #[inline]
    fn version(value: &[u8]) -> Option<u64> {
        version_in(value)
    }
}

impl Worker for ReadBack<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let Some(id) = self.id(slot) else { return Step::Finished };
        self.key = self.trial.ledger.names.key(id);
        if let Some(lives) = &self.trial.lives {
            let sight = self.trial.ledger.sight(id);
            self.asked[slot as usize] = (sight, lives.life(id));
        }
        Step::Operation(Operation::Get { key: &self.key })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let Some(id) = self.id(slot) else { return Ok(()) };
        self.step(slot);
        let sight = self.trial.ledger.sight(id);
        let judged = match &self.trial.lives {
            None => judge::read(&self.trial.values, &self.trial.ledger, id, sight, reply),
            Some(lives) => {
                let (sight, life) = self.asked[slot as usize];
                Read { trial: self.trial, lives, id, sight, life }.judge(reply).map(|_| ())
            }
        };
        if judged.is_ok() && sight.exists() && !sight.is_uncertain() {
            self.valid += 1;
        } else {
            self.trial.verdicts.lock().unwrap_or_else(PoisonError::into_inner).invalid.push(id);
        }
        judged
    }

    fn think(&self) -> Think {
        Think::Free
    }
}
