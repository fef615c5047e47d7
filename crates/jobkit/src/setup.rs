//! What an execution of a job is given.

use crate::Share;
use std::ops::Range;
use store::{Capabilities, Slot};

/// The slots, seed and abilities that one execution gets.
#[derive(Clone, Debug)]
pub struct TrialSetup {
    /// Slots of the whole trial, over all threads of all processes: clients times pipeline.
    pub slots: u32,
    /// The clients that this process drives.
    pub share: Share,
    /// The store's capabilities.
    pub capabilities: Capabilities,
    /// Seed of this trial's random choices: the same for all stores of a study, and all processes of a trial.
    pub seed: u64,
}

impl TrialSetup {
    /// Returns the setup of a process that carries a trial out alone.
    pub fn alone(slots: u32, capabilities: Capabilities, seed: u64) -> TrialSetup {
        TrialSetup { slots, share: Share::whole(slots), capabilities, seed }
    }

    /// Returns the same setup for another share of the clients.
    pub fn sharing(&self, share: Share) -> TrialSetup {
        TrialSetup { share, ..self.clone() }
    }

    /// Returns the slots of this process, numbered over the whole.
    pub fn own_slots(&self) -> Range<Slot> {
        let pipeline = self.slots / self.share.of_clients.max(1);
        self.share.first * pipeline..(self.share.first + self.share.clients) * pipeline
    }
}
