//! Starting a store on what a crash has left, until it answers a read; or until it is killed once more.

use super::Blow;
use super::blow::{ran, shell};
use super::cutting::Cutting;
use super::moment::Moment;
use crate::error::RunError;
use crate::message::CrashTurn;
use crate::stroke::end_stroke;
use crash::{AckLedger, now_ns};
use host::Nodes;
use jobkit::Stroke;
use std::process::Child;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use store::{BlockingClient, Operation, OwnedReply, StoreError};

/// Deadlines of one operation that a server may take, after it was started again, until it answers a read; and how often it is asked.
const DEADLINES: u32 = 12;
pub(super) const AGAIN: Duration = Duration::from_millis(2);
/// How long a start may take, until one was seen: a server's, and an engine's.
const USUAL_START: Duration = Duration::from_millis(100);
const USUAL_OPENING: Duration = Duration::from_millis(5);

fn in_words(error: std::io::Error) -> StoreError {
    StoreError::Session(format!("--start-command could not be run: {error}"))
}

impl Cutting<'_> {
    /// Starts what was struck again, or lets it go on; how long it took until it answered a read: some answer other questions before they
    /// have read their log. An engine is opened by the worker that reads.
    pub(super) fn restart(&self) -> Result<Option<Duration>, StoreError> {
        let begun = Instant::now();
        let mut command = None;
        match (&self.request.blow, self.installation.nodes()) {
            (Blow::Commands { start, .. }, _) => command = Some(shell(start).spawn().map_err(in_words)?),
            (_, None) => return Ok(None),
            (Blow::Power { .. } | Blow::Nodes { stroke: Stroke::Kill | Stroke::Stop, .. }, Some(nodes)) => {
                // Those of several wait for each other.
                let struck = self.struck();
                struck.iter().try_for_each(|name| nodes.launch(name))?;
                struck.iter().try_for_each(|name| nodes.await_ready(name))?;
            }
            (
                Blow::Nodes { stroke: stroke @ (Stroke::Freeze(_) | Stroke::Cut(_) | Stroke::Clock { .. }), .. },
                Some(nodes),
            ) => {
                self.struck().iter().try_for_each(|name| end_stroke(nodes, name, *stroke))?;
            }
        }
        loop {
            let Err(error) = self.ask() else { return Ok(Some(begun.elapsed())) };
            if let Some(fallen) = self.installation.fallen() {
                return Err(StoreError::Session(format!("it {fallen}{}", fallen.log_end)));
            }
            if let Some(status) = command.as_mut().map(Child::try_wait).transpose().map_err(in_words)?.flatten() {
                ran("--start-command", Ok(status))?;
                command = None;
            }
            if begun.elapsed() > self.patience() || self.stop.load(Ordering::Relaxed) {
                let seconds = begun.elapsed().as_secs();
                let log = self.installation.log_end();
                return Err(StoreError::Session(format!("it answered no read within {seconds} s: {error}{log}")));
            }
            std::thread::sleep(AGAIN);
        }
    }

    /// Returns how long a server that was started again is waited for.
    pub(super) fn patience(&self) -> Duration {
        self.request.deadline * DEADLINES
    }

    /// Asks the server for a key; of several nodes each has to have what it missed.
    fn ask(&self) -> Result<(), StoreError> {
        let store = self.installation.location().open(self.request.info, &self.request.spec)?;
        store.facts()?;
        let mut client = BlockingClient::open(&*store, 1, self.request.deadline)?;
        if let OwnedReply::Failed(failure) = client.execute(&Operation::Get { key: b"kvtrial-crash" })? {
            return Err(StoreError::Session(failure.as_failure().words().to_owned()));
        }
        self.installation.nodes().and_then(Nodes::caught_up).unwrap_or(Ok(()))
    }

    /// Starts it on what is left, and kills it at a moment of that chosen by the seed; how long after its start.
    pub(super) fn die_again(&self, ledger: &AckLedger) -> Result<f64, RunError> {
        match self.installation.nodes() {
            Some(nodes) => {
                let begun = Instant::now();
                nodes.names().iter().try_for_each(|name| nodes.launch(name)).map_err(RunError::Store)?;
                std::thread::sleep(self.again_after(USUAL_START));
                Ok(nodes.kill_all().duration_since(begun).as_secs_f64())
            }
            None => self.opening_ends(ledger),
        }
    }

    /// The same of an engine: the worker that opens it is killed.
    fn opening_ends(&self, ledger: &AckLedger) -> Result<f64, RunError> {
        let moment = Moment::default();
        let kill = || {
            while moment.worker.load(Ordering::Acquire) == 0 && !moment.over.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            moment.began_at_ns.store(now_ns(), Ordering::Release);
            std::thread::sleep(self.again_after(USUAL_OPENING));
            if !moment.over.load(Ordering::Acquire) {
                moment.striking.store(true, Ordering::Release);
                moment.crash_at_ns.store(now_ns(), Ordering::Release);
                host::worker::kill(moment.worker.load(Ordering::Acquire));
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(kill);
            let done = self.send(self.task(ledger, CrashTurn::Open), &moment, &mut drop);
            moment.over.store(true, Ordering::Release);
            done
        })?;
        let since = moment.crash_at_ns().map(|at| at.saturating_sub(moment.began_at_ns.load(Ordering::Acquire)));
        Ok(since.unwrap_or_default() as f64 / 1e9)
    }

    /// When it is killed again: within the time that its last start took.
    fn again_after(&self, usual: Duration) -> Duration {
        let longest = self.recovery.unwrap_or(usual);
        Duration::from_nanos(self.set().again_ns(longest.as_nanos() as u64))
    }
}
