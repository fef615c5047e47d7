//! The filling: each slot puts its own items in the order of their numbers, and between them gets items it has put before.

use super::plan::Reads;
use super::trial::GrowTrial;
use crate::spots::Spots;
use data::items::{ItemFlaw, Items};
use data::wyrand::WyRand;
use jobkit::{Offence, Step, Worker, printable};
use std::ops::Range;
use store::{Keeps, Operation, Reply, Slot};
use study::ReasonKind;

/// A thread's slots. Item `i` is put, and read, by slot `i` modulo slots.
pub struct Fill<'a> {
    trial: &'a GrowTrial<'a>,
    slots: Vec<SlotState>,
    /// Slots of the trial.
    stride: u64,
    reads: Reads,
    spots: Spots,
    key: Vec<u8>,
    value: Vec<u8>,
    stored: u64,
}

struct SlotState {
    rng: WyRand,
    /// Number of the slot over the whole trial: that of its first item.
    first: u64,
    /// Items it has put, and those it will have put at the end of the phase.
    put: u64,
    end: u64,
    /// Gets it has made.
    got: u64,
    /// The item in flight.
    number: u64,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    /// A put is in flight.
    Putting,
    /// A get is in flight.
    Getting,
    /// The item just put is to be read.
    Looks,
    /// It is being read.
    Looking,
}

impl<'a> Fill<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a GrowTrial<'a>, phase: usize, slots: Range<Slot>) -> Fill<'a> {
        let (stride, reads) = (u64::from(trial.slots), trial.reads());
        let state = |slot: Slot| {
            let (put, end) = trial.job.plan.own(phase, u64::from(slot), stride);
            SlotState {
                rng: WyRand::new(trial.seed ^ phase as u64, u64::from(slot)),
                first: u64::from(slot),
                put,
                end,
                got: reads.after(put),
                number: 0,
                stage: Stage::Idle,
            }
        };
        Fill {
            trial,
            slots: slots.clone().map(state).collect(),
            stride,
            reads,
            spots: match trial.keeps {
                Keeps::Everything => Spots::new(trial.seed ^ phase as u64, slots),
                Keeps::Nothing => Spots::none(slots),
            },
            key: Vec::with_capacity(trial.job.items.key_lengths()[1]),
            value: Vec::with_capacity(trial.job.items.most_value_bytes() + 16),
            stored: 0,
        }
    }
}

impl Worker for Fill<'_> {
    #[inline]
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let Fill { trial, slots, stride, reads, key, value, .. } = self;
        let items = &trial.job.items;
        let state = &mut slots[slot as usize];
        if state.stage == Stage::Looks {
            state.stage = Stage::Looking;
            items.key(state.number, key);
            return Step::Check(Operation::Get { key });
        }
        if state.got < reads.after(state.put) {
            state.got += 1;
            state.stage = Stage::Getting;
            state.number = state.first + *stride * state.rng.below(state.put);
            items.key(state.number, key);
            return Step::Operation(Operation::Get { key });
        }
        if state.put >= state.end {
            return Step::Finished;
        }
        state.stage = Stage::Putting;
        state.number = state.first + *stride * state.put;
        items.key(state.number, key);
        items.value(state.number, value);
        Step::Operation(Operation::Put { key, value })
    }

    fn is_within(&mut self, slot: Slot) -> bool {
        self.slots[slot as usize].stage == Stage::Looks
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        let state = &self.slots[slot as usize];
        state.stage != Stage::Looks && state.put >= state.end && state.got >= self.reads.after(state.put)
    }

    #[inline]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let items = &self.trial.job.items;
        let state = &mut self.slots[slot as usize];
        let stage = std::mem::replace(&mut state.stage, Stage::Idle);
        if stage != Stage::Putting {
            return match reply {
                Reply::Value(value) => {
                    self.trial.puts.is_there(state.number);
                    items.verify(state.number, value).map_err(|flaw| flawed(items, state.number, flaw))
                }
                Reply::Missing if self.trial.keeps == Keeps::Nothing => Ok(()),
                Reply::Missing if self.trial.puts.may_be_missing(state.number) => Ok(()),
                Reply::Missing => Err(missing(items, state.number)),
                other => Err(Offence::failed(&items.key_of(state.number), other)),
            };
        }
        state.put += 1;
        let Reply::Done = reply else {
            self.trial.puts.fails(state.number);
            return Err(Offence::failed(&items.key_of(state.number), reply));
        };
        self.stored += 1;
        if self.spots.is_due(slot, 1) {
            state.stage = Stage::Looks;
        }
        Ok(())
    }

    /// Also what later phases would have put is never sent.
    #[cold]
    fn leave_off(&mut self) {
        let Fill { trial, slots, stride, .. } = self;
        for state in slots {
            let (_, end) = trial.job.plan.own(trial.job.plan.phases() - 1, state.first, *stride);
            (state.put..end).for_each(|put| trial.puts.leaves_out(state.first + *stride * put));
        }
    }

    #[inline]
    fn stored(&self) -> u64 {
        self.stored
    }
}

#[cold]
fn missing(items: &Items, number: u64) -> Offence {
    let seen = format!("missing, after its put was acknowledged (item {number})");
    Offence::new(ReasonKind::UnexpectedMiss, &items.key_of(number), seen)
}

/// Returns the offence of a value that is not the item's.
#[cold]
pub fn flawed(items: &Items, number: u64, flaw: ItemFlaw) -> Offence {
    let (kind, seen) = match flaw {
        ItemFlaw::Length(found, right) => (ReasonKind::WrongValue, format!("{found} bytes, must be {right}")),
        ItemFlaw::OtherItem(other) => {
            (ReasonKind::WrongKey, format!("the value of {}", printable(&items.key_of(other))))
        }
        ItemFlaw::Content(at) => (ReasonKind::WrongValue, format!("byte {at} is wrong")),
    };
    Offence::new(kind, &items.key_of(number), seen)
}
