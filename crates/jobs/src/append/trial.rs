//! One execution: the appends, and reading all values back.

use super::answer::{self, Wrong};
use super::doubt::AppendDoubts;
use super::read_back::ReadBack;
use super::run::AppendWorker;
use super::{Append, Method, Verify};
use data::append::{Event, RECORD_BYTES};
use jobkit::{JobError, Phase, SharePart, Trial, TrialSetup, Worker};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use store::{Keeps, Slot};
use study::{Answer, Reason, WriteAccount};

/// Wrong values kept, so that the answer can be that of the store; beyond them there is no digest.
const WRONG_KEPT: usize = 100_000;

/// State shared by the workers of one execution.
pub struct AppendTrial<'a> {
    pub(super) job: &'a Append,
    pub(super) method: Method,
    pub(super) slots: u32,
    /// The slots of this share.
    own: Range<Slot>,
    pub(super) keeps: bool,
    found: Mutex<Found>,
    /// Keys of which an append failed.
    pub(super) doubts: RwLock<AppendDoubts>,
    /// By id: how many of a key's last records were never sent, where the run did not come to its end.
    unsent: RwLock<HashMap<u64, usize>>,
    /// Whether there are any: else no read of a value asks for the lock.
    any_unsent: AtomicBool,
}

/// The values that were read back, judged.
#[derive(Default, Serialize, Deserialize)]
pub struct Found {
    keys: u64,
    bytes: u64,
    wrong: Wrong,
    /// Wrong ones, also those not kept.
    wrong_keys: u64,
    /// The fate of the appends.
    pub account: WriteAccount,
    /// Acknowledged records that were missing when it was read back before.
    lost_before: u64,
}

impl Found {
    /// Counts a value that is right.
    pub fn right(&mut self, value: &[u8]) {
        self.keys += 1;
        self.bytes += value.len() as u64;
    }

    /// Counts a value that is wrong; `None`: missing.
    pub fn wrong(&mut self, id: u64, value: Option<&[u8]>) {
        self.keys += 1;
        self.bytes += value.map_or(0, <[u8]>::len) as u64;
        self.wrong_keys += 1;
        if self.wrong.len() < WRONG_KEPT {
            self.wrong.insert(id, value.map(<[u8]>::to_vec));
        }
    }

    /// Adds another thread's.
    fn merge(&mut self, other: Found) {
        self.keys += other.keys;
        self.bytes += other.bytes;
        self.wrong_keys += other.wrong_keys;
        self.wrong.extend(other.wrong);
        self.account.merge(other.account);
        self.lost_before += other.lost_before;
    }
}

/// What the share that reads a key must know of it.
#[derive(Serialize, Deserialize)]
struct Unsure {
    doubts: AppendDoubts,
    unsent: HashMap<u64, usize>,
}

/// What a share has found.
#[derive(Serialize, Deserialize)]
struct FoundPart {
    found: Found,
    unsure: Unsure,
}

impl<'a> AppendTrial<'a> {
    /// Makes an execution on an empty store.
    pub fn new(job: &'a Append, method: Method, setup: &TrialSetup) -> AppendTrial<'a> {
        AppendTrial {
            job,
            method,
            slots: setup.slots.max(1),
            own: setup.own_slots(),
            keeps: setup.capabilities.keeps == Keeps::Everything,
            found: Mutex::default(),
            doubts: RwLock::default(),
            unsent: RwLock::default(),
            any_unsent: AtomicBool::new(false),
        }
    }

    /// Whether this share reads the value of this id back; of a sample, would.
    fn reads(&self, id: u64) -> bool {
        let number = self.job.events.key_of(id).unwrap_or(0) / self.job.verify.one_in();
        self.own.contains(&((number % u64::from(self.slots)) as Slot))
    }

    /// Gives away what is known of keys that are not sure.
    fn take_unsure(&self) -> Unsure {
        let doubts = std::mem::take(&mut *self.doubts.write().unwrap_or_else(PoisonError::into_inner));
        let unsent = std::mem::take(&mut *self.unsent.write().unwrap_or_else(PoisonError::into_inner));
        self.any_unsent.store(false, Ordering::Release);
        Unsure { doubts, unsent }
    }

    fn learn(&self, Unsure { doubts, unsent }: Unsure) {
        self.doubts.write().unwrap_or_else(PoisonError::into_inner).merge(doubts);
        self.leave_out(unsent.into_iter().flat_map(|(id, records)| std::iter::repeat_n(id, records)));
    }

    /// Takes what a thread has not sent.
    pub(super) fn leave_out(&self, ids: impl Iterator<Item = u64>) {
        let mut unsent = self.unsent.write().unwrap_or_else(PoisonError::into_inner);
        ids.for_each(|id| *unsent.entry(id).or_default() += 1);
        self.any_unsent.store(!unsent.is_empty(), Ordering::Release);
    }

    /// Returns how many of a key's last records were never sent.
    pub(super) fn left_out(&self, id: u64) -> usize {
        if !self.any_unsent.load(Ordering::Acquire) {
            return 0;
        }
        self.unsent.read().unwrap_or_else(PoisonError::into_inner).get(&id).copied().unwrap_or(0)
    }

    /// Takes what a thread has read back.
    pub(super) fn take(&self, found: Found) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).merge(found);
    }
}

