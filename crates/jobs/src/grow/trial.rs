//! One execution: the filling, in one phase or several, and reading back.

use super::fill::Fill;
use super::plan::Reads;
use super::read_back::ReadBack;
use super::{Grow, Verify};
use crate::marks::{NotWritten, OnceWritten, WrittenSums};
use data::digest::hex_of_bytes;
use jobkit::{Job, JobError, Phase, SharePart, Trial, TrialSetup, Worker};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use store::{Keeps, Slot};
use study::{Answer, Reason, WriteAccount};

/// Items kept that were found otherwise than they must be; beyond them there is no digest.
const KEPT: usize = 100_000;

/// State shared by the workers of one execution.
pub struct GrowTrial<'a> {
    pub(super) job: &'a Grow,
    pub(super) slots: u32,
    /// The slots of this share.
    own: Range<Slot>,
    pub(super) seed: u64,
    pub(super) keeps: Keeps,
    /// What became of the puts: of those that were not acknowledged nobody knows whether they are there.
    pub(super) puts: OnceWritten,
    found: Mutex<Found>,
}

/// The items that were read back, judged.
#[derive(Default, Serialize, Deserialize)]
pub struct Found {
    items: u64,
    bytes: u64,
    /// Items found otherwise than they must be: the sha256 of what was found, or missing.
    #[serde(with = "crate::hex")]
    otherwise: BTreeMap<u64, Option<[u8; 64]>>,
    /// Those, also the ones not kept.
    wrong: u64,
}

impl Found {
    /// Counts a value that is right.
    pub fn right(&mut self, value: &[u8]) {
        self.items += 1;
        self.bytes += value.len() as u64;
    }

    /// Counts a value that is wrong; `None`: missing.
    pub fn wrong(&mut self, number: u64, value: Option<&[u8]>) {
        self.items += 1;
        self.bytes += value.map_or(0, <[u8]>::len) as u64;
        self.wrong += 1;
        if self.otherwise.len() < KEPT {
            self.otherwise.insert(number, value.map(hex_of_bytes));
        }
    }

    /// Adds another thread's.
    fn merge(&mut self, other: Found) {
        self.items += other.items;
        self.bytes += other.bytes;
        self.wrong += other.wrong;
        self.otherwise.extend(other.otherwise);
    }
}

/// What a share has found.
#[derive(Serialize, Deserialize)]
struct GrowPart {
    found: Found,
    puts: WrittenSums,
}

impl<'a> GrowTrial<'a> {
    /// Makes an execution on an empty store.
    pub fn new(job: &'a Grow, setup: &TrialSetup) -> GrowTrial<'a> {
        GrowTrial {
            job,
            slots: setup.slots.max(1),
            own: setup.own_slots(),
            seed: setup.seed,
            keeps: setup.capabilities.keeps,
            puts: OnceWritten::below(job.items.len()),
            found: Mutex::default(),
        }
    }

    /// Returns how many gets there are between the puts.
    pub(super) fn reads(&self) -> Reads {
        self.job.plan.reads
    }

    /// Takes what a thread has read back.
    pub(super) fn take(&self, found: Found) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).merge(found);
    }
}

impl Trial for GrowTrial<'_> {
    fn phases(&self) -> Vec<Phase> {
        let Grow { items, plan, verify, .. } = self.job;
        let fill = |phase| plan.phase(phase, u64::from(self.slots), self.reads());
        let mut phases: Vec<Phase> = (0..plan.phases()).map(fill).collect();
        if self.keeps == Keeps::Everything {
            phases.push(Phase::read_back(Some(items.len().div_ceil(verify.one_in()))));
        }
        phases
    }

    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        match phase < self.job.plan.phases() {
            true => Box::new(Fill::new(self, phase, slots)),
            false => Box::new(ReadBack::new(self, slots)),
        }
    }

    fn again(&self) -> Option<usize> {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Found::default();
        (self.keeps == Keeps::Everything).then_some(self.job.plan.phases())
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        if self.keeps == Keeps::Nothing {
            return (Answer::default(), Vec::new());
        }
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let items = &self.job.items;
        let digest = match self.job.verify {
            Verify::Sample => String::new(),
            Verify::All if found.items != items.len() || found.wrong > found.otherwise.len() as u64 => String::new(),
            Verify::All if found.otherwise.is_empty() => self.job.expected().to_owned(),
            Verify::All => items.digest_but(&found.otherwise),
        };
        let facts = [
            ("items", items.len().into()),
            ("items_read_back", found.items.into()),
            ("items_wrong", found.wrong.into()),
            ("items_not_acknowledged", self.puts.failed().into()),
            ("value_bytes_read_back", found.bytes.into()),
            ("verified", if self.job.verify == Verify::All { "all".into() } else { "1 item in 100".into() }),
        ];
        let facts =
            facts.into_iter().map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value)).collect();
        (Answer { digest, facts }, Vec::new())
    }

    fn account(&self) -> Option<WriteAccount> {
        (self.keeps == Keeps::Everything).then(|| self.puts.account())
    }

    fn tell(&self, phase: usize) -> Result<SharePart, JobError> {
        if phase == self.job.plan.phases() { SharePart::of(&self.puts.tell()) } else { Ok(SharePart::default()) }
    }

    fn hear(&self, _: usize, told: SharePart) -> Result<(), JobError> {
        if told.is_empty() {
            return Ok(());
        }
        let told: NotWritten = told.found()?;
        let reader = |number: u64| ((number / self.job.verify.one_in()) % u64::from(self.slots)) as Slot;
        self.puts.hear(told, |number| self.own.contains(&reader(number)));
        Ok(())
    }

    fn part(&self) -> Result<SharePart, JobError> {
        let found = std::mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner));
        SharePart::of(&GrowPart { found, puts: self.puts.sums() })
    }

    fn join(&self, part: SharePart) -> Result<(), JobError> {
        let GrowPart { found, puts } = part.found()?;
        self.take(found);
        self.puts.join(puts);
        Ok(())
    }

    fn largest_reply_bytes(&self) -> Option<u64> {
        Some((self.job.items.most_value_bytes() + self.job.items.key_lengths()[1]) as u64)
    }

    fn judges_unfinished(&self) -> bool {
        true
    }

    fn keys_left(&self) -> Option<u64> {
        // What was not acknowledged may be there or not: then only reading back says how many there are.
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        match (
            self.puts.are_all_acknowledged(),
            found.items == self.job.items.len() && found.wrong == found.otherwise.len() as u64,
        ) {
            (true, _) => Some(self.job.items.len()),
            (false, true) => {
                Some(found.items - found.otherwise.values().filter(|value| value.is_none()).count() as u64)
            }
            (false, false) => None,
        }
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        if index >= self.job.items.len() {
            return false;
        }
        self.job.items.key(index, out);
        true
    }

    fn logical_bytes(&self) -> u64 {
        match self.keeps {
            Keeps::Everything => self.job.logical_bytes(),
            Keeps::Nothing => 0,
        }
    }
}
