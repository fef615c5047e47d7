//! One execution: the run, and the read-back.

use super::Input;
use super::blob::BlobWorker;
use super::counters::{CounterWorker, counter_name, fans_key, right_answers, with_key};
use super::doubt::PageDoubts;
use super::found::{Found, FoundPages};
use super::pages::Ledger;
use super::policy::{Policy, Variant};
use super::read_back::ReadBack;
use super::schedule::{Mention, MentionSchedule};
use crate::tally::Answers;
use jobkit::{JobError, Phase, SharePart, Trial, TrialSetup, Worker};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use store::{Keeps, Slot};
use study::{Answer, Reason, WriteAccount};

/// The checks of a trial: whether the store's answers can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// Everything is.
    All,
    /// The store keeps nothing: only failures count, and nothing is read back.
    None,
}

/// State shared by the workers of one execution.
pub struct FansTrial<'a> {
    pub(super) input: &'a Input,
    pub(super) policy: Policy,
    pub(super) variant: Variant,
    pub(super) slots: u32,
    /// The slots of this share.
    own: Range<Slot>,
    pub(super) checks: Checks,
    pub(super) schedule: MentionSchedule,
    pub(super) ledger: Ledger,
    pub(super) found: Mutex<Found>,
    answers: Mutex<Answers>,
}

/// What a share has found.
#[derive(Serialize, Deserialize)]
struct FansPart {
    found: FoundPages,
    answers: Answers,
}

impl<'a> FansTrial<'a> {
    /// Makes an execution on an empty store.
    pub fn new(input: &'a Input, policy: Policy, variant: Variant, setup: &TrialSetup) -> FansTrial<'a> {
        let (pages, slots) = (input.set.pages.len(), setup.slots);
        let checks = if setup.capabilities.keeps == Keeps::Everything { Checks::All } else { Checks::None };
        FansTrial {
            input,
            policy,
            variant,
            slots: slots.max(1),
            own: setup.own_slots(),
            checks,
            schedule: MentionSchedule::new(&input.set, policy, slots),
            ledger: Ledger::new(pages, policy),
            found: Mutex::new(Found::new(pages)),
            answers: Mutex::default(),
        }
    }

    /// Partners of the page in a mention.
    pub(super) fn partners(&self, Mention { profile, page }: Mention) -> u64 {
        self.input.set.profile(profile as usize).iter().filter(|&&other| other != page).count() as u64
    }

    /// Mentions that a slot never came to: one it had begun, and those at these places.
    pub(super) fn leave_out(&self, begun: Option<Mention>, places: Range<u32>) {
        for mention in begun.into_iter().chain(places.map(|place| self.schedule.at(place))) {
            self.ledger.leaves_out(mention.page, 1, self.partners(mention));
        }
    }

    /// Takes what a thread's counters answered.
    pub(super) fn take_answers(&self, answers: &Answers) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).merge(answers);
    }

    /// Returns what is wrong with the counters' answers as a whole.
    fn wrong_answers(&self) -> Option<Reason> {
        if self.variant != Variant::Counters {
            return None;
        }
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.reason(&right_answers(self.input, self.policy), |counter| counter_name(self.input, counter))
    }
}

impl Trial for FansTrial<'_> {
    fn phases(&self) -> Vec<Phase> {
        let mentions = self.input.set.mentions().len() as u64;
        let pages = self.input.set.pages.len() as u64;
        let (run, back) = match self.variant {
            Variant::Blob => (2 * mentions, pages),
            Variant::Counters => (mentions + self.input.summary().pair_increments, 2 * pages),
        };
        let mut phases = vec![Phase::timed("run", Some(run))];
        if self.checks == Checks::All {
            phases.push(Phase::read_back(Some(back)));
        }
        phases
    }

    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        match (phase, self.variant) {
            (0, Variant::Blob) => Box::new(BlobWorker::new(self, slots)),
            (0, Variant::Counters) => Box::new(CounterWorker::new(self, slots)),
            _ => Box::new(ReadBack::new(self, slots)),
        }
    }

    fn again(&self) -> Option<usize> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        *found = Found::again(self.input.set.pages.len(), &found);
        (self.checks == Checks::All).then_some(1)
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        match self.checks {
            Checks::All => {
                let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                found.in_doubt |= !self.ledger.doubts().is_empty();
                let (answer, mut reasons) = found.answer(self.input);
                reasons.extend(self.wrong_answers());
                (answer, reasons)
            }
            Checks::None => (Answer::default(), Vec::new()),
        }
    }

    fn account(&self) -> Option<WriteAccount> {
        // Without a policy clients write over each other's work, and what is missing is not the store's.
        let is_known = self.checks == Checks::All && (self.policy != Policy::None || self.variant == Variant::Counters);
        is_known.then(|| self.found.lock().unwrap_or_else(PoisonError::into_inner).writes())
    }

    /// Who reads a page need not be who wrote it.
    fn tell(&self, phase: usize) -> Result<SharePart, JobError> {
        if phase == 1 { SharePart::of(&std::mem::take(&mut *self.ledger.doubts())) } else { Ok(SharePart::default()) }
    }

    fn hear(&self, _: usize, told: SharePart) -> Result<(), JobError> {
        if told.is_empty() {
            return Ok(());
        }
        let mut doubts: PageDoubts = told.found()?;
        doubts.keep(|page| self.own.contains(&(page % self.slots)));
        self.ledger.doubts().merge(doubts);
        Ok(())
    }

    fn part(&self) -> Result<SharePart, JobError> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.in_doubt |= !self.ledger.doubts().is_empty();
        let answers = std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner));
        SharePart::of(&FansPart { found: found.pages(), answers })
    }

    fn join(&self, part: SharePart) -> Result<(), JobError> {
        let FansPart { found, answers } = part.found()?;
        self.take_answers(&answers);
        self.found.lock().unwrap_or_else(PoisonError::into_inner).join(found)
    }

    fn largest_reply_bytes(&self) -> Option<u64> {
        let largest = self.input.summary().largest_value_bytes as u64;
        // The names of a record of counters lie between sizes, which may be longer than themselves.
        Some(if self.variant == Variant::Counters { 3 * largest } else { largest })
    }

    fn judges_unfinished(&self) -> bool {
        true
    }

    fn keys_left(&self) -> Option<u64> {
        if self.found.lock().unwrap_or_else(PoisonError::into_inner).in_doubt || !self.ledger.doubts().is_empty() {
            return None;
        }
        let pages = self.input.set.pages.len() as u32;
        let mut partners = self.input.partners();
        let records = match self.variant {
            Variant::Blob => 0,
            // A page that was never met with another has no record of partners.
            Variant::Counters => (0..pages)
                .filter(|&page| {
                    partners.count(page);
                    !partners.met().is_empty()
                })
                .count() as u64,
        };
        Some(u64::from(pages) + records)
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        let pages = &self.input.set.pages;
        let kinds = if self.variant == Variant::Counters { 2 } else { 1 };
        if index >= kinds * pages.len() as u64 {
            return false;
        }
        let page = pages.get((index / kinds) as u32);
        match (self.variant, index % kinds) {
            (Variant::Blob, _) => out.extend_from_slice(page),
            (Variant::Counters, 0) => fans_key(page, out),
            (Variant::Counters, _) => with_key(page, out),
        }
        true
    }

    fn logical_bytes(&self) -> u64 {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).logical_bytes()
    }
}