impl Trial for AppendTrial<'_> {
    fn phases(&self) -> Vec<Phase> {
        let events = self.job.events.len();
        let operations = if self.method == Method::Rewrite { 2 * events } else { events };
        let mut phases = vec![Phase::timed("run", Some(operations)).storing(events)];
        if self.keeps {
            let keys = self.job.events.keys().div_ceil(self.job.verify.one_in());
            phases.push(Phase::read_back(Some(keys)));
        }
        phases
    }

    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        match phase {
            0 => Box::new(AppendWorker::new(self, slots)),
            _ => Box::new(ReadBack::new(self, slots)),
        }
    }

    fn again(&self) -> Option<usize> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        *found = Found { lost_before: found.account.lost, ..Found::default() };
        self.keeps.then_some(1)
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let events = &self.job.events;
        if !self.keeps {
            return (Answer::default(), Vec::new());
        }
        let digest = match self.job.verify {
            Verify::Sample => String::new(),
            Verify::All if found.keys != events.keys() || found.wrong_keys > found.wrong.len() as u64 => String::new(),
            Verify::All if found.wrong.is_empty() => self.job.expected().digest.clone(),
            Verify::All => answer::digest(events, &found.wrong),
        };
        let facts = [
            ("appends", events.len().into()),
            ("keys_read_back", found.keys.into()),
            ("keys_wrong", found.wrong_keys.into()),
            ("value_bytes_read_back", found.bytes.into()),
            ("verified", if self.job.verify == Verify::All { "all".into() } else { "1 key in 100".into() }),
        ];
        let facts =
            facts.into_iter().map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value)).collect();
        (Answer { digest, facts }, Vec::new())
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
        unsure.doubts.keep(|&id| self.reads(id));
        unsure.unsent.retain(|&id, _| self.reads(id));
        self.learn(unsure);
        Ok(())
    }

    fn part(&self) -> Result<SharePart, JobError> {
        let found = std::mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner));
        SharePart::of(&FoundPart { found, unsure: self.take_unsure() })
    }

    fn join(&self, part: SharePart) -> Result<(), JobError> {
        let FoundPart { found, unsure } = part.found()?;
        self.take(found);
        self.learn(unsure);
        Ok(())
    }

    fn largest_reply_bytes(&self) -> Option<u64> {
        // All events may be of one key.
        Some(self.job.events.len() * RECORD_BYTES as u64)
    }

    fn judges_unfinished(&self) -> bool {
        true
    }

    fn keys_left(&self) -> Option<u64> {
        // Of keys in doubt nobody knows whether they are there.
        let is_sure = self.doubts.read().unwrap_or_else(PoisonError::into_inner).is_empty()
            && !self.any_unsent.load(Ordering::Acquire);
        is_sure.then(|| self.job.events.keys())
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        if index >= self.job.events.keys() {
            return false;
        }
        out.extend_from_slice(&Event { id: self.job.events.id(index), fields: 0 }.key());
        true
    }

    fn logical_bytes(&self) -> u64 {
        if self.keeps { jobkit::Job::logical_bytes(self.job) } else { 0 }
    }
}
