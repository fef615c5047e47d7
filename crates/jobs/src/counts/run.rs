//! The run: an increment a term, by the store itself, the memcached way, or by get and put.
//!
//! Increments of the store are shared out evenly, in any order. Rewriting is done in the order of the messages, each term by one
//! thread and by one slot at a time.

use super::doubt::{CountDoubts, Increments, ONE, allows_instead};
use super::trial::CountTrial;
use super::{Method, parse};
use crate::in_order::{InOrder, belongs};
use crate::tally::Answers;
use crate::witnessed::Telling;
use data::splitmix::mix;
use jobkit::{Offence, Step, Worker};
use std::io::Write;
use std::ops::Range;
use store::{Operation, OperationKind, Reply, Slot};
use study::ReasonKind;

/// A term is announced to the store at least this many increments before its own: a turn of the engine.
const AHEAD: usize = 64;

/// A thread's slots.
pub struct CountWorker<'a> {
    trial: &'a CountTrial<'a>,
    slots_of_trial: Range<Slot>,
    /// Places in the list of increments.
    next: usize,
    end: usize,
    /// Behind the increment whose term was told last.
    told: usize,
    order: InOrder<u32>,
    slots: Vec<SlotState>,
    /// How often each term was counted, where only this thread, one operation a term, counts it: then every reply is known exactly.
    counted: Vec<u32>,
    /// What increments answered, where others count the same terms: then all answers together are known exactly.
    answers: Option<Answers>,
    stored: u64,
    /// Counters of which an increment of this thread failed.
    doubts: CountDoubts,
}

#[derive(Clone, Default)]
struct SlotState {
    term: u32,
    /// Memcached way: increments of the term that were acknowledged before what is in flight was sent.
    floor: u32,
    stage: Stage,
    number: Vec<u8>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Idle,
    /// The get is in flight.
    Reading,
    /// Memcached way: the counter is absent, 0 has to be added.
    Absent,
    /// Memcached way: 0 is being added.
    Adding,
    /// The increment, or the new number, waits to be sent.
    Ready,
    /// It is in flight.
    Writing,
}

