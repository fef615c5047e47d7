//! Reads every key back: what the last write put there, or nothing.

use super::lives::KeyLives;
use super::own_keys::OwnKeys;
use super::trial::{FoundKeys, ReplayTrial};
use jobkit::{Offence, Step, Worker};
use std::ops::Range;
use store::{Operation, Reply, Slot};

/// A thread's slots.
pub struct ReadBack<'a> {
    trial: &'a ReplayTrial<'a>,
    /// The key each slot reads now or next.
    keys: OwnKeys<'a>,
    /// When it was asked for.
    asked_ns: Vec<u64>,
    found: FoundKeys,
    key: Vec<u8>,
}

impl<'a> ReadBack<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a ReplayTrial<'a>, slots: Range<Slot>) -> ReadBack<'a> {
        let asked_ns = vec![0; slots.len()];
        ReadBack { trial, asked_ns, keys: OwnKeys::new(trial, slots), found: FoundKeys::default(), key: Vec::new() }
    }
}

impl Drop for ReadBack<'_> {
    fn drop(&mut self) {
        self.trial.take_found(self.found);
    }
}

impl Worker for ReadBack<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let Some(id) = self.keys.of(slot) else { return Step::Finished };
        self.trial.job.trace.keys().write(id, &mut self.key);
        self.asked_ns[slot as usize] = self.trial.lives.as_ref().map_or(0, KeyLives::now_ns);
        Step::Operation(Operation::Get { key: &self.key })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let Some(id) = self.keys.of(slot) else { return Ok(()) };
        self.keys.step(slot);
        if let Reply::Value(value) = *reply {
            self.found.keys += 1;
            self.trial.job.trace.keys().write(id, &mut self.key);
            self.found.bytes += (self.key.len() + value.len()) as u64;
        }
        let judged = self.trial.got(id, self.asked_ns[slot as usize], reply).map(|_| ());
        if judged.is_err() {
            self.trial.wrong_at_the_end(id);
        }
        judged
    }
}
