//! The load: every key once, each slot its own.

use super::judge;
use super::key::{KEY_BYTES, key};
use super::ledger::Write;
use super::trial::YcsbTrial;
use job::{Offence, Step, Think, Worker};
use std::ops::Range;
use store::{Operation, Reply, Slot};

/// One thread's slots. Key i is put by slot i modulo slots.
pub struct Load<'a> {
    trial: &'a YcsbTrial<'a>,
    first: Slot,
    next: Vec<(u64, Write)>,
    key: [u8; KEY_BYTES],
    value: Vec<u8>,
}

impl<'a> Load<'a> {
    /// A worker for these slots of the trial.
    pub fn new(trial: &'a YcsbTrial<'a>, slots: Range<Slot>) -> Load<'a> {
        let first = slots.start;
        let next = slots.map(|slot| (u64::from(slot), Write::default())).collect();
        Load { trial, first, next, key: [0; KEY_BYTES], value: Vec::new() }
    }
}

impl Worker for Load<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let (id, write) = &mut self.next[slot as usize];
        let id = *id;
        if id >= self.trial.workload.records {
            return Step::Finished;
        }
        *write = self.trial.ledger.begin_write(id, self.first + slot);
        let version = write.version;
        self.key = key(id);
        self.trial.values.make(id, version, &mut self.value);
        Step::Operation(Operation::Put { key: &self.key, value: &self.value })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let (next, write) = &mut self.next[slot as usize];
        let id = *next;
        *next += u64::from(self.trial.slots);
        judge::written(&self.trial.ledger, id, self.first + slot, *write, reply)
    }

    fn think(&self) -> Think {
        Think::Free
    }
}
