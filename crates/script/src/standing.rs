//! What the clients of one trial have in common: what was written, what was said, and whether the script failed.

use crate::clash::Clash;
use crate::counters::{CountSince, Counters, ThreadCounters};
use crate::entry::{Claim, Since};
use crate::fates::Fates;
use crate::history::{Scans, Sharing, ThreadLedger, ValueMemory, WriteLedger};
use crate::kind::KeyKind;
use crate::mortal::{Lives, ThreadLives};
use crate::shares::KeptPart;
use crate::watch::LoopWatch;
use jobs::expires::Expires;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use store::{Counter, Keeps};
use study::{Reason, ReasonKind};

/// Shared by all workers of a trial.
pub(crate) struct TrialState {
    pub(crate) ledger: WriteLedger,
    pub(crate) counters: Counters,
    pub(crate) records: Counters,
    pub(crate) fates: Fates,
    /// Where the script names a time to live.
    pub(crate) lives: Option<Lives>,
    pub(crate) watch: LoopWatch,
    /// Nodes fail on purpose.
    faults: AtomicBool,
    /// An operation failed, and was not sent again: the script had nil for it.
    gave_up: AtomicBool,
    failed: AtomicBool,
    /// Why counters of the store are too small, if they are.
    out_of_range: OnceLock<String>,
    failure: Mutex<Option<Reason>>,
    said: Mutex<Vec<Vec<u8>>>,
    units: AtomicU64,
    /// The operations asked for, and those of them that are commands.
    operations: AtomicU64,
    commands: AtomicU64,
    /// What clients of other processes have left.
    kept_elsewhere: Mutex<KeptPart>,
}

/// The books of what was written and counted, as one thread uses them.
pub(crate) struct ThreadBooks<'a> {
    pub(crate) ledger: ThreadLedger<'a>,
    pub(crate) counters: ThreadCounters<'a>,
    pub(crate) records: ThreadCounters<'a>,
    /// What became of writes that failed.
    pub(crate) fates: &'a Fates,
    /// Where the script names a time to live.
    pub(crate) lives: Option<ThreadLives<'a>>,
}

impl ThreadBooks<'_> {
    /// Notes that an increment is about to be sent; returns what is known of the counter so far.
    pub(crate) fn counts(&mut self, kind: KeyKind, key: &[u8], field: &[u8], step: i64) -> Result<CountSince, Clash> {
        let counters = if kind == KeyKind::Counter { &mut self.counters } else { &mut self.records };
        if !counters.knows(key, field) {
            let crossed = self.ledger.claims(key, kind)?;
            counters.meets(key, field, crossed);
        }
        counters.starts(key, field, step)
    }

    /// Notes that a counter is about to be read; returns what is known of the counter so far.
    pub(crate) fn asks_count(&mut self, key: &[u8]) -> Result<CountSince, Clash> {
        if !self.counters.knows(key, b"") {
            self.ledger.reads(key, KeyKind::Counter)?;
        }
        Ok(self.counters.asks(key, b""))
    }

    /// The counters, or records of counters, that the key belongs to.
    fn counted(&mut self, key: &[u8]) -> Option<&Counters> {
        match self.ledger.kind(key) {
            Some(KeyKind::Counter) => Some(self.counters.all()),
            Some(KeyKind::Record) => Some(self.records.all()),
            Some(KeyKind::Value | KeyKind::Command) | None => None,
        }
    }

    /// Notes that a delete is about to be sent; returns what is known of the key so far.
    pub(crate) fn deletes(&mut self, by: Claim, key: &[u8]) -> Result<Since, Clash> {
        let mut since = Since::Version(0);
        if let Ok(known) = self.ledger.asks(key) {
            since = known;
            self.ledger.writes(by, key, None)?;
        }
        // Another client may have begun to count there in between.
        if let Some(counters) = self.counted(key) {
            counters.deletes(key);
        }
        Ok(since)
    }

    /// Notes that the delete failed: nobody knows what is left of the counter, if the key is a counter's.
    #[cold]
    pub(crate) fn doubts_delete(&mut self, key: &[u8]) {
        self.counted(key).into_iter().for_each(|counters| counters.doubt(key));
    }

    /// Notes that the delete was acknowledged; false: the key is a value's.
    pub(crate) fn deleted_count(&mut self, key: &[u8]) -> bool {
        let by_commands = self.ledger.kind(key) == Some(KeyKind::Command);
        by_commands || self.counted(key).inspect(|counters| counters.deleted(key)).is_some()
    }
}

