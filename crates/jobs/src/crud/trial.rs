//! One execution: the four phases, and the checks between them.

use super::progress::RowsDone;
use super::rows::{RowState, decimal};
use super::work::Work;
use super::{Crud, Insert, Stage, Wrong, digest_of};
use crate::states::StateDoubts;
use jobkit::{Job, JobError, Phase, SharePart, Trial, TrialSetup, Worker};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use store::{Keeps, OperationKind, Slot};
use study::{Answer, Reason, WriteAccount};

/// State shared by the workers of one execution.
pub struct CrudTrial<'a> {
    job: &'a Crud,
    pub(super) rows: u64,
    pub(super) insert: Insert,
    pub(super) slots: u32,
    pub(super) seed: u64,
    pub(super) keeps: Keeps,
    stages: Vec<Stage>,
    pub(super) wrong: Mutex<Wrong>,
    /// Rows of which a write failed.
    pub(super) doubts: Mutex<StateDoubts<RowState>>,
    /// Whether there are any.
    pub(super) any_doubt: AtomicBool,
    pub(super) progress: RowsDone,
    /// The fate of the writes of other shares.
    joined: Mutex<WriteAccount>,
}

/// What a share has found.
#[derive(Serialize, Deserialize)]
struct CrudPart {
    wrong: Vec<(Stage, u64)>,
    account: WriteAccount,
    any_doubt: bool,
    /// The phase of writes that began last.
    writes: Stage,
    left_off: bool,
}

/// A row and its key take less.
const ROW_BYTES: u64 = 256;

impl<'a> CrudTrial<'a> {
    /// Makes an execution on an empty store.
    pub(super) fn new(job: &'a Crud, setup: &TrialSetup) -> CrudTrial<'a> {
        let keeps = setup.capabilities.keeps;
        let adds = job.insert == Insert::Add && setup.capabilities.has(OperationKind::CompareAndSet);
        CrudTrial {
            job,
            rows: job.rows,
            insert: if adds { Insert::Add } else { Insert::Put },
            slots: setup.slots.max(1),
            seed: setup.seed,
            keeps,
            stages: Stage::ALL.into_iter().filter(|stage| keeps == Keeps::Everything || !stage.is_check()).collect(),
            wrong: Mutex::default(),
            doubts: Mutex::default(),
            any_doubt: AtomicBool::new(false),
            progress: RowsDone::new(job.rows),
            joined: Mutex::default(),
        }
    }
}

impl Trial for CrudTrial<'_> {
    fn phases(&self) -> Vec<Phase> {
        let operations = Some(self.rows);
        let phase = |stage: &Stage| match stage.is_check() {
            true => Phase { name: stage.name(), ..Phase::read_back(operations) },
            false => Phase::timed(stage.name(), operations),
        };
        self.stages.iter().map(phase).collect()
    }

    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        Box::new(Work::new(self, self.stages[phase], slots))
    }

    fn again(&self) -> Option<usize> {
        self.stages.iter().position(|stage| *stage == Stage::CheckDelete)
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        if self.keeps == Keeps::Nothing {
            return (Answer::default(), Vec::new());
        }
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.job.known_digest().filter(|_| wrong.is_empty());
        let is_whole = !self.progress.is_left_off();
        let valid = |stage| {
            let of_it = wrong.iter().filter(|(found, _)| *found == stage).count() as u64;
            if self.progress.is_known_of(stage) { self.rows - of_it } else { 0 }
        };
        let facts = [
            ("rows", self.rows.into()),
            ("valid_after_insert", valid(Stage::Insert).into()),
            ("valid_after_update", valid(Stage::Update).into()),
            ("valid_after_delete", valid(Stage::Delete).into()),
        ]
        .map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value));
        let digest = if is_whole { known.unwrap_or_else(|| digest_of(self.rows, &wrong)) } else { String::new() };
        (Answer { digest, facts: facts.into() }, Vec::new())
    }

    fn account(&self) -> Option<WriteAccount> {
        let account = || {
            let mut account = self.doubts.lock().unwrap_or_else(PoisonError::into_inner).account();
            account.merge(*self.joined.lock().unwrap_or_else(PoisonError::into_inner));
            account
        };
        (self.keeps == Keeps::Everything).then(account)
    }

    /// Whether one has left off: then no other comes to its end.
    fn tell(&self, _: usize) -> Result<SharePart, JobError> {
        if self.progress.is_left_off() { SharePart::of(&true) } else { Ok(SharePart::default()) }
    }

    fn hear(&self, _: usize, told: SharePart) -> Result<(), JobError> {
        if !told.is_empty() {
            self.progress.hears_of_one();
        }
        Ok(())
    }

    fn part(&self) -> Result<SharePart, JobError> {
        SharePart::of(&CrudPart {
            wrong: self.wrong.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect(),
            account: self.account().unwrap_or_default(),
            any_doubt: self.any_doubt.load(Ordering::Acquire),
            writes: self.progress.writes(),
            left_off: self.progress.is_left_off(),
        })
    }

    fn join(&self, part: SharePart) -> Result<(), JobError> {
        let CrudPart { wrong, account, any_doubt, writes, left_off } = part.found()?;
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner).extend(wrong);
        self.joined.lock().unwrap_or_else(PoisonError::into_inner).merge(account);
        self.any_doubt.fetch_or(any_doubt, Ordering::AcqRel);
        self.progress.begins(writes.max(self.progress.writes()));
        if left_off {
            self.progress.hears_of_one();
        }
        Ok(())
    }

    fn largest_reply_bytes(&self) -> Option<u64> {
        Some(ROW_BYTES)
    }

    fn judges_unfinished(&self) -> bool {
        true
    }

    fn keys_left(&self) -> Option<u64> {
        (!self.progress.is_left_off() && !self.any_doubt.load(Ordering::Acquire)).then_some(0)
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        if index >= self.rows {
            return false;
        }
        out.extend_from_slice(decimal(index).as_bytes());
        true
    }
}
