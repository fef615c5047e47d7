//! The run on the store's own counters: one increment a mention, one a pair.
//!
//! Fans are counted at `fans:PAGE`, partners in the record of counters `with:PAGE`; two prefixes, because stores like
//! Redis keep both kinds in one key space. Increments are atomic in the store, so no policy is needed; it only shares
//! the mentions out.

use super::Input;
use super::policy::Policy;
use super::schedule::Mention;
use super::trial::{Checks, FansTrial};
use crate::tally::{Answers, Tally};
use jobkit::{Offence, Step, Worker, printable};
use std::ops::Range;
use store::{Operation, Reply, Slot};
use study::ReasonKind;

/// Bytes the keys are longer than page names.
pub const PREFIX_BYTES: usize = 5;

/// Replaces `key` by the key of a page's own counter.
pub fn fans_key(page: &[u8], key: &mut Vec<u8>) {
    key.clear();
    key.extend_from_slice(b"fans:");
    key.extend_from_slice(page);
}

/// Replaces `key` by the key of a page's record of counters.
pub fn with_key(page: &[u8], key: &mut Vec<u8>) {
    key.clear();
    key.extend_from_slice(b"with:");
    key.extend_from_slice(page);
}

/// One of a page's counters: its fans (`None`), or how often it was met with a partner.
#[inline]
fn counter(page: u32, partner: Option<u32>) -> u64 {
    u64::from(page) << 32 | partner.map_or(0, |partner| u64::from(partner) + 1)
}

/// Returns a counter, for people.
pub fn counter_name(input: &Input, counter: u64) -> String {
    let name = |page: u32| printable(input.set.pages.get(page));
    let page = name((counter >> 32) as u32);
    match (counter as u32).checked_sub(1) {
        None => format!("key {page}: fans"),
        Some(partner) => format!("key {page}: count with {}", name(partner)),
    }
}

/// Returns the answers that all increments must give together: each counter every number from 1 on; without those increments whose answers
/// are known one by one.
pub fn right_answers(input: &Input, policy: Policy) -> Tally {
    let (mut answers, mut partners) = (Tally::default(), input.partners());
    for page in 0..input.set.pages.len() as u32 {
        let fans = partners.count(page);
        let fans = if policy == Policy::Partition { 0 } else { fans };
        (1..=fans).for_each(|number| answers.add(counter(page, None), u64::from(number)));
        for &partner in partners.met() {
            let times = partners.times(partner);
            (1..=times).for_each(|number| answers.add(counter(page, Some(partner)), u64::from(number)));
        }
    }
    answers
}

/// A thread's slots.
pub struct CounterWorker<'a> {
    trial: &'a FansTrial<'a>,
    slots: Vec<SlotState>,
    key: Vec<u8>,
    answers: Answers,
}

struct SlotState {
    /// Positions in the schedule.
    next: u32,
    end: u32,
    mention: Mention,
    /// What is in flight or comes next within the mention: 0 the page's own counter, i its i-th other page.
    step: u32,
    /// The partner whose count is in flight.
    partner: u32,
    /// Fans of the page after this mention, when only this slot counts them; 0: not known.
    fans: u32,
}

impl<'a> CounterWorker<'a> {
    /// Makes a worker for these slots of the trial.
    pub fn new(trial: &'a FansTrial<'a>, slots: Range<Slot>) -> CounterWorker<'a> {
        let state = |slot| {
            let Range { start, end } = trial.schedule.of(slot);
            SlotState { next: start, end, mention: Mention { profile: 0, page: 0 }, step: 0, partner: 0, fans: 0 }
        };
        CounterWorker { trial, slots: slots.map(state).collect(), key: Vec::new(), answers: Answers::default() }
    }
}

/// The `step`-th page of the list other than `page`, from 1; `None` behind the last.
fn partner(list: &[u32], page: u32, step: u32) -> Option<u32> {
    list.iter().copied().filter(|&other| other != page).nth(step as usize - 1)
}

