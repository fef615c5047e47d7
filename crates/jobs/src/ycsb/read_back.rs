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

/// A thread's slots that read back. Key i is read by slot i modulo slots.
pub struct ReadBack<'a> {
    trial: &'a YcsbTrial<'a>,
    next: Vec<u64>,
    /// Of each slot: what was known of its key when it was asked for, where values have a time to live.
    asked: Vec<(Sight, Lifetime)>,
    key: [u8; KEY_BYTES],
    valid: u64,
}

impl<'a> ReadBack<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a YcsbTrial<'a>, slots: Range<Slot>) -> ReadBack<'a> {
        let next: Vec<u64> = slots.map(u64::from).collect();
        ReadBack { trial, asked: vec![Default::default(); next.len()], next, key: [0; KEY_BYTES], valid: 0 }
    }
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
        let id = self.next[slot as usize];
        if id >= self.trial.ledger.ids() {
            return Step::Finished;
        }
        self.key = self.trial.ledger.names.key(id);
        if let Some(lives) = &self.trial.lives {
            let sight = self.trial.ledger.sight(id);
            self.asked[slot as usize] = (sight, lives.life(id));
        }
        Step::Operation(Operation::Get { key: &self.key })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let next = &mut self.next[slot as usize];
        let id = *next;
        *next += u64::from(self.trial.slots);
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
