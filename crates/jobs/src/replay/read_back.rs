//! Reads every key back: what the last write put there, or nothing.

use super::trial::{FoundKeys, ReplayTrial};
use jobkit::{Offence, Step, Worker};
use std::ops::Range;
use store::{Operation, Reply, Slot};

/// A thread's slots. Key number n is read by slot n modulo slots.
pub struct ReadBack<'a> {
    trial: &'a ReplayTrial<'a>,
    /// The key each slot reads now or next.
    keys: Vec<u64>,
    found: FoundKeys,
    key: Vec<u8>,
}

impl<'a> ReadBack<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a ReplayTrial<'a>, slots: Range<Slot>) -> ReadBack<'a> {
        ReadBack { trial, keys: slots.map(u64::from).collect(), found: FoundKeys::default(), key: Vec::new() }
    }
}

impl Drop for ReadBack<'_> {
    fn drop(&mut self) {
        self.trial.take_found(self.found);
    }
}

impl Worker for ReadBack<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let id = self.keys[slot as usize];
        if id >= self.trial.job.trace.keys().len() as u64 {
            return Step::Finished;
        }
        self.trial.job.trace.keys().write(id as u32, &mut self.key);
        Step::Operation(Operation::Get { key: &self.key })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let id = self.keys[slot as usize] as u32;
        self.keys[slot as usize] += u64::from(self.trial.slots);
        let judged = match (*reply, self.trial.held(id)) {
            (Reply::Value(value), held) => {
                self.found.keys += 1;
                self.trial.job.trace.keys().write(id, &mut self.key);
                self.found.bytes += (self.key.len() + value.len()) as u64;
                match held {
                    Some(mark) if self.trial.is(id, mark, value) => Ok(()),
                    _ => self.trial.judge_other(id, Some(value)),
                }
            }
            (Reply::Missing, None) => Ok(()),
            (Reply::Missing, Some(_)) => self.trial.judge_other(id, None),
            _ => Err(Offence::failed(&self.trial.job.trace.keys().key(id), reply)),
        };
        if judged.is_err() {
            self.trial.wrong_at_the_end(id);
        }
        judged
    }
}
