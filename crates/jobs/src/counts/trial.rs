//! One execution: the increments, and reading all counters back.

use super::doubt::CountDoubts;
use super::read_back::ReadBack;
use super::run::CountWorker;
use super::{Counting, Method};
use crate::tally::Answers;
use crate::witnessed::Witnessed;
use history::Collector;
use jobkit::{Job, JobError, Phase, SharePart, Trial, TrialSetup, Worker, printable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use store::{Keeps, Slot};
use study::{Answer, Reason, WriteAccount};

/// State shared by the workers of one execution.
pub struct CountTrial<'a> {
    pub(super) job: &'a Counting,
    pub(super) method: Method,
    pub(super) slots: u32,
    /// The slots of this share.
    own: Range<Slot>,
    pub(super) keeps: bool,
    /// Memcached way: how often the increment of each term was acknowledged, so that no slot is answered less.
    acknowledged: Vec<AtomicU32>,
    answers: Mutex<Answers>,
    found: Mutex<Found>,
    /// Counters of which an increment failed.
    pub(super) doubts: RwLock<CountDoubts>,
    /// By term: increments that were never sent, where the run did not come to its end; empty where it did.
    unsent: RwLock<Vec<u32>>,
    /// Whether it is not empty: else no read of a count asks for the lock.
    any_unsent: AtomicBool,
    /// Where what clients see is recorded.
    history: OnceLock<Arc<Collector>>,
}

/// The counts that were read back, judged.
#[derive(Default, Serialize, Deserialize)]
pub struct Found {
    /// Counters read.
    pub read: u64,
    /// Sum of what they hold.
    pub sum: u64,
    /// The counters that do not hold what they must; `None`: missing.
    pub wrong: BTreeMap<u32, Option<u64>>,
    /// The fate of the increments.
    pub account: WriteAccount,
    /// Acknowledged increments that were missing when it was read back before.
    pub lost_before: u64,
}

/// What the share that reads a counter must know of it.
#[derive(Serialize, Deserialize)]
struct Unsure {
    doubts: CountDoubts,
    /// Increments that were never sent, by term.
    unsent: BTreeMap<u32, u32>,
}

/// What a share has found.
#[derive(Serialize, Deserialize)]
struct CountPart {
    found: Found,
    answers: Answers,
    unsure: Unsure,
}

/// A count takes no more, whatever a store writes it as.
const COUNT_BYTES: u64 = 64;

