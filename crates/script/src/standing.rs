//! What the clients of one trial have in common: what was written, what was said, and whether the script failed.

use crate::counters::{Counters, ThreadCounters};
use crate::fates::Fates;
use crate::ledger::{Scans, Sharing, ThreadLedger, ValueMemory, WriteLedger};
use crate::watch::LoopWatch;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use store::Keeps;
use study::{Reason, ReasonKind};

/// Shared by all workers of a trial.
pub(crate) struct TrialState {
    pub(crate) ledger: WriteLedger,
    pub(crate) counters: Counters,
    pub(crate) records: Counters,
    pub(crate) fates: Fates,
    pub(crate) watch: LoopWatch,
    /// Nodes fail on purpose.
    faults: AtomicBool,
    failed: AtomicBool,
    failure: Mutex<Option<Reason>>,
    said: Mutex<Vec<Vec<u8>>>,
    units: AtomicU64,
}

/// What was written and counted, as one thread uses it.
pub(crate) struct ThreadBooks<'a> {
    pub(crate) ledger: ThreadLedger<'a>,
    pub(crate) counters: ThreadCounters<'a>,
    pub(crate) records: ThreadCounters<'a>,
    /// The fields of records of counters.
    pub(crate) all_records: &'a Counters,
    /// What became of writes that failed.
    pub(crate) fates: &'a Fates,
}

impl TrialState {
    /// For one thread.
    pub(crate) fn books(&self) -> ThreadBooks<'_> {
        ThreadBooks {
            ledger: ThreadLedger::new(&self.ledger),
            counters: ThreadCounters::new(&self.counters),
            records: ThreadCounters::new(&self.records),
            all_records: &self.records,
            fates: &self.fates,
        }
    }

    pub(crate) fn new(sharing: Sharing, memory: ValueMemory, keeps: Keeps, scans: Scans) -> TrialState {
        TrialState {
            ledger: WriteLedger::new(sharing, memory, keeps, scans),
            counters: Counters::new(sharing),
            records: Counters::new(sharing),
            fates: Fates::default(),
            watch: LoopWatch::default(),
            faults: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            failure: Mutex::default(),
            said: Mutex::default(),
            units: AtomicU64::new(0),
        }
    }

    /// Nodes will fail on purpose.
    pub(crate) fn expect_faults(&self) {
        self.faults.store(true, Ordering::Relaxed);
    }

    /// Whether they do.
    pub(crate) fn expects_faults(&self) -> bool {
        self.faults.load(Ordering::Relaxed)
    }

    /// The script failed: nobody goes on. The first failure counts.
    #[cold]
    pub(crate) fn fail(&self, kind: ReasonKind, words: String) {
        let example = study::visible(&study::cut(&words)).into_owned();
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(Reason { kind, count: 1, example });
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Whether the script failed.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Why.
    pub(crate) fn failure(&self) -> Option<Reason> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A line of the answer.
    pub(crate) fn say(&self, line: &[u8]) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_vec());
    }

    /// All lines of the answer.
    pub(crate) fn said(&self) -> Vec<Vec<u8>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds units of work that were done.
    pub(crate) fn add_units(&self, units: u64) {
        self.units.fetch_add(units, Ordering::Relaxed);
    }

    /// Units of work done in timed phases.
    pub(crate) fn units(&self) -> u64 {
        self.units.load(Ordering::Relaxed)
    }
}
