//! One execution: load, run, read back.

use super::chooser::Chooser;
use super::dealt::DealtKeys;
use super::expiring::Expiring;
use super::gone::Gone;
use super::key::{KEY_BYTES, MAX_KEYS};
use super::lives::Lifetimes;
use super::load::Load;
use super::read_back::ReadBack;
use super::run::Run;
use super::shared::{FoundPart, JoinedWrites, Loaded};
use super::value::Values;
use super::versions::Ledger;
use super::workload::{Kind, RunLength, Workload};
use super::{Verdicts, digest_of};
use crate::expires::MOMENT_BYTES;
use crate::witnessed::Witnessed;
use history::Collector;
use jobkit::{JobError, Phase, Share, SharePart, Trial, TrialSetup, Worker};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use store::{Keeps, Slot, Store, StoreError};
use study::{Answer, Reason, WriteAccount};

/// State shared by the workers of one execution.
pub struct YcsbTrial<'a> {
    pub(crate) workload: &'a Workload,
    pub(super) inserts: Option<u64>,
    pub(super) seed: u64,
    pub(crate) slots: u32,
    pub(super) share: Share,
    /// The slots of this share, and its keys.
    pub(super) own: Range<Slot>,
    pub(super) keys: Arc<DealtKeys>,
    pub(crate) keeps: Keeps,
    pub(crate) values: Values,
    pub(crate) ledger: Ledger,
    pub(super) chooser: Chooser,
    pub(super) verdicts: Mutex<Verdicts>,
    /// The writes of other shares.
    pub(super) joined: Mutex<JoinedWrites>,
    /// Where values have a time to live.
    pub(super) lives: Option<Lifetimes>,
    /// Where what clients see is recorded.
    pub(super) history: OnceLock<Arc<Collector>>,
}

/// The number of the phase that waits until everything has expired.
const WAIT: usize = 3;

/// The number of the phase behind it.
const GONE: usize = 4;

/// What stands around a row of a scan.
const ROW_ROOM_BYTES: usize = 64;

impl<'a> YcsbTrial<'a> {
    /// Makes an execution with `slots` slots, on an empty store.
    pub fn new(workload: &'a Workload, inserts: Option<u64>, seed: u64, slots: u32, keeps: Keeps) -> YcsbTrial<'a> {
        let chooser = Chooser::new(workload, seed);
        let setup = TrialSetup::alone(slots.max(1), store::Capabilities::BASIC, seed);
        YcsbTrial {
            workload,
            inserts,
            seed,
            keys: DealtKeys::of(workload, &chooser, &setup).into(),
            slots: slots.max(1),
            share: Share::whole(slots),
            own: 0..slots.max(1),
            keeps,
            values: Values::new(workload.value_bytes, seed),
            ledger: Ledger::new(workload.records, inserts, slots.max(1)).named(workload.load.names()),
            chooser,
            verdicts: Mutex::default(),
            joined: Mutex::default(),
            lives: None,
            history: OnceLock::new(),
        }
    }

    /// Returns the same execution as a share of it. Where keys are written, each is drawn by the share that reads it back: no other knows
    /// its versions.
    pub(super) fn sharing(self, setup: &TrialSetup) -> YcsbTrial<'a> {
        if setup.share.is_whole() {
            return self;
        }
        let keys = Arc::new(DealtKeys::of(self.workload, &self.chooser, setup));
        let chooser = match self.workload.mix.only_reads() {
            true => self.chooser,
            false => Chooser::Own { way: Box::new(self.chooser), keys: Arc::clone(&keys) },
        };
        YcsbTrial { share: setup.share, own: setup.own_slots(), keys, chooser, ..self }
    }

    /// Returns the same execution, with the times of its keys.
    pub fn living(self, lives: Option<Lifetimes>) -> YcsbTrial<'a> {
        YcsbTrial { lives, ..self }
    }
}

