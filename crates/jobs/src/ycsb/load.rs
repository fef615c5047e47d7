//! The load: every key once, each slot its own.

use super::expiring;
use super::judge;
use super::key::KEY_BYTES;
use super::trial::YcsbTrial;
use super::value::version_in;
use super::versions::Write;
use super::workload::LoadOrder;
use crate::witnessed::Telling;
use data::scramble::Scramble;
use jobkit::{Offence, Step, Think, Worker};
use std::ops::Range;
use store::{Operation, Reply, Slot};

/// Keeps the order of a scattered load apart from that of popularity.
const SCATTERED: u64 = 0x10AD;

/// A thread's slots that load. The i-th key is put by slot i modulo slots.
pub struct Load<'a> {
    trial: &'a YcsbTrial<'a>,
    first: Slot,
    /// Of each slot: the place of its next key, from 0, and its write.
    next: Vec<(u64, Write)>,
    /// Of each slot: when its write was sent, where values have a time to live.
    sent_ns: Vec<u64>,
    order: KeyOrder,
    key: [u8; KEY_BYTES],
    value: Vec<u8>,
}

impl<'a> Load<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a YcsbTrial<'a>, slots: Range<Slot>) -> Load<'a> {
        let first = slots.start;
        let next: Vec<_> = slots.map(|slot| (u64::from(slot), Write::default())).collect();
        let order = trial.load_order();
        Load { trial, first, sent_ns: vec![0; next.len()], next, order, key: [0; KEY_BYTES], value: Vec::new() }
    }
}

/// Which key is put at which place.
pub struct KeyOrder(Option<Scramble>);

impl KeyOrder {
    /// Returns the key with this place, from 0, in the order of the load.
    #[inline]
    pub fn id(&self, place: u64) -> u64 {
        self.0.map_or(place, |scattered| scattered.key(place))
    }
}

impl YcsbTrial<'_> {
    /// Returns the order in which keys are loaded.
    pub fn load_order(&self) -> KeyOrder {
        KeyOrder(match self.workload.load {
            LoadOrder::Rising | LoadOrder::Hashed => None,
            LoadOrder::Scattered => Some(Scramble::new(self.workload.records, self.seed ^ SCATTERED)),
        })
    }
}

impl Telling for Load<'_> {
    #[inline]
    fn key_number(&self, slot: Slot) -> u64 {
        self.order.id(self.next[slot as usize].0)
    }

    #[inline]
    fn version(value: &[u8]) -> Option<u64> {
        version_in(value)
    }
}

impl Worker for Load<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let number = self.next[slot as usize].0;
        if number >= self.trial.workload.records {
            return Step::Finished;
        }
        let id = self.order.id(number);
        let write = self.trial.ledger.begin_write(id, self.first + slot);
        self.next[slot as usize].1 = write;
        self.key = self.trial.ledger.names.key(id);
        self.trial.values.make(id, write.version, &mut self.value);
        let Some(lives) = &self.trial.lives else {
            return Step::Operation(Operation::Put { key: &self.key, value: &self.value });
        };
        self.sent_ns[slot as usize] = lives.now_ns();
        Step::Operation(expiring::put(lives, &self.key, &mut self.value))
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let (number, write) = self.next[slot as usize];
        self.next[slot as usize].0 += u64::from(self.trial.slots);
        if let (Some(lives), Reply::Done) = (&self.trial.lives, reply) {
            lives.written(self.order.id(number), self.sent_ns[slot as usize]);
        }
        judge::written(&self.trial.ledger, self.order.id(number), self.first + slot, write, reply)
    }

    fn think(&self) -> Think {
        Think::Free
    }
}
