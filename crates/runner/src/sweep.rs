//! What is done about the job's keys in a store of the user's before a trial. Private stores are new and need none of this.

use engine::{Offence, Phase, Step, Trial, Worker};
use std::ops::Range;
use store::{Operation, Reply, Slot};
use study::{Answer, Reason, ReasonKind};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Every key must be absent: what is there may be the user's.
    Look,
    /// Every key is deleted: what is there is an earlier trial's, or the user said it may go.
    Delete,
}

/// One untimed phase over all keys of a trial.
pub(crate) struct Sweep<'a> {
    pub(crate) trial: &'a dyn Trial,
    pub(crate) action: Action,
    pub(crate) slots: u32,
}

impl Trial for Sweep<'_> {
    fn phases(&self) -> Vec<Phase> {
        let name = if self.action == Action::Look { "looking for foreign data" } else { "clearing" };
        vec![Phase { name, timed: false, operations: None }]
    }

    fn worker(&self, _: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        let next = slots.clone().map(u64::from).collect();
        Box::new(SweepWorker { sweep: self, next, keys: vec![Vec::new(); slots.len()] })
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        (Answer::default(), Vec::new())
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        self.trial.key(index, out)
    }
}

/// Slot `s` of `n` has the keys `s`, `s + n`, ...
struct SweepWorker<'a> {
    sweep: &'a Sweep<'a>,
    next: Vec<u64>,
    keys: Vec<Vec<u8>>,
}

impl Worker for SweepWorker<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let (index, key) = (&mut self.next[slot as usize], &mut self.keys[slot as usize]);
        key.clear();
        if !self.sweep.trial.key(*index, key) {
            return Step::Finished;
        }
        *index += u64::from(self.sweep.slots);
        Step::Operation(match self.sweep.action {
            Action::Look => Operation::Get { key },
            Action::Delete => Operation::Delete { key },
        })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let key = &self.keys[slot as usize];
        match (self.sweep.action, reply) {
            (_, Reply::Missing) | (Action::Delete, Reply::Done) => Ok(()),
            (Action::Look, Reply::Value(value)) => {
                Err(Offence::new(ReasonKind::ForeignData, key, format!("a value of {} bytes", value.len())))
            }
            (_, other) => Err(Offence::failed(key, other)),
        }
    }
}