impl Trial for YcsbTrial<'_> {
    fn phases(&self) -> Vec<Phase> {
        let records = self.workload.records;
        let mut phases = vec![Phase::untimed("load", Some(records)), Phase::timed("run", self.workload.requests())];
        if self.keeps == Keeps::Everything {
            let operations = self.inserts.map(|inserts| records + inserts);
            phases.push(Phase::read_back(operations));
            if self.lives.as_ref().is_some_and(Lifetimes::can_be_waited_for) {
                phases.push(Phase::untimed("wait", None));
                phases.push(Phase { operations, ..Phase::untimed("gone", None) });
            }
        }
        phases
    }

    fn worker(&self, phase: usize, slots: Range<Slot>) -> Box<dyn Worker + '_> {
        if let Some(history) = self.history.get() {
            // Another type of worker, so that those that record nothing are as fast as if there was no history.
            let first = slots.clone();
            return match phase {
                0 => Box::new(Witnessed::new(Load::new(self, slots), first, history)),
                1 => Box::new(Witnessed::new(Run::new(self, slots), first, history)),
                _ => Box::new(Witnessed::new(ReadBack::new(self, slots), first, history)),
            };
        }
        match phase {
            0 => Box::new(Load::new(self, slots)),
            1 => match &self.lives {
                Some(lives) => Box::new(Expiring::new(self, lives, slots)),
                None => Box::new(Run::new(self, slots)),
            },
            _ => match &self.lives {
                Some(lives) if phase == GONE => Box::new(Gone::new(self, lives, slots)),
                _ => Box::new(ReadBack::new(self, slots)),
            },
        }
    }

    fn again(&self) -> Option<usize> {
        *self.verdicts.lock().unwrap_or_else(PoisonError::into_inner) = Verdicts::default();
        (self.keeps == Keeps::Everything).then_some(2)
    }

    fn answer(&self) -> (Answer, Vec<Reason>) {
        if self.keeps == Keeps::Nothing {
            return (Answer::default(), Vec::new());
        }
        let verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        let ids = self.ledger.ids();
        let mut facts = vec![
            ("keys", ids.into()),
            ("keys_valid", verdicts.valid.into()),
            ("inserted", (ids - self.workload.records).into()),
            ("known_before", matches!(self.workload.end, RunLength::Operations(_)).into()),
        ];
        facts.extend(self.lives.iter().flat_map(Lifetimes::facts));
        let facts =
            facts.into_iter().map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value)).collect();
        (Answer { digest: digest_of(self.workload.planned(), &verdicts.invalid), facts }, Vec::new())
    }

    fn account(&self) -> Option<WriteAccount> {
        (self.keeps == Keeps::Everything).then(|| self.writes())
    }

    fn expect_faults(&self) {
        self.ledger.time_writes();
    }

    fn record_history(&self, history: &Arc<Collector>) -> Result<(), String> {
        if self.keeps == Keeps::Nothing {
            return Err("the store keeps nothing".into());
        }
        if !self.share.is_whole() {
            return Err("each worker sees only its own clients; run it without --workers".into());
        }
        if self.lives.is_some() {
            return Err("values have a time to live, so a missing one says nothing".into());
        }
        let _ = self.history.set(Arc::clone(history));
        Ok(())
    }

    fn oldest_lost(&self) -> Option<Duration> {
        self.ledger.oldest_lost().max(self.joined().oldest_lost)
    }

    /// Behind the load: which keys are there.
    fn tell(&self, phase: usize) -> Result<SharePart, JobError> {
        if phase == 1 && self.keeps == Keeps::Everything {
            SharePart::of(&self.loaded())
        } else {
            Ok(SharePart::default())
        }
    }

    fn hear(&self, _: usize, told: SharePart) -> Result<(), JobError> {
        if told.is_empty() {
            return Ok(());
        }
        self.learn(told.found::<Loaded>()?);
        Ok(())
    }

    fn part(&self) -> Result<SharePart, JobError> {
        SharePart::of(&self.found())
    }

    fn join(&self, part: SharePart) -> Result<(), JobError> {
        self.join_found(part.found::<FoundPart>()?);
        Ok(())
    }

    fn largest_reply_bytes(&self) -> Option<u64> {
        let row = KEY_BYTES + self.values.size() + MOMENT_BYTES + ROW_ROOM_BYTES;
        let rows = if self.workload.mix.has(Kind::Scan) { self.workload.scan_max } else { 1 };
        Some(u64::from(rows) * row as u64)
    }

    fn whole(&self, phase: usize, _: &dyn Store, _: Duration) -> Option<Result<(), StoreError>> {
        let lives = self.lives.as_ref().filter(|_| phase == WAIT)?;
        lives.wait();
        Some(Ok(()))
    }

    fn expires(&self) -> bool {
        self.lives.is_some()
    }

    fn judges_unfinished(&self) -> bool {
        true
    }

    fn keys_left(&self) -> Option<u64> {
        let is_sure = self.writes().failed() == 0 && self.lives.is_none();
        is_sure.then(|| self.ledger.ids())
    }

    fn key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        let planned = self.workload.records + self.inserts.unwrap_or(0);
        if index >= planned.max(self.ledger.ids()) {
            return false;
        }
        out.extend_from_slice(&self.ledger.names.key(index));
        true
    }

    /// Without a number of operations it inserts as long as there is time.
    fn later_key(&self, index: u64, out: &mut Vec<u8>) -> bool {
        let is_one = self.inserts.is_none() && index < MAX_KEYS;
        if is_one {
            out.extend_from_slice(&self.ledger.names.key(index));
        }
        is_one
    }

    fn logical_bytes(&self) -> u64 {
        let verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        verdicts.valid * (KEY_BYTES + self.values.size()) as u64
    }
}
