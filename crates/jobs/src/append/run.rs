//! The run: events are made in blocks, and appended as slots get free. Appends to one key are in the order of the events.

use super::Method;
use super::doubt::{AppendDoubts, DoubtfulAppend, reads};
use super::lengths::Lengths;
use super::trial::AppendTrial;
use crate::in_order::{InOrder, belongs};
use crate::spots::Spots;
use data::append::{Event, KEY_BYTES, RECORD_BYTES};
use data::splitmix::mix;
use jobkit::{Offence, Step, Worker};
use std::ops::Range;
use std::sync::PoisonError;
use store::{Operation, OperationKind, Reply, Slot};
use study::ReasonKind;

/// Events made at once.
const BLOCK: usize = 1024;
/// A key is announced to the store at least this many events before its append: a turn of the engine.
const AHEAD: usize = 64;

/// A thread's slots.
pub struct AppendWorker<'a> {
    trial: &'a AppendTrial<'a>,
    stream: Stream<'a>,
    order: InOrder<Event>,
    slots: Vec<SlotState>,
    lengths: Lengths,
    stored: u64,
    spots: Spots,
    /// Its keys of which an append failed.
    doubts: AppendDoubts,
}

/// The events whose keys belong to this thread's slots.
struct Stream<'a> {
    trial: &'a AppendTrial<'a>,
    slots: Range<Slot>,
    /// Events to come, from `at` on.
    block: Vec<Event>,
    at: usize,
    /// The first event that is not in the block.
    next_index: u64,
    /// Where the next event is whose key is announced, and the key announced last.
    next_told: usize,
    told: [u8; KEY_BYTES],
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
    /// The value just appended to is to be read, before anything else is appended to it.
    Looks,
    /// It is being read.
    Looking,
}

impl Stream<'_> {
    #[inline]
    fn next(&mut self) -> Option<(u64, Event)> {
        if self.at == self.block.len() {
            self.refill();
        }
        let event = *self.block.get(self.at)?;
        self.at += 1;
        Some((event.id, event))
    }

    /// Whether there are no more events.
    fn is_empty(&mut self) -> bool {
        if self.at == self.block.len() {
            self.refill();
        }
        self.at == self.block.len()
    }

    /// The key of the event behind the last that was told, and at least [`AHEAD`] behind the next one.
    #[inline]
    fn ahead(&mut self) -> Option<&[u8]> {
        self.next_told = self.next_told.max(self.at + AHEAD);
        if self.next_told >= self.block.len() {
            self.refill();
        }
        self.told = self.block.get(self.next_told)?.key();
        self.next_told += 1;
        Some(&self.told)
    }

    /// Makes more events, if there are any.
    fn refill(&mut self) {
        let events = &self.trial.job.events;
        self.block.drain(..self.at);
        self.next_told = self.next_told.saturating_sub(self.at);
        self.at = 0;
        let enough = self.next_told.max(self.block.len());
        while self.block.len() <= enough && self.next_index < events.len() {
            let kept = self.block.len();
            let more = (events.len() - self.next_index).min(BLOCK as u64) as usize;
            self.block.resize(kept + more, Event::default());
            events.fill(self.next_index, &mut self.block[kept..]);
            self.next_index += more as u64;
            if self.slots.len() < self.trial.slots as usize {
                self.keep_own(kept);
            }
        }
    }

    /// Drops events of other threads' keys.
    fn keep_own(&mut self, from: usize) {
        let mut end = from;
        for at in from..self.block.len() {
            let event = self.block[at];
            self.block[end] = event;
            end += usize::from(belongs(mix(event.id), &self.slots, self.trial.slots));
        }
        self.block.truncate(end);
    }
}

impl<'a> AppendWorker<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a AppendTrial<'a>, slots: Range<Slot>) -> AppendWorker<'a> {
        let state =
            || SlotState { key: [0; KEY_BYTES], record: [0; RECORD_BYTES], value: Vec::new(), stage: Stage::Idle };
        AppendWorker {
            trial,
            order: InOrder::new(slots.len()),
            // Rewriting reads each value before it writes it.
            spots: match (trial.keeps, trial.method) {
                (false, _) | (_, Method::Rewrite) => Spots::none(slots.clone()),
                _ => Spots::new(trial.job.events.len(), slots.clone()),
            },
            slots: slots.clone().map(|_| state()).collect(),
            stream: Stream {
                trial,
                slots,
                block: Vec::with_capacity(2 * BLOCK),
                at: 0,
                next_index: 0,
                next_told: 0,
                told: [0; KEY_BYTES],
            },
            lengths: Lengths::default(),
            stored: 0,
            doubts: AppendDoubts::default(),
        }
    }

    /// The append of this slot failed; `value`: rewriting, the whole value.
    #[cold]
    fn fails(&mut self, slot: Slot, stage: Stage) {
        let state = &self.slots[slot as usize];
        if !self.trial.keeps {
            return;
        }
        let (doubt, append) = (self.doubts.of(u64::from_be_bytes(state.key)), DoubtfulAppend::of(state.record));
        match (stage, self.trial.method) {
            (Stage::Reading, _) => doubt.skips(append),
            (_, Method::Rewrite) => doubt.fails(DoubtfulAppend { value: Some(state.value.clone()), ..append }),
            _ => doubt.fails(append),
        }
    }

    /// Rewriting a key in doubt: its value was read.
    #[cold]
    fn reads(&mut self, slot: Slot) {
        let state = &self.slots[slot as usize];
        let Some(doubt) = self.doubts.get_mut(&u64::from_be_bytes(state.key)) else { return };
        let events = &self.trial.job.events;
        let mut right = Vec::new();
        if let Some(number) = events.key_of(u64::from_be_bytes(state.key)) {
            events.value(number, &mut Vec::new(), &mut right);
        }
        let (records, _) = right.as_chunks::<RECORD_BYTES>();
        let before = records.iter().position(|record| *record == state.record).unwrap_or(records.len());
        reads(doubt, &state.value, &records[..before]);
    }
}

