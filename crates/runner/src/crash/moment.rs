//! What the thread that strikes and the one that listens to the worker know of each other.

use crate::execution::{Hearing, Wish};
use crate::message::{ClientsBegun, FromWorker, Refusal};
use crate::supervisor::Supervisor;
use crash::AckLedger;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use study::CrashWriter;

/// Times are 0 until they have come.
#[derive(Default)]
pub(super) struct Moment {
    pub(super) worker: AtomicI32,
    pub(super) began_at_ns: AtomicU64,
    /// Of several workers, whose ledgers are not seen before the end: whether some client has begun, and whether all have.
    some_began: AtomicBool,
    all_began: AtomicBool,
    /// Who they were.
    writers: Mutex<Vec<CrashWriter>>,
    /// The blow is being struck: whatever happens to the clients from now on is its work.
    pub(super) striking: AtomicBool,
    pub(super) crash_at_ns: AtomicU64,
    /// When the clients were to end.
    pub(super) ended_at_ns: AtomicU64,
    /// Nobody is to write any more.
    pub(super) enough: AtomicBool,
    /// Whether the store was at what it had been told to do.
    pub(super) at_it: AtomicBool,
    /// Whether the event just after which it was to come has not come in time.
    pub(super) no_event: AtomicBool,
    /// The worker has left.
    pub(super) over: AtomicBool,
    /// Why the blow was not struck.
    problem: Mutex<Option<String>>,
}

impl Moment {
    /// Returns when the crash came; `None`: not yet.
    pub(super) fn crash_at_ns(&self) -> Option<u64> {
        Some(self.crash_at_ns.load(Ordering::Acquire)).filter(|at| *at > 0)
    }

    /// Returns whether some client had a write acknowledged, or failed.
    pub(super) fn any_began(&self, ledger: &AckLedger) -> bool {
        self.some_began.load(Ordering::Acquire) || ledger.any_began()
    }

    /// Returns whether every client had.
    pub(super) fn all_began(&self, ledger: &AckLedger) -> bool {
        self.all_began.load(Ordering::Acquire) || ledger.all_began()
    }

    /// Returns the workers that wrote, where there were several.
    pub(super) fn writers(&self) -> Vec<CrashWriter> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes why the blow was not struck.
    pub(super) fn fail(&self, problem: String) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
        self.enough.store(true, Ordering::Release);
    }

    /// Returns why it was not.
    pub(super) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Hears a worker.
pub(super) struct Watching<'a> {
    pub(super) supervisor: Supervisor<'a>,
    pub(super) moment: &'a Moment,
    pub(super) refusal: Option<Refusal>,
    pub(super) heard: &'a mut dyn FnMut(FromWorker),
}

impl Hearing for Watching<'_> {
    fn hear(&mut self, report: FromWorker) {
        self.supervisor.hear(&report);
        match report {
            FromWorker::Started { pid } => self.moment.worker.store(pid, Ordering::Release),
            FromWorker::Ended { .. } => self.moment.over.store(true, Ordering::Release),
            FromWorker::Refused(refusal) => self.refusal = Some(refusal),
            FromWorker::Began(begun) => {
                self.moment.some_began.store(true, Ordering::Release);
                self.moment.all_began.store(begun == ClientsBegun::All, Ordering::Release);
            }
            FromWorker::Writers(writers) => {
                *self.moment.writers.lock().unwrap_or_else(PoisonError::into_inner) = writers;
            }
            report => (self.heard)(report),
        }
    }

    fn hear_nothing(&mut self) {
        self.supervisor.hear_nothing();
    }

    fn is_struck(&self) -> bool {
        self.moment.striking.load(Ordering::Acquire)
    }

    fn wish(&mut self) -> Wish {
        // Of a server that was killed nothing will come any more.
        if self.moment.enough.load(Ordering::Acquire) { Wish::StopForServer } else { self.supervisor.wish() }
    }
}