impl<'a> CountTrial<'a> {
    /// Makes an execution on an empty store.
    pub fn new(job: &'a Counting, method: Method, setup: &TrialSetup) -> CountTrial<'a> {
        let keeps = setup.capabilities.keeps == Keeps::Everything;
        let floors = if method == Method::Memcached && keeps { job.terms.names.len() } else { 0 };
        CountTrial {
            job,
            method,
            slots: setup.slots.max(1),
            own: setup.own_slots(),
            keeps,
            acknowledged: (0..floors).map(|_| AtomicU32::new(0)).collect(),
            answers: Mutex::default(),
            found: Mutex::default(),
            doubts: RwLock::default(),
            unsent: RwLock::default(),
            any_unsent: AtomicBool::new(false),
            history: OnceLock::new(),
        }
    }

    /// Increments of a term that were acknowledged so far, where that is kept.
    #[inline]
    pub(super) fn acknowledged(&self, term: u32) -> u32 {
        self.acknowledged.get(term as usize).map_or(0, |count| count.load(Ordering::Acquire))
    }

    /// Notes that one more increment of a term was acknowledged.
    #[inline]
    pub(super) fn acknowledge(&self, term: u32) {
        if let Some(count) = self.acknowledged.get(term as usize) {
            count.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Takes what a thread's increments answered.
    pub(super) fn take_answers(&self, answers: &Answers) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).merge(answers);
    }

    /// Takes the terms of increments that a thread has not sent.
    pub(super) fn leave_out(&self, terms: impl Iterator<Item = u32>) {
        let mut unsent = self.unsent.write().unwrap_or_else(PoisonError::into_inner);
        unsent.resize(self.job.terms.names.len(), 0);
        self.any_unsent.store(true, Ordering::Release);
        terms.for_each(|term| unsent[term as usize] += 1);
    }

    /// Returns what the count of a term must be, as far as its increments were sent.
    pub(super) fn right(&self, term: u32) -> u64 {
        let all = self.job.terms.counts[term as usize];
        if !self.any_unsent.load(Ordering::Acquire) {
            return all.into();
        }
        let unsent = self.unsent.read().unwrap_or_else(PoisonError::into_inner).get(term as usize).copied();
        (all - unsent.unwrap_or(0)).into()
    }

    /// Takes the counters in doubt of a thread.
    pub(super) fn take_doubts(&self, doubts: CountDoubts) {
        self.doubts.write().unwrap_or_else(PoisonError::into_inner).merge(doubts);
    }

    /// Takes what a thread has read back.
    pub(super) fn take(&self, found: Found) {
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        all.read += found.read;
        all.sum += found.sum;
        all.wrong.extend(found.wrong);
        all.account.merge(found.account);
        all.lost_before += found.lost_before;
    }

    /// Gives away what is known of counters that are not sure.
    fn take_unsure(&self) -> Unsure {
        let doubts = std::mem::take(&mut *self.doubts.write().unwrap_or_else(PoisonError::into_inner));
        let unsent = std::mem::take(&mut *self.unsent.write().unwrap_or_else(PoisonError::into_inner));
        self.any_unsent.store(false, Ordering::Release);
        Unsure { doubts, unsent: (0..).zip(unsent).filter(|&(_, unsent)| unsent > 0).collect() }
    }

    fn learn(&self, Unsure { doubts, unsent }: Unsure) {
        self.take_doubts(doubts);
        if !unsent.is_empty() {
            self.leave_out(unsent.into_iter().flat_map(|(term, unsent)| std::iter::repeat_n(term, unsent as usize)));
        }
    }
}

impl Trial for CountTrial<'_> {
    fn phases(&self) -> Vec<Phase> {
        let (increments, terms) = (self.job.terms.increments.len() as u64, self.job.terms.names.len() as u64);
        let operations = match self.method {
            Method::Auto | Method::Native => increments,
            Method::Memcached => 2 * increments + if self.keeps { terms } else { increments },
            Method::Rewrite => 2 * increments,
        };
        let mut phases = vec![Phase::timed("run", Some(operations)).storing(increments)];
        if self.keeps {
            phases.push(Phase::read_back(Some(terms)));
        }
        phases
    }

    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        let first = slots.clone();
        match (phase, self.history.get()) {
            (0, None) => Box::new(CountWorker::new(self, slots)),
            (0, Some(history)) => Box::new(Witnessed::new(CountWorker::new(self, slots), first, history)),
            (_, None) => Box::new(ReadBack::new(self, slots)),
            (_, Some(history)) => Box::new(Witnessed::new(ReadBack::new(self, slots), first, history)),
        }
    }

    fn record_history(&self, history: &Arc<Collector>) -> Result<(), String> {
        if !self.keeps {
            return Err("the store keeps nothing".into());
        }
        if self.method == Method::Rewrite {
            return Err("a number that is put does not say which increment it is; increment=native says it".into());
        }
        let _ = self.history.set(Arc::clone(history));
        Ok(())
    }

    fn again(&self) -> Option<usize> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        *found = Found { lost_before: found.account.lost, ..Found::default() };
        self.keeps.then_some(1)
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        if !self.keeps {
            return (Answer::default(), Vec::new());
        }
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let terms = &self.job.terms;
        let digest = match () {
            () if found.read != terms.names.len() as u64 => String::new(),
            () if found.wrong.is_empty() => self.job.digest().to_owned(),
            () => self.job.digest_with(&found.wrong),
        };
        let facts: [(&str, serde_json::Value); 4] = [
            ("increments", terms.increments.len().into()),
            ("terms_read_back", found.read.into()),
            ("terms_wrong", found.wrong.len().into()),
            ("sum_of_counts", found.sum.into()),
        ];
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let name = |term: u64| format!("key {}", printable(terms.names.get(term as u32)));
        let wrong = if self.slots > 1 && self.method != Method::Rewrite {
            answers.reason(self.job.answers(), name)
        } else {
            None
        };
        (
            Answer { digest, facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect() },
            wrong.into_iter().collect(),
        )
    }

    fn account(&self) -> Option<WriteAccount> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let WriteAccount { lost, .. } = found.account;
        self.keeps.then_some(WriteAccount { lost: lost.max(found.lost_before), ..found.account })
    }

    fn tell(&self, phase: usize) -> Result<SharePart, JobError> {
        if phase == 1 { SharePart::of(&self.take_unsure()) } else { Ok(SharePart::default()) }
    }

    fn hear(&self, _: usize, told: SharePart) -> Result<(), JobError> {
        if told.is_empty() {
            return Ok(());
        }
        let mut unsure: Unsure = told.found()?;
        let is_read = |term: &u32| self.own.contains(&(term % self.slots));
        unsure.doubts.keep(is_read);
        unsure.unsent.retain(|term, _| is_read(term));
        self.learn(unsure);
        Ok(())
    }

    fn part(&self) -> Result<SharePart, JobError> {
        let found = std::mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner));
        let answers = std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner));
        SharePart::of(&CountPart { found, answers, unsure: self.take_unsure() })
    }

    fn join(&self, part: SharePart) -> Result<(), JobError> {
        let CountPart { found, answers, unsure } = part.found()?;
        self.take(found);
        self.take_answers(&answers);
        self.learn(unsure);
        Ok(())
    }

    fn largest_reply_bytes(&self) -> Option<u64> {
        Some(COUNT_BYTES)
    }

    fn judges_unfinished(&self) -> bool {
        true
    }

    fn keys_left(&self) -> Option<u64> {
        let is_sure = self.doubts.read().unwrap_or_else(PoisonError::into_inner).is_empty()
            && !self.any_unsent.load(Ordering::Acquire);
        is_sure.then_some(self.job.terms.names.len() as u64)
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        let terms = &self.job.terms.names;
        if index >= terms.len() as u64 {
            return false;
        }
        out.extend_from_slice(terms.get(index as u32));
        true
    }

    fn logical_bytes(&self) -> u64 {
        if self.keeps { self.job.logical_bytes() } else { 0 }
    }
}
