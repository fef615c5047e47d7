//! Puts every counter into the store, and reads every one back.

use super::trial::EventTrial;
use crate::spots::Spots;
use jobkit::{Offence, Step, Worker, printable};
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use store::{Operation, Reply, Slot};
use study::ReasonKind;

/// Returns a decimal number.
pub(super) fn parse(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim_ascii_end().parse().ok()
}

/// What a slot does: counter number n of the trial belongs to slot n modulo slots.
struct SlotState {
    counter: usize,
    key: Vec<u8>,
    value: Vec<u8>,
    /// Whether what was put last is looked at next.
    is_looked_at: bool,
}

fn states(slots: Range<Slot>) -> Vec<SlotState> {
    let state = |slot| SlotState {
        counter: slot as usize,
        key: Vec::with_capacity(32),
        value: Vec::with_capacity(32),
        is_looked_at: false,
    };
    slots.map(state).collect()
}

/// A thread's slots that put summaries.
pub struct SummaryWriter<'a> {
    trial: &'a EventTrial<'a>,
    slots: Vec<SlotState>,
    spots: Spots,
    stored: u64,
}

impl<'a> SummaryWriter<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a EventTrial<'a>, slots: Range<Slot>) -> SummaryWriter<'a> {
        let spots = if trial.keeps { Spots::new(trial.seed, slots.clone()) } else { Spots::none(slots.clone()) };
        SummaryWriter { trial, slots: states(slots), spots, stored: 0 }
    }
}

impl Worker for SummaryWriter<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let state = &mut self.slots[slot as usize];
        if state.is_looked_at {
            return Step::Check(Operation::Get { key: &state.key });
        }
        let Some(summary) = self.trial.summaries().get(state.counter) else { return Step::Finished };
        state.key.clear();
        summary.key(&mut state.key);
        state.value.clear();
        let _ = write!(state.value, "{}", summary.value); // writing to memory does not fail
        Step::Operation(Operation::Put { key: &state.key, value: &state.value })
    }

    fn is_within(&mut self, slot: Slot) -> bool {
        self.slots[slot as usize].is_looked_at
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        let state = &self.slots[slot as usize];
        !state.is_looked_at && state.counter >= self.trial.summaries().len()
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let state = &mut self.slots[slot as usize];
        if std::mem::take(&mut state.is_looked_at) {
            return looked(state, reply);
        }
        let counter = state.counter;
        state.counter += self.trial.slots;
        match reply {
            Reply::Done => {
                self.stored += 1;
                state.is_looked_at = self.spots.is_due(slot, 1);
                Ok(())
            }
            other => {
                self.trial.number_of(counter).into_iter().for_each(|number| self.trial.puts.fails(number));
                Err(Offence::failed(&state.key, other))
            }
        }
    }

    #[cold]
    fn leave_off(&mut self) {
        let trial = self.trial;
        for state in &self.slots {
            let left = (state.counter..trial.summaries().len()).step_by(trial.slots);
            left.filter_map(|at| trial.number_of(at)).for_each(|number| trial.puts.leaves_out(number));
        }
    }

    fn stored(&self) -> u64 {
        self.stored
    }
}

/// Checks a look at the counter that was put last.
#[cold]
fn looked(state: &SlotState, reply: &Reply<'_>) -> Result<(), Offence> {
    let right = printable(&state.value);
    match reply {
        Reply::Value(value) if parse(value) == parse(&state.value) => Ok(()),
        Reply::Value(value) => {
            let words = format!("it is '{}' just after {right} was put", printable(value));
            Err(Offence::new(ReasonKind::WrongNumber, &state.key, words))
        }
        Reply::Missing => {
            Err(Offence::new(ReasonKind::UnexpectedMiss, &state.key, format!("missing just after {right} was put")))
        }
        other => Err(Offence::failed(&state.key, other)),
    }
}

/// The counters that were read back.
#[derive(Default)]
pub struct CountersFound {
    /// Counters read.
    pub read: u64,
    /// Sum of what they hold.
    pub sum: u64,
    /// The counters that do not hold what they must; `None`: missing.
    pub wrong: BTreeMap<u32, Option<u64>>,
}

/// A thread's slots that read back.
pub struct SummaryReader<'a> {
    trial: &'a EventTrial<'a>,
    slots: Vec<SlotState>,
    found: CountersFound,
}

impl<'a> SummaryReader<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a EventTrial<'a>, slots: Range<Slot>) -> SummaryReader<'a> {
        SummaryReader { trial, slots: states(slots), found: CountersFound::default() }
    }
}

impl Drop for SummaryReader<'_> {
    fn drop(&mut self) {
        self.trial.take(std::mem::take(&mut self.found));
    }
}

impl Worker for SummaryReader<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let state = &mut self.slots[slot as usize];
        let Some(counter) = self.trial.truth.counters.get(state.counter) else { return Step::Finished };
        state.key.clear();
        counter.key(&mut state.key);
        Step::Operation(Operation::Get { key: &state.key })
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let state = &mut self.slots[slot as usize];
        let number = state.counter;
        state.counter += self.trial.slots;
        let value = match reply {
            Reply::Value(text) => parse(text),
            Reply::Missing => None,
            other => return Err(Offence::failed(&state.key, other)),
        };
        self.found.read += 1;
        self.found.sum += value.unwrap_or(0);
        let right = self.trial.truth.counters[number].value;
        if value == Some(right) {
            self.trial.puts.is_there(number as u64);
            return Ok(());
        }
        self.found.wrong.insert(number as u32, value);
        if matches!(reply, Reply::Missing) && self.trial.puts.may_be_missing(number as u64) {
            return Ok(());
        }
        let (kind, words) = match (reply, value) {
            (Reply::Missing, _) => (ReasonKind::UnexpectedMiss, format!("missing at the end; it must be {right}")),
            (_, Some(value)) if value < right => (ReasonKind::LostUpdates, format!("{value} of {right} are there")),
            (_, Some(value)) => (ReasonKind::WrongNumber, format!("it is {value}, right is {right}")),
            (_, None) => (ReasonKind::WrongNumber, "what it holds is not a number".into()),
        };
        Err(Offence::new(kind, &state.key, words))
    }
}