impl<'a> CountWorker<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a CountTrial<'a>, slots: Range<Slot>) -> CountWorker<'a> {
        let increments = trial.job.terms.increments.len();
        let share = |slot: Slot| (increments as u64 * u64::from(slot) / u64::from(trial.slots)) as usize;
        let (next, end) = match trial.method {
            Method::Rewrite => (0, increments),
            _ => (share(slots.start), share(slots.end)),
        };
        let exact = trial.keeps && (trial.slots == 1 || trial.method == Method::Rewrite);
        CountWorker {
            trial,
            next,
            end,
            told: 0,
            order: InOrder::new(slots.len()),
            slots: vec![SlotState::default(); slots.len()],
            counted: vec![0; if exact { trial.job.terms.names.len() } else { 0 }],
            answers: (trial.keeps && !exact).then(Answers::default),
            slots_of_trial: slots,
            stored: 0,
            doubts: CountDoubts::default(),
        }
    }

    /// The increment of a term failed in this stage.
    #[cold]
    fn fails(&mut self, term: u32, stage: Stage) {
        if !self.trial.keeps {
            return;
        }
        let doubt = self.doubts.of(term);
        if stage != Stage::Writing {
            return doubt.skips(ONE);
        }
        match (self.trial.method, self.counted.get_mut(term as usize)) {
            (Method::Rewrite, Some(counted)) => {
                doubt.fails(Increments { number: Some((*counted).into()), ..ONE });
                *counted = counted.saturating_sub(1); // it counted the put that failed
            }
            _ => doubt.fails(ONE),
        }
    }

    /// Whether increments that failed, and are there all the same, make the count this; from then on it goes on from there.
    #[cold]
    fn is_explained(&mut self, term: u32, count: u64, right: u64) -> bool {
        let Some(doubt) = self.doubts.get_mut(&term) else { return false };
        match self.trial.method {
            Method::Rewrite => allows_instead(doubt, count, right),
            _ => doubt.allows_more(count.saturating_sub(right).cast_signed()),
        }
    }

    /// The term an idle slot counts next.
    #[inline]
    fn take(&mut self, slot: Slot) -> Option<u32> {
        if self.trial.method != Method::Rewrite {
            return self.any();
        }
        let CountWorker { trial, slots_of_trial, next, end, order, .. } = self;
        order.take(slot, || own(trial, slots_of_trial, next, *end).map(|term| (u64::from(term), term)))
    }

    /// Whether the slot has nothing more to take.
    fn has_none(&mut self, slot: Slot) -> bool {
        let CountWorker { trial, slots_of_trial, next, end, order, .. } = self;
        if trial.method == Method::Rewrite {
            if order.has_waiting(slot) {
                return false;
            }
            // The place of the next term of these slots.
            let mut behind = *next;
            if own(trial, slots_of_trial, &mut behind, *end).is_some() {
                *next = behind - 1;
                return false;
            }
            *next = behind;
        }
        next >= end
    }

    /// The next term of the list, whosever it is.
    #[inline]
    fn any(&mut self) -> Option<u32> {
        let term = *self.trial.job.terms.increments[..self.end].get(self.next)?;
        self.next += 1;
        Some(term)
    }

    /// Checks a count before (0: absent) or after an increment; where others count the same term it is `floor` at least.
    #[inline]
    fn check(&mut self, term: u32, count: u64, done: u32, floor: u32) -> Result<(), Offence> {
        if !self.trial.keeps {
            return Ok(());
        }
        let most = u64::from(self.trial.job.terms.counts[term as usize]);
        let (low, high) = match self.counted.get_mut(term as usize) {
            Some(counted) => {
                let right = u64::from(*counted + done);
                *counted = u32::try_from(count).unwrap_or(0); // goes on from what the store said: one wrong number counts once
                (right, right)
            }
            None => (u64::from(floor + done), most),
        };
        if (low..=high).contains(&count) || !self.doubts.is_empty() && self.is_explained(term, count, high) {
            return Ok(());
        }
        if let (Some(answers), 1..) = (&mut self.answers, done) {
            answers.offends();
        }
        let key = self.trial.job.terms.names.get(term);
        let (count, low, high) = (study::whole(count), study::whole(low), study::whole(high));
        Err(Offence::new(ReasonKind::WrongNumber, key, format!("the count is {count}, must be {low} to {high}")))
    }
}

/// The next term of the list that is of these slots.
#[inline]
fn own(trial: &CountTrial<'_>, slots: &Range<Slot>, next: &mut usize, end: usize) -> Option<u32> {
    let left = trial.job.terms.increments.get(*next..end)?;
    let at = left.iter().position(|&term| belongs(mix(u64::from(term)), slots, trial.slots));
    *next += at.map_or(left.len(), |at| at + 1);
    at.map(|at| left[at])
}

impl Drop for CountWorker<'_> {
    fn drop(&mut self) {
        if let Some(answers) = &self.answers {
            self.trial.take_answers(answers);
        }
        if !self.doubts.is_empty() {
            self.trial.take_doubts(std::mem::take(&mut self.doubts));
        }
    }
}

impl Telling for CountWorker<'_> {
    fn key_number(&self, slot: Slot) -> u64 {
        self.slots[slot as usize].term.into()
    }

    fn version(_: &[u8]) -> Option<u64> {
        None
    }
}