impl Drop for AppendWorker<'_> {
    fn drop(&mut self) {
        if !self.doubts.is_empty() {
            self.trial.doubts.write().unwrap_or_else(PoisonError::into_inner).merge(std::mem::take(&mut self.doubts));
        }
    }
}

impl Worker for AppendWorker<'_> {
    #[inline]
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let AppendWorker { trial, stream, order, slots, .. } = self;
        let state = &mut slots[slot as usize];
        if state.stage == Stage::Looks {
            state.stage = Stage::Looking;
            return Step::Check(Operation::Get { key: &state.key });
        }
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

    fn is_within(&mut self, slot: Slot) -> bool {
        self.slots[slot as usize].stage == Stage::Looks
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        let idle = !matches!(self.slots[slot as usize].stage, Stage::Looks | Stage::Merged);
        idle && !self.order.has_waiting(slot) && self.stream.is_empty()
    }

    #[inline]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let state = &mut self.slots[slot as usize];
        if state.stage == Stage::Looking {
            state.stage = Stage::Idle;
            self.order.done(slot);
            return looked(state, self.doubts.has(&u64::from_be_bytes(state.key)), reply);
        }
        if state.stage == Stage::Reading {
            state.value.clear();
            match reply {
                Reply::Missing => {}
                Reply::Value(value) => state.value.extend_from_slice(value),
                other => {
                    state.stage = Stage::Idle;
                    self.order.done(slot);
                    let failed = Offence::failed(&state.key, other);
                    self.fails(slot, Stage::Reading);
                    return Err(failed);
                }
            }
            let checked = check(&state.key, &state.value);
            if !self.doubts.is_empty() {
                self.reads(slot);
            }
            let state = &mut self.slots[slot as usize];
            state.value.extend_from_slice(&state.record);
            state.stage = Stage::Merged;
            return checked;
        }
        let stored = matches!(reply, Reply::Done | Reply::Number(_));
        if stored && self.spots.is_due(slot, 1) {
            state.stage = Stage::Looks;
        } else {
            state.stage = Stage::Idle;
            self.order.done(slot);
        }
        match reply {
            Reply::Done => {
                self.stored += 1;
                Ok(())
            }
            Reply::Number(bytes) if self.trial.method != Method::Rewrite => {
                self.stored += 1;
                if self.trial.keeps {
                    self.lengths.check(&self.trial.job.events, &state.key, *bytes, &mut self.doubts)
                } else {
                    Ok(())
                }
            }
            other => {
                let failed = Offence::failed(&state.key, other);
                self.fails(slot, Stage::Writing);
                Err(failed)
            }
        }
    }

    /// What waits behind another slot's, then what was not taken from the stream: of each key the last of its records.
    #[cold]
    fn leave_off(&mut self) {
        let AppendWorker { trial, stream, order, slots, doubts, .. } = self;
        for state in slots.iter_mut().filter(|state| state.stage == Stage::Merged) {
            state.stage = Stage::Idle;
            doubts.of(u64::from_be_bytes(state.key)).skips(DoubtfulAppend::of(state.record));
        }
        for slot in 0..slots.len() as Slot {
            trial.leave_out(std::iter::from_fn(|| order.take(slot, || None)).map(|event| event.id));
        }
        trial.leave_out(std::iter::from_fn(|| stream.next()).map(|(id, _)| id));
    }

    #[inline]
    fn ahead(&mut self, _: Slot) -> Option<(OperationKind, &[u8])> {
        self.stream.ahead().map(|key| (OperationKind::Append, key))
    }

    #[inline]
    fn stored(&self) -> u64 {
        self.stored
    }
}

/// A value read at a spot: the records of its key, of which the last was just acknowledged. In doubt one that failed may have come after it.
#[cold]
fn looked(state: &SlotState, in_doubt: bool, reply: &Reply<'_>) -> Result<(), Offence> {
    match reply {
        Reply::Value(value) => {
            check(&state.key, value)?;
            let is_there = || value.as_chunks::<RECORD_BYTES>().0.contains(&state.record);
            if value.ends_with(&state.record) || in_doubt && is_there() {
                return Ok(());
            }
            let seen = format!("{} bytes, without the record whose append was just acknowledged", value.len());
            Err(Offence::new(ReasonKind::StaleValue, &state.key, seen))
        }
        Reply::Missing => {
            Err(Offence::new(ReasonKind::UnexpectedMiss, &state.key, "missing, after an append was acknowledged"))
        }
        other => Err(Offence::failed(&state.key, other)),
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
