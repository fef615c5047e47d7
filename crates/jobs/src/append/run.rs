//! The run: events are made in blocks, and appended as slots get free. Appends to one key are in the order of the events.

use super::Method;
use super::trial::AppendTrial;
use crate::in_order::{InOrder, belongs};
use data::append::{Event, KEY_BYTES, RECORD_BYTES};
use data::splitmix::mix;
use engine::{Offence, Step, Worker};
use std::ops::Range;
use store::{Operation, Reply, Slot};
use study::ReasonKind;

/// Events made at once.
const BLOCK: usize = 256;

/// One thread's slots.
pub struct AppendWorker<'a> {
    trial: &'a AppendTrial<'a>,
    stream: Stream<'a>,
    order: InOrder<Event>,
    slots: Vec<SlotState>,
    stored: u64,
}

/// The events whose keys belong to this thread's slots.
struct Stream<'a> {
    trial: &'a AppendTrial<'a>,
    slots: Range<Slot>,
    block: Vec<Event>,
    at: usize,
    next_index: u64,
}

struct SlotState {
    key: [u8; KEY_BYTES],
    record: [u8; RECORD_BYTES],
    /// Rewriting: the value to write.
    value: Vec<u8>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    /// Rewriting: the get is in flight.
    Reading,
    /// Rewriting: the new value waits to be sent.
    Merged,
    /// The append, or the put, is in flight.
    Writing,
}

impl Stream<'_> {
    #[inline]
    fn next(&mut self) -> Option<(u64, Event)> {
        loop {
            if self.at == self.block.len() && !self.refill() {
                return None;
            }
            let event = self.block[self.at];
            self.at += 1;
            if belongs(mix(event.id), &self.slots, self.trial.slots) {
                return Some((event.id, event));
            }
        }
    }

    fn refill(&mut self) -> bool {
        let events = &self.trial.job.events;
        let left = (events.len() - self.next_index).min(BLOCK as u64) as usize;
        self.block.resize(left, Event::default());
        events.fill(self.next_index, &mut self.block);
        self.next_index += left as u64;
        self.at = 0;
        left > 0
    }
}

impl<'a> AppendWorker<'a> {
    /// A worker for these slots of the trial.
    pub fn new(trial: &'a AppendTrial<'a>, slots: Range<Slot>) -> AppendWorker<'a> {
        let state =
            || SlotState { key: [0; KEY_BYTES], record: [0; RECORD_BYTES], value: Vec::new(), stage: Stage::Idle };
        AppendWorker {
            trial,
            order: InOrder::new(slots.len()),
            slots: slots.clone().map(|_| state()).collect(),
            stream: Stream { trial, slots, block: Vec::with_capacity(BLOCK), at: 0, next_index: 0 },
            stored: 0,
        }
    }
}

impl Worker for AppendWorker<'_> {
    #[inline]
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let AppendWorker { trial, stream, order, slots, .. } = self;
        let state = &mut slots[slot as usize];
        if state.stage == Stage::Merged {
            state.stage = Stage::Writing;
            return Step::Operation(Operation::Put { key: &state.key, value: &state.value });
        }
        let Some(event) = order.take(slot, || stream.next()) else { return Step::Finished };
        state.key = event.key();
        state.record = event.record();
        match trial.method {
            Method::Rewrite => {
                state.stage = Stage::Reading;
                Step::Operation(Operation::Get { key: &state.key })
            }
            Method::Native | Method::Auto => {
                state.stage = Stage::Writing;
                Step::Operation(Operation::Append { key: &state.key, value: &state.record })
            }
        }
    }

    #[inline]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let state = &mut self.slots[slot as usize];
        if state.stage == Stage::Reading {
            state.value.clear();
            match reply {
                Reply::Missing => {}
                Reply::Value(value) => state.value.extend_from_slice(value),
                other => {
                    state.stage = Stage::Idle;
                    self.order.done(slot);
                    return Err(Offence::failed(&state.key, other));
                }
            }
            let checked = check(&state.key, &state.value);
            state.value.extend_from_slice(&state.record);
            state.stage = Stage::Merged;
            return checked;
        }
        state.stage = Stage::Idle;
        self.order.done(slot);
        match reply {
            Reply::Done => {
                self.stored += 1;
                Ok(())
            }
            other => Err(Offence::failed(&state.key, other)),
        }
    }

    #[inline]
    fn stored(&self) -> u64 {
        self.stored
    }
}

/// A value read while rewriting: whole records, each of this key. The bytes themselves are compared when all is read back.
fn check(key: &[u8; KEY_BYTES], value: &[u8]) -> Result<(), Offence> {
    let (records, rest) = value.as_chunks::<RECORD_BYTES>();
    if rest.is_empty() && records.iter().all(|record| record.starts_with(key)) {
        return Ok(());
    }
    Err(Offence::new(ReasonKind::WrongValue, key, format!("{} bytes, which are not this key's records", value.len())))
}
