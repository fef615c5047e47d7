//! The build: every id of every set is a put.

use super::{ElementTrial, Put, SlotState, VALUE, key_of};
use jobkit::{Offence, Step, Worker};
use store::{Operation, Reply, Slot};

/// Puts every id of every set. Id number `n` of a set is put by slot `n` modulo slots.
pub(super) struct Builder<'a> {
    trial: &'a ElementTrial<'a>,
    first: usize,
    states: Vec<SlotState>,
}

impl<'a> Builder<'a> {
    /// Makes a worker for the slots from `first` on.
    pub(super) fn new(trial: &'a ElementTrial<'a>, first: usize, states: Vec<SlotState>) -> Builder<'a> {
        Builder { trial, first, states }
    }
}

impl Worker for Builder<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let state = &mut self.states[slot as usize];
        while state.set < self.trial.sets.names().len() {
            let at = state.turn * self.trial.slots + self.first + slot as usize;
            if let Some(&id) = self.trial.sets.added(state.set).get(at) {
                state.turn += 1;
                state.key = key_of(state.set, id);
                return Step::Operation(Operation::Put { key: &state.key, value: VALUE });
            }
            (state.set, state.turn) = (state.set + 1, 0);
        }
        Step::Finished
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        let SlotState { set, turn, .. } = self.states[slot as usize];
        let at = turn * self.trial.slots + self.first + slot as usize;
        // Of the later sets the first turn counts.
        let first = self.first + slot as usize;
        let has = |set: usize, at: usize| at < self.trial.sets.added(set).len();
        let sets = self.trial.sets.names().len();
        set >= sets || !has(set, at) && (set + 1..sets).all(|later| !has(later, first))
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let state = &self.states[slot as usize];
        let put = |put| {
            let at = (state.turn - 1) * self.trial.slots + self.first + slot as usize;
            let id = self.trial.sets.added(state.set).get(at);
            id.into_iter().for_each(|&id| self.trial.is_put(state.set, id, put));
        };
        match reply {
            Reply::Done if self.trial.acknowledged.is_some() => {
                put(Put::Done);
                Ok(())
            }
            Reply::Done => Ok(()),
            other => {
                put(Put::Failed);
                Err(Offence::failed(&state.key, other))
            }
        }
    }

    #[cold]
    fn leave_off(&mut self) {
        let Builder { trial, first, states } = self;
        for (slot, state) in states.iter().enumerate() {
            let mut turn = state.turn;
            for set in state.set..trial.sets.names().len() {
                let left = trial.sets.added(set).iter().skip(turn * trial.slots + *first + slot).step_by(trial.slots);
                left.for_each(|&id| trial.is_put(set, id, Put::NeverSent));
                turn = 0;
            }
        }
    }
}
