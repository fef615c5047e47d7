//! The blow: which nodes it strikes, when, and how.

use super::Blow;
use super::cutting::Cutting;
use super::moment::Moment;
use super::supply::Supply;
use crate::stroke::strike;
use crash::{AckLedger, Endurance, now_ns};
use host::Nodes;
use jobkit::Stroke;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use store::{Opener, StoreError};
use study::StruckNodes;

/// How often kvtrial looks whether all clients have begun, and whether the worker has left.
const LOOK: Duration = Duration::from_micros(500);
/// The longest pause while it waits for a moment.
const PAUSE: Duration = Duration::from_millis(10);
/// What a write may take while nodes are down or frozen; then its client goes on with another key.
const TIMEOUT: Duration = Duration::from_secs(1);

impl Cutting<'_> {
    /// Returns the nodes that are struck, by name.
    pub(super) fn struck(&self) -> Vec<String> {
        let names = self.installation.nodes().map(Nodes::names).unwrap_or_default();
        let which = match self.request.blow {
            Blow::Nodes { which, .. } => which,
            Blow::Power { .. } => StruckNodes::All,
            Blow::Commands { .. } => return Vec::new(),
        };
        let places = self.set().struck(which.of(names.len()), names.len());
        places.into_iter().map(|place| names[place].clone()).collect()
    }

    /// Returns how long clients go on after the blow; `None`: nothing is left that could answer them.
    pub(super) fn outage(&self) -> Option<Duration> {
        let nodes = self.installation.nodes()?.names().len();
        match self.request.blow {
            Blow::Nodes { stroke: Stroke::Freeze(time) | Stroke::Cut(time) | Stroke::Clock { time, .. }, .. } => {
                Some(time)
            }
            Blow::Nodes { which, .. } if which.of(nodes) == nodes => None,
            Blow::Nodes { outage, .. } => Some(outage),
            Blow::Power { .. } | Blow::Commands { .. } => None,
        }
    }

    /// Returns what clients do when writes fail.
    pub(super) fn endurance(&self) -> Endurance {
        self.outage().map_or(Endurance::GiveUp, |_| Endurance::GoOn { timeout: TIMEOUT })
    }

    /// Waits for the moment and strikes.
    pub(super) fn strike(&self, ledger: &AckLedger, moment: &Moment) {
        match self.await_moment(ledger, moment) {
            Ok(true) => {}
            Ok(false) => return,
            Err(problem) => return moment.fail(problem.to_string()),
        }
        moment.striking.store(true, Ordering::Release);
        let was_at_it = ledger.is_at_upkeep();
        match self.blow(ledger, moment) {
            Ok(crash_at_ns) => moment.crash_at_ns.store(crash_at_ns, Ordering::Release),
            Err(problem) => return moment.fail(problem.to_string()),
        }
        moment.at_it.store(was_at_it && ledger.is_at_upkeep(), Ordering::Release);
        wait(self.outage().unwrap_or_default(), moment);
        moment.ended_at_ns.store(now_ns(), Ordering::Release);
        moment.enough.store(true, Ordering::Release);
    }

    /// Waits until all clients have begun, and then for as long as the seed says; `false`: the worker has left.
    fn await_moment(&self, ledger: &AckLedger, moment: &Moment) -> Result<bool, StoreError> {
        let mut first: Option<Instant> = None;
        // The clients of an engine may write before it was heard which process holds it.
        let is_embedded = matches!(self.request.info.opener, Opener::Embedded(_));
        let is_known = || !is_embedded || moment.worker.load(Ordering::Acquire) > 0;
        // A client that gets no turn must not hold the crash up.
        let is_ready = || moment.all_began(ledger) && is_known();
        while !is_ready() && first.is_none_or(|first| first.elapsed() < self.request.deadline) {
            if moment.over.load(Ordering::Acquire) {
                return Ok(false);
            }
            first = first.or_else(|| moment.any_began(ledger).then(Instant::now));
            std::thread::sleep(LOOK);
        }
        let began = Instant::now();
        moment.began_at_ns.store(now_ns(), Ordering::Release);
        self.supply.map_or(Ok(()), Supply::begin)?;
        let (earliest, longest) = (self.request.earliest, self.request.longest);
        let until = Duration::from_nanos(self.set().moment_ns(earliest.as_nanos() as u64, longest.as_nanos() as u64));
        Ok(wait(until.saturating_sub(began.elapsed()), moment) && self.await_event(moment)?)
    }

    /// Strikes; the moment before it.
    fn blow(&self, ledger: &AckLedger, moment: &Moment) -> Result<u64, StoreError> {
        // What was acknowledged until then must be in it: a cut that waits for a sync is taken later than it is asked for.
        let begun = self.supply.map_or(Ok(now_ns()), |supply| supply.cut(self.set().left_seed()))?;
        match (&self.request.blow, self.installation.nodes()) {
            (Blow::Commands { kill, .. }, _) => {
                ran("--kill-command", shell(kill).status())?;
                // It lived until then at least.
                return Ok(ledger.acknowledged_at_ns().last().copied().unwrap_or(begun));
            }
            (Blow::Nodes { .. } | Blow::Power { .. }, None) => match moment.worker.load(Ordering::Acquire) {
                0 => return Err(StoreError::Session("its process did not report its id".into())),
                worker => host::worker::kill(worker),
            },
            (Blow::Power { .. }, Some(nodes)) => {
                nodes.kill_all();
            }
            (Blow::Nodes { stroke: Stroke::Kill, .. }, Some(nodes)) if self.outage().is_none() => {
                let killed = nodes.kill_all();
                return Ok(now_ns() - killed.elapsed().as_nanos() as u64);
            }
            (Blow::Nodes { stroke, .. }, Some(nodes)) => {
                self.struck().iter().try_for_each(|name| strike(nodes, name, *stroke))?;
            }
        }
        Ok(begun)
    }
}

/// Waits for a time; `false`: the worker has left before.
pub(super) fn wait(time: Duration, moment: &Moment) -> bool {
    let until = Instant::now() + time;
    while !moment.over.load(Ordering::Acquire) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(PAUSE));
    }
    false
}

/// Returns a command of the user's. What it starts outlives kvtrial.
pub(super) fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Checks that a command of the user's ended well.
pub(super) fn ran(option: &str, status: std::io::Result<ExitStatus>) -> Result<(), StoreError> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(StoreError::Session(format!("{option} failed ({status}); try it by hand"))),
        Err(error) => Err(StoreError::Session(format!("{option} could not be run: {error}"))),
    }
}