impl TrialState {
    /// Makes the books for one thread.
    pub(crate) fn books(&self) -> ThreadBooks<'_> {
        ThreadBooks {
            ledger: ThreadLedger::new(&self.ledger),
            counters: ThreadCounters::new(&self.counters),
            records: ThreadCounters::new(&self.records),
            fates: &self.fates,
            lives: self.lives.as_ref().map(ThreadLives::new),
        }
    }

    pub(crate) fn new(
        sharing: Sharing,
        memory: ValueMemory,
        keeps: Keeps,
        scans: Scans,
        counter: Option<Counter>,
        expires: Option<Expires>,
    ) -> TrialState {
        let range = counter.map_or(i64::MIN..=i64::MAX, |counter| counter.min..=counter.max);
        TrialState {
            ledger: WriteLedger::new(sharing, memory, keeps, scans),
            counters: Counters::new(range.clone()),
            records: Counters::new(range),
            fates: Fates::default(),
            lives: expires.map(Lives::new),
            watch: LoopWatch::default(),
            faults: AtomicBool::new(false),
            gave_up: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            out_of_range: OnceLock::new(),
            failure: Mutex::default(),
            said: Mutex::default(),
            units: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            kept_elsewhere: Mutex::new(KeptPart::NOTHING),
        }
    }

    /// Nodes will fail on purpose.
    pub(crate) fn expect_faults(&self) {
        self.faults.store(true, Ordering::Relaxed);
    }

    /// Returns whether they do.
    pub(crate) fn expects_faults(&self) -> bool {
        self.faults.load(Ordering::Relaxed)
    }

    /// Notes that an operation failed, and is not sent again.
    #[cold]
    pub(crate) fn give_up(&self) {
        self.gave_up.store(true, Ordering::Relaxed);
    }

    /// Returns whether any did.
    pub(crate) fn has_given_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    /// Notes that the script may not do what a client is about to do.
    #[cold]
    pub(crate) fn refuse(&self, clash: &Clash, words: String) {
        if matches!(clash, Clash::OutOfRange { .. }) {
            let _ = self.out_of_range.set(words.clone()); // the first counts
        }
        self.fail(ReasonKind::ScriptFailed, words);
    }

    /// Returns why counters of the store are too small for the script, if they are.
    pub(crate) fn out_of_range(&self) -> Option<String> {
        self.out_of_range.get().cloned()
    }

    /// Notes that the script failed: nobody goes on. The first failure counts.
    #[cold]
    pub(crate) fn fail(&self, kind: ReasonKind, words: String) {
        let example = study::visible(&study::cut(&words)).into_owned();
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(Reason { kind, count: 1, example });
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Returns whether the script failed.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Returns the reason of the failure.
    pub(crate) fn failure(&self) -> Option<Reason> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds what clients of another process have left.
    pub(crate) fn add_kept(&self, part: KeptPart) {
        let mut kept = self.kept_elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = kept.and(part);
    }

    /// Returns what clients of other processes have left.
    pub(crate) fn kept_elsewhere(&self) -> KeptPart {
        *self.kept_elsewhere.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line to the answer.
    pub(crate) fn say(&self, line: &[u8]) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_vec());
    }

    /// Returns all lines of the answer.
    pub(crate) fn said(&self) -> Vec<Vec<u8>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds units of work that were done.
    pub(crate) fn add_units(&self, units: u64) {
        self.units.fetch_add(units, Ordering::Relaxed);
    }

    /// Adds operations that were asked for, and those of them that are commands.
    pub(crate) fn add_operations(&self, operations: u64, commands: u64) {
        self.operations.fetch_add(operations, Ordering::Relaxed);
        self.commands.fetch_add(commands, Ordering::Relaxed);
    }

    /// Returns the operations asked for, and those of them that are commands.
    pub(crate) fn operations(&self) -> (u64, u64) {
        (self.operations.load(Ordering::Relaxed), self.commands.load(Ordering::Relaxed))
    }

    /// Units of work done in timed phases.
    pub(crate) fn units(&self) -> u64 {
        self.units.load(Ordering::Relaxed)
    }
}