impl Drop for CounterWorker<'_> {
    fn drop(&mut self) {
        self.trial.take_answers(&self.answers);
    }
}

impl Worker for CounterWorker<'_> {
    fn next(&mut self, slot: Slot) -> Step<'_> {
        let CounterWorker { trial, slots, key, .. } = self;
        let state = &mut slots[slot as usize];
        let set = &trial.input.set;
        if state.step > 0 {
            let list = set.profile(state.mention.profile as usize);
            if let Some(other) = partner(list, state.mention.page, state.step) {
                state.partner = other;
                with_key(set.pages.get(state.mention.page), key);
                return Step::Operation(Operation::IncrementField { key, field: set.pages.get(other), by: 1 });
            }
            state.step = 0;
        }
        if state.next == state.end {
            return Step::Finished;
        }
        state.mention = trial.schedule.at(state.next);
        state.next += 1;
        fans_key(set.pages.get(state.mention.page), key);
        Step::Operation(Operation::Increment { key, by: 1 })
    }

    fn is_done(&mut self, slot: Slot) -> bool {
        let state = &self.slots[slot as usize];
        let list = || self.trial.input.set.profile(state.mention.profile as usize);
        let goes_on = state.step > 0 && partner(list(), state.mention.page, state.step).is_some();
        state.next == state.end && !goes_on
    }

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) -> Result<(), Offence> {
        let CounterWorker { trial, slots, answers, .. } = self;
        let state = &mut slots[slot as usize];
        let page = state.mention.page;
        let step = state.step;
        state.step += 1;
        let key = trial.input.set.pages.get(page);
        let Reply::Number(number) = reply else {
            answers.fails();
            trial.ledger.fails_to_count(page, step == 0);
            return Err(Offence::failed(key, reply));
        };
        if trial.checks == Checks::None {
            return Ok(());
        }
        let most = trial.input.index.profiles(page).len() as i64;
        let expected = match (trial.policy, step) {
            // Only this slot counts this page: its counter is exactly the number of its mentions so far.
            (Policy::Partition, 0) => {
                state.fans = trial.ledger.count(page);
                i64::from(state.fans)..=i64::from(state.fans)
            }
            // A page is met with another at most as often as it is met at all.
            (Policy::Partition, _) => 1..=i64::from(state.fans),
            _ => 1..=most,
        };
        // Of those known by themselves nothing is summed up.
        let summed = (trial.policy, step) != (Policy::Partition, 0);
        if summed {
            answers.add(counter(page, (step > 0).then_some(state.partner)), number.cast_unsigned());
        }
        if expected.contains(number) {
            return Ok(());
        }
        if step == 0 && trial.ledger.is_counted(page, *number, state.fans) {
            state.fans = trial.ledger.floor(page);
            return Ok(());
        }
        // Where a fan was not counted, its partners may have been.
        if step > 0 && (1..=most).contains(number) && trial.ledger.doubts().has(&page) {
            return Ok(());
        }
        if summed {
            answers.offends();
        }
        if step == 0 {
            // Go on from what the store said, so that one wrong number is counted once.
            state.fans = u32::try_from(*number).unwrap_or(0);
            trial.ledger.recount(page, state.fans);
        }
        let what = if step == 0 { "fans" } else { "a partner's count" };
        let (low, high) = (expected.start(), expected.end());
        Err(Offence::new(ReasonKind::WrongNumber, key, format!("{what} is {number}, must be {low} to {high}")))
    }

    #[cold]
    fn leave_off(&mut self) {
        self.answers.fails();
        for state in &mut self.slots {
            if let Some(counted) = state.step.checked_sub(1) {
                let left = self.trial.partners(state.mention).saturating_sub(counted.into());
                self.trial.ledger.leaves_out(state.mention.page, 0, left);
            }
            self.trial.leave_out(None, state.next..state.end);
            (state.step, state.next) = (0, state.end);
        }
    }
}
