//! Operations while kvtrial changes the nodes: a part of the run, and as much more as that takes.

use super::trial::NodesTrial;
use crate::ycsb::run::Run;
use jobkit::{Offence, Step, Think, Worker};
use std::ops::Range;
use store::{Reply, Slot};

/// The run until its operations are done and the change is over.
pub(super) struct Meanwhile<'a> {
    trial: &'a NodesTrial<'a>,
    run: Run<'a>,
}

impl<'a> Meanwhile<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a NodesTrial<'a>, slots: Range<Slot>) -> Meanwhile<'a> {
        Meanwhile { trial, run: Run::new(&trial.ycsb, slots) }
    }
}

impl Worker for Meanwhile<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        if self.run.is_through(slot) && self.trial.change_goes_on() {
            self.run.prolong(slot);
        }
        self.run.next(slot)
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        self.run.reply(slot, reply)
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        self.run.is_through(slot) && !self.trial.change_goes_on()
    }

    fn think(&self) -> Think {
        Think::Free
    }
}
