//! The store under check, and what all clients of the check share.

use crate::Options;
use crate::barrier::Barrier;
use crate::fault::{Stop, guarded, is_final, panicked};
use crate::probe::Probe;
use crate::written::KeyLedger;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store::{BlockingClient, Capabilities, Store};
use study::ReasonKind;

/// The store under check.
pub struct Subject<'a> {
    pub store: &'a dyn Store,
    pub options: &'a Options,
    pub ledger: KeyLedger,
    pub operations: AtomicU64,
    prefix: String,
}

impl<'a> Subject<'a> {
    pub fn new(store: &'a dyn Store, options: &'a Options) -> Subject<'a> {
        let prefix = options.key_prefix();
        Subject { store, options, ledger: KeyLedger::default(), operations: AtomicU64::new(0), prefix }
    }

    /// Returns whether somebody has asked for the end of the check.
    pub fn is_stopped(&self) -> bool {
        self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Waits, but not beyond the end of the check.
    pub fn rest(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.is_stopped() && Instant::now() < end {
            std::thread::sleep(end.saturating_duration_since(Instant::now()).min(Duration::from_millis(20)));
        }
    }

    /// Returns the capabilities that the store declares.
    pub fn capabilities(&self) -> &Capabilities {
        self.store.capabilities()
    }

    /// Returns the beginning of all keys of this check.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns a key of this check.
    pub fn key(&self, name: impl AsRef<[u8]>) -> Vec<u8> {
        [self.prefix.as_bytes(), name.as_ref()].concat()
    }

    /// Returns the longest value the store takes, as far as this check sends it.
    pub fn longest_value_bytes(&self) -> usize {
        self.capabilities().max_value_bytes.min(self.options.largest_value_bytes)
    }

    /// Returns a new connection with one operation in flight.
    pub fn probe(&self) -> Result<Probe<'_>, Stop> {
        self.probe_with(1)
    }

    /// Returns a new connection with up to `pipeline` operations in flight.
    pub fn probe_with(&self, pipeline: u32) -> Result<Probe<'_>, Stop> {
        match BlockingClient::open(self.store, pipeline, self.options.timeout) {
            Ok(client) => Ok(Probe::new(self, client.until(self.options.stop.clone()))),
            Err(error) => Err(Stop::keyless(ReasonKind::NotStarted, error.to_string())),
        }
    }

    /// Runs `body` on that many threads, each with its number; the first trouble of any of them is the outcome.
    pub fn clients<T: Send>(
        &self,
        count: usize,
        body: impl Fn(usize, &Barrier) -> Result<T, Stop> + Sync,
    ) -> Result<Vec<T>, Stop> {
        let barrier = Barrier::new(count, self.options.timeout * 2);
        let outcomes: Vec<Result<T, Stop>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..count)
                .map(|number| {
                    let (barrier, body) = (&barrier, &body);
                    scope.spawn(move || guarded(|| body(number, barrier)).inspect_err(|_| barrier.break_down()))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| Err(panicked(&*panic)))).collect()
        });
        let mut done = Vec::with_capacity(count);
        let mut stops = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(value) => done.push(value),
                Err(stop) => stops.push(stop),
            }
        }
        // A store that froze matters more than what came of it, and a client that only waited for another says nothing.
        let worst = stops.iter().position(|stop| {
            *stop != Barrier::broken() && matches!(stop, Stop::Failed(reason) if is_final(reason.kind))
        });
        let worst = worst.or_else(|| stops.iter().position(|stop| *stop != Barrier::broken()));
        match worst.or(if stops.is_empty() { None } else { Some(0) }) {
            Some(at) => Err(stops.swap_remove(at)),
            None => Ok(done),
        }
    }
}