impl Worker for CountWorker<'_> {
    #[inline]
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let names = &self.trial.job.terms.names;
        if self.slots[slot as usize].stage == Stage::Idle {
            let Some(term) = self.take(slot) else { return Step::Finished };
            let state = &mut self.slots[slot as usize];
            state.term = term;
            state.floor = self.trial.acknowledged(term);
            state.stage = match self.trial.method {
                Method::Auto | Method::Native => Stage::Ready,
                Method::Memcached | Method::Rewrite => Stage::Reading,
            };
        }
        let state = &mut self.slots[slot as usize];
        let key = names.get(state.term);
        match (state.stage, self.trial.method) {
            (Stage::Reading, Method::Rewrite) => Step::Operation(Operation::Get { key }),
            (Stage::Reading, _) => Step::Operation(Operation::GetCounter { key }),
            (Stage::Absent, _) => {
                state.stage = Stage::Adding;
                Step::Operation(Operation::Increment { key, by: 0 })
            }
            (_, Method::Rewrite) => {
                state.stage = Stage::Writing;
                Step::Operation(Operation::Put { key, value: &state.number })
            }
            _ => {
                state.stage = Stage::Writing;
                Step::Operation(Operation::Increment { key, by: 1 })
            }
        }
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        self.slots[slot as usize].stage == Stage::Idle && self.has_none(slot)
    }

    #[inline]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let state = &mut self.slots[slot as usize];
        let (term, stage, floor) = (state.term, state.stage, state.floor);
        let number = match (stage, reply) {
            (Stage::Reading, Reply::Missing) => Some(0),
            (Stage::Reading, Reply::Value(text)) => parse(text),
            (Stage::Writing, Reply::Done) => Some(0),
            (_, Reply::Number(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        let Some(number) = number else {
            state.stage = Stage::Idle;
            self.order.done(slot);
            if let (Some(answers), Stage::Writing) = (&mut self.answers, stage) {
                answers.fails();
            }
            self.fails(term, stage);
            return Err(Offence::failed(self.trial.job.terms.names.get(term), reply));
        };
        match (stage, self.trial.method) {
            (Stage::Reading, Method::Rewrite) => {
                state.number.clear();
                let _ = write!(state.number, "{}", number + 1); // writing to memory does not fail
                state.stage = Stage::Ready;
                let checked = self.check(term, number, 0, 0);
                if let Some(counted) = self.counted.get_mut(term as usize) {
                    *counted += 1;
                }
                checked
            }
            (Stage::Reading, _) => {
                state.stage = if matches!(reply, Reply::Missing) { Stage::Absent } else { Stage::Ready };
                self.check(term, number, 0, floor)
            }
            (Stage::Adding, _) => {
                state.stage = Stage::Ready;
                self.check(term, number, 0, floor)
            }
            _ => {
                state.stage = Stage::Idle;
                self.stored += 1;
                self.order.done(slot);
                if self.trial.method == Method::Rewrite {
                    return Ok(());
                }
                if let Some(answers) = &mut self.answers {
                    answers.add(u64::from(term), number);
                }
                self.trial.acknowledge(term);
                self.check(term, number, 1, floor)
            }
        }
    }

    #[cold]
    fn leave_off(&mut self) {
        if let Some(answers) = &mut self.answers {
            answers.fails();
        }
        for slot in 0..self.slots.len() as Slot {
            let SlotState { term, stage, .. } = self.slots[slot as usize];
            if stage != Stage::Idle {
                self.slots[slot as usize].stage = Stage::Idle;
                self.trial.leave_out(std::iter::once(term));
            }
            // What waits behind another of the same term.
            self.trial.leave_out(std::iter::from_fn(|| self.order.take(slot, || None)));
        }
        let CountWorker { trial, slots_of_trial, next, end, .. } = self;
        match trial.method {
            Method::Rewrite => trial.leave_out(std::iter::from_fn(|| own(trial, slots_of_trial, next, *end))),
            _ => trial.leave_out(trial.job.terms.increments[*next..*end].iter().copied()),
        }
        *next = *end;
    }

    #[inline]
    fn ahead(&mut self, _: Slot) -> Option<(OperationKind, &[u8])> {
        if let Method::Memcached | Method::Rewrite = self.trial.method {
            return None;
        }
        let terms = &self.trial.job.terms;
        let at = self.told.max(self.next + AHEAD);
        let term = *terms.increments[..self.end].get(at)?;
        self.told = at + 1;
        Some((OperationKind::Increment, terms.names.get(term)))
    }

    #[inline]
    fn stored(&self) -> u64 {
        self.stored
    }
}
