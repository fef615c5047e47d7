//! Which keys a slot loads and reads back.
//!
//! Of a trial that one process carries out: key number n by slot n modulo slots. Of one in several shares: whatever key is of the slots of a
//! thread by the next of them that is free, so that a key is loaded, asked for and read back by the one share that knows it.

use super::trial::ReplayTrial;
use crate::in_order::belongs;
use data::splitmix::mix;
use std::ops::Range;
use store::Slot;

/// The keys that a thread's slots go through, each once.
pub struct OwnKeys<'a> {
    trial: &'a ReplayTrial<'a>,
    slots: Range<Slot>,
    /// The key each slot has now or next; beyond the last: none.
    now: Vec<u64>,
    /// In a share: the first key that was not looked at.
    next: u64,
}

impl<'a> OwnKeys<'a> {
    /// Makes the keys of these slots of the trial.
    pub fn new(trial: &'a ReplayTrial<'a>, slots: Range<Slot>) -> OwnKeys<'a> {
        let mut keys = OwnKeys { trial, slots: slots.clone(), now: slots.map(u64::from).collect(), next: 0 };
        if !trial.share.is_whole() {
            keys.now = (0..keys.now.len()).map(|_| keys.take()).collect();
        }
        keys
    }

    /// Returns the key a slot has now; `None`: there are no more.
    pub fn of(&self, slot: Slot) -> Option<u32> {
        let key = self.now[slot as usize];
        (key < self.all()).then_some(key as u32)
    }

    /// Gives the slot the next key.
    pub fn step(&mut self, slot: Slot) {
        self.now[slot as usize] = match self.trial.share.is_whole() {
            true => self.now[slot as usize] + u64::from(self.trial.slots),
            false => self.take(),
        };
    }

    fn all(&self) -> u64 {
        self.trial.job.trace.keys().len() as u64
    }

    /// The next key of these slots.
    fn take(&mut self) -> u64 {
        let is_own = |&id: &u64| belongs(mix(id), &self.slots, self.trial.slots);
        let found = (self.next..self.all()).find(is_own).unwrap_or(self.all());
        self.next = found + 1;
        found
    }
}
