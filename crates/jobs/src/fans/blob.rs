//! The run on records: get, check, merge, put, slot by slot.

use super::pages::Written;
use super::policy::Policy;
use super::record::Merger;
use super::schedule::Mention;
use super::trial::{Checks, FansTrial};
use jobkit::{Offence, Step, Worker};
use std::ops::Range;
use store::{Expected, Operation, Reply, Slot};

/// A thread's slots.
pub struct BlobWorker<'a> {
    trial: &'a FansTrial<'a>,
    slots: Vec<SlotState>,
    merger: Merger,
    /// The values of the operation sent last: it has been taken by the session, so they are free at the next step.
    outgoing: Values,
    /// Values free for use; there are never more than slots between a merge and their put.
    spare: Vec<Values>,
}

/// The record read (kept only for compare-and-set) and the one to write.
#[derive(Default)]
struct Values {
    old: Vec<u8>,
    new: Vec<u8>,
}

struct SlotState {
    /// Positions in the schedule.
    next: u32,
    end: u32,
    mention: Mention,
    /// Fans acknowledged when the read was sent.
    floor: u32,
    written: Written,
    stage: Stage,
}

enum Stage {
    /// Between two mentions.
    Idle,
    /// The compare-and-set lost its race: read the page again.
    Again,
    /// The get is in flight.
    Reading,
    /// The new record waits to be sent. `version`: of the record read, `None` when there was none.
    Merged { values: Values, version: Option<u64> },
    /// The put is in flight.
    Writing,
}

impl<'a> BlobWorker<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a FansTrial<'a>, slots: Range<Slot>) -> BlobWorker<'a> {
        let state = |slot| {
            let Range { start, end } = trial.schedule.of(slot);
            let mention = Mention { profile: 0, page: 0 };
            SlotState { next: start, end, mention, floor: 0, written: Written::default(), stage: Stage::Idle }
        };
        BlobWorker {
            trial,
            slots: slots.map(state).collect(),
            merger: Merger::default(),
            outgoing: Values::default(),
            spare: Vec::new(),
        }
    }

    /// Partners of the page in the mention of a slot.
    #[cold]
    fn partners(&self, slot: Slot) -> u64 {
        self.trial.partners(self.slots[slot as usize].mention)
    }

    /// Takes what a read found, and makes the new record of it.
    fn read(&mut self, slot: Slot, value: Option<&[u8]>, version: u64) -> Result<(), Offence> {
        let BlobWorker { trial, slots, merger, spare, .. } = self;
        let state = &mut slots[slot as usize];
        let Mention { profile, page } = state.mention;
        let input = trial.input;
        let checked = match trial.checks {
            Checks::All => trial.ledger.check(input, page, state.floor, value),
            Checks::None => Ok(()),
        };
        let mut values = spare.pop().unwrap_or_default();
        let list = input.set.profile(profile as usize);
        let fans = merger.merge(&input.names, page, list, value, &mut values.new);
        let (fans, checked) = match (fans, checked) {
            (Ok(fans), checked) => (fans, checked),
            (Err(error), checked) => {
                // Not a record at all: go on as a program would that starts the page again, so that the loss shows in
                // the answer.
                let _ = merger.merge(&input.names, page, list, None, &mut values.new);
                let key = input.set.pages.get(page);
                let undecodable = || Offence::new(study::ReasonKind::WrongValue, key, error.to_string());
                (1, checked.and_then(|()| Err(undecodable())))
            }
        };
        if trial.checks == Checks::All {
            state.written = trial.ledger.written(&values.new, fans);
        }
        if trial.policy == Policy::Cas {
            values.old.clear();
            values.old.extend_from_slice(value.unwrap_or_default());
        }
        state.stage = Stage::Merged { values, version: value.map(|_| version) };
        checked
    }
}

impl Worker for BlobWorker<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let BlobWorker { trial, slots, outgoing, spare, .. } = self;
        let state = &mut slots[slot as usize];
        match std::mem::replace(&mut state.stage, Stage::Reading) {
            Stage::Idle if state.next == state.end => {
                state.stage = Stage::Idle;
                return Step::Finished;
            }
            Stage::Idle => {
                state.mention = trial.schedule.at(state.next);
                if !trial.ledger.lock(state.mention.page) {
                    state.stage = Stage::Idle;
                    return Step::Wait;
                }
                state.next += 1;
            }
            Stage::Merged { values, version } => {
                state.stage = Stage::Writing;
                spare.push(std::mem::replace(outgoing, values));
                let key = trial.input.set.pages.get(state.mention.page);
                let value = &outgoing.new[..];
                return Step::Operation(match (trial.policy, version) {
                    (Policy::Cas, Some(version)) => {
                        let expected = Expected::Present { version, value: &outgoing.old };
                        Operation::CompareAndSet { key, expected, value }
                    }
                    (Policy::Cas, None) => Operation::CompareAndSet { key, expected: Expected::Absent, value },
                    _ => Operation::Put { key, value },
                });
            }
            Stage::Again => {}
            busy @ (Stage::Reading | Stage::Writing) => {
                state.stage = busy;
                return Step::Wait;
            }
        }
        let key = trial.input.set.pages.get(state.mention.page);
        match trial.policy {
            Policy::Cas => {
                state.floor = trial.ledger.floor(state.mention.page);
                Step::Operation(Operation::GetVersioned { key })
            }
            _ => Step::Operation(Operation::Get { key }),
        }
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        let state = &self.slots[slot as usize];
        state.next == state.end && matches!(state.stage, Stage::Idle)
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let state = &mut self.slots[slot as usize];
        let page = state.mention.page;
        if matches!(state.stage, Stage::Reading) {
            return match (reply, self.trial.policy) {
                (Reply::Versioned { value, version }, Policy::Cas) => self.read(slot, Some(value), *version),
                (Reply::Value(value), policy) if policy != Policy::Cas => self.read(slot, Some(value), 0),
                (Reply::Missing, _) => self.read(slot, None, 0),
                _ => {
                    state.stage = Stage::Idle;
                    let partners = self.partners(slot);
                    self.trial.ledger.skips(page, partners);
                    self.trial.ledger.unlock(page);
                    Err(Offence::failed(self.trial.input.set.pages.get(page), reply))
                }
            };
        }
        state.stage = Stage::Idle;
        match reply {
            Reply::Conflict if self.trial.policy == Policy::Cas => {
                state.stage = Stage::Again;
                Ok(())
            }
            Reply::Done => {
                self.trial.ledger.acknowledge(page, state.written);
                self.trial.ledger.unlock(page);
                Ok(())
            }
            _ => {
                let written = state.written;
                let partners = self.partners(slot);
                self.trial.ledger.fails(page, written, partners);
                self.trial.ledger.unlock(page);
                Err(Offence::failed(self.trial.input.set.pages.get(page), reply))
            }
        }
    }

    #[cold]
    fn leave_off(&mut self) {
        for state in &mut self.slots {
            // Between its get and its put, or about to get once more.
            let begun = (!matches!(state.stage, Stage::Idle)).then_some(state.mention);
            state.stage = Stage::Idle;
            self.trial.leave_out(begun, state.next..state.end);
            state.next = state.end;
        }
    }
}
