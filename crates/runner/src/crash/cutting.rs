//! One cut: clients write, the crash comes, the store starts on what is left, and everything is read.

use super::moment::{Moment, Watching};
use super::recovery::AGAIN;
use super::supply::Supply;
use super::{CrashRequest, Crashed};
use crate::error::RunError;
use crate::execution::{Departure, Execution};
use crate::message::{CrashTask, CrashTurn, FromWorker, LedgerPlace, Task, Upkeep};
use crate::silence::Silence;
use crate::supervisor::Supervisor;
use crash::{AckLedger, LateAnswer, Reading, WriteSet};
use engine::Settings;
use host::Installation;
use jobkit::{JobError, Params};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::{Opener, StoreError, Support};
use study::{CrashCut, CrashMoment, Durability, Reason, ReasonKind};

/// Writes each client has room for in the ledger; what is not used takes no memory.
const CAPACITY: u32 = 1 << 20;

/// One cut.
pub(super) struct Cutting<'a> {
    pub(super) request: &'a CrashRequest,
    pub(super) execution: &'a Execution,
    pub(super) stop: &'a AtomicBool,
    pub(super) installation: &'a Installation,
    pub(super) supply: Option<&'a Supply>,
    pub(super) cut: u32,
    /// How long the store took to start after the last one.
    pub(super) recovery: Option<Duration>,
}

impl Cutting<'_> {
    /// Writes, cuts, recovers, reads; `None`: the user stopped it.
    pub(super) fn make(&self, hear: &mut dyn FnMut(Crashed<'_>)) -> Result<Option<CrashCut>, RunError> {
        let ledger = AckLedger::create(self.request.clients, CAPACITY)
            .map_err(|error| RunError::Record(format!("no memory for the ledger of acknowledgements: {error}")))?;
        let moment = self.write(&ledger, hear)?;
        if self.is_stopped() {
            return Ok(None);
        }
        if let Some(problem) = moment.problem() {
            return Err(self.broken(problem));
        }
        let Some(crash_at_ns) = moment.crash_at_ns() else {
            return Err(self.broken("it ended before it was killed".into()));
        };
        let mut made = self.struck_at(crash_at_ns, &moment, &ledger);
        if let Some(supply) = self.supply {
            made.power = supply.taken();
            if let Err(words) = supply.swap() {
                made.not_measured = Some(format!("the file system on the disk was damaged: {words}"));
                return Ok(Some(made));
            }
        }
        if self.request.during == CrashMoment::Recovery {
            made.again_s = Some(self.die_again(&ledger)?);
        }
        match self.restart() {
            Ok(recovery) => made.recovery_s = recovery.map(|it| it.as_secs_f64()),
            Err(taken @ StoreError::PortTaken { .. }) => return Err(RunError::Store(taken)),
            Err(error) => made.not_started = Some(error.to_string()),
        }
        if made.not_started.is_none() {
            self.read(&ledger, crash_at_ns, &mut made);
        }
        if made.not_started.is_some() {
            made.found.acknowledged = self.acknowledged(&ledger, crash_at_ns).count() as u64;
        }
        made.not_measured =
            self.no_event(&moment, &made).or_else(|| self.nothing_at_stake(&ledger, crash_at_ns, &made));
        Ok((!self.is_stopped()).then_some(made))
    }

    /// Lets the clients write until the crash has come.
    fn write(&self, ledger: &AckLedger, hear: &mut dyn FnMut(Crashed<'_>)) -> Result<Moment, RunError> {
        let upkeep = match &self.request.during {
            CrashMoment::Write | CrashMoment::Recovery => None,
            CrashMoment::Checkpoint => Some(Upkeep::Checkpoint),
            CrashMoment::Compaction => Some(Upkeep::Compaction),
            CrashMoment::Rename | CrashMoment::Log(_) => self.upkeep(),
        };
        let turn = CrashTurn::Write { endurance: self.endurance(), reading: self.reading(), upkeep };
        let mut moment = Moment::default();
        let is_begun = Cell::new(false);
        self.patiently(&|| is_begun.get(), &mut || {
            moment = Moment::default();
            let written = std::thread::scope(|scope| {
                scope.spawn(|| self.strike(ledger, &moment));
                let mut untaken = None;
                let written = self.send(self.task(ledger, turn), &moment, &mut |said| match said {
                    FromWorker::Opened(opened) => hear(Crashed::Opened(&opened.facts, opened.durability)),
                    FromWorker::Ledger(parcel) => untaken = untaken.take().or(ledger.take(&parcel).err()),
                    _ => {}
                });
                moment.over.store(true, Ordering::Release);
                written.and_then(|()| untaken.map_or(Ok(()), |words| Err(self.lost(words))))
            });
            is_begun.set(moment.any_began(ledger));
            written
        })?;
        Ok(moment)
    }

    /// The work that makes the store rename and delete files, and write of it into its log, where it has a command for it.
    fn upkeep(&self) -> Option<Upkeep> {
        let declared = layers::declared(self.request.info, &self.request.spec);
        match (declared.compaction, declared.checkpoint) {
            (Support::Native, _) => Some(Upkeep::Compaction),
            (Support::Absent, Support::Native) => Some(Upkeep::Checkpoint),
            (Support::Absent, Support::Absent) => None,
        }
    }

    /// The cut, before anything was read.
    fn struck_at(&self, crash_at_ns: u64, moment: &Moment, ledger: &AckLedger) -> CrashCut {
        let is_several = self.installation.nodes().is_some_and(host::Nodes::is_several);
        let ended_at_ns = moment.ended_at_ns.load(Ordering::Acquire).max(crash_at_ns);
        let began_at_ns = moment.began_at_ns.load(Ordering::Acquire);
        let lasted_s = |from_ns: u64, to_ns: u64| to_ns.saturating_sub(from_ns) as f64 / 1e9;
        let outage = self.outage().map(|_| ended_at_ns);
        let is_told = matches!(self.request.during, CrashMoment::Checkpoint | CrashMoment::Compaction);
        CrashCut {
            cut: self.cut,
            seed: self.request.seed,
            wrote_s: lasted_s(began_at_ns, crash_at_ns),
            writers: moment.writers(),
            nodes: if is_several { self.struck() } else { Vec::new() },
            outage_s: outage.map(|ended_at_ns| lasted_s(crash_at_ns, ended_at_ns)),
            dark_s: outage.map(|ended_at_ns| dark_s(&ledger.acknowledged_at_ns(), crash_at_ns, ended_at_ns)),
            at_it: is_told.then(|| moment.at_it.load(Ordering::Acquire)),
            ..CrashCut::default()
        }
    }

    /// Reads everything.
    fn read(&self, ledger: &AckLedger, crash_at_ns: u64, made: &mut CrashCut) {
        let is_embedded = matches!(self.request.info.opener, Opener::Embedded(_));
        let mut is_read = false;
        let read = self.patiently(&|| false, &mut || {
            let turn = CrashTurn::Read { crash_at_ns, late: self.late(), reading: self.reading() };
            self.send(self.task(ledger, turn), &Moment::default(), &mut |said| {
                if let FromWorker::CrashRead { opening, found, history } = said {
                    is_read = true;
                    made.found = *found;
                    made.history = history.map(|it| *it);
                    if is_embedded {
                        made.recovery_s = Some(opening.as_secs_f64());
                    }
                }
            })
        });
        match read {
            Ok(()) if is_read => {}
            Ok(()) => made.not_started = Some("reading it did not finish".into()),
            Err(error) => made.not_started = Some(error.to_string()),
        }
    }

    /// Returns whether clients read each other's keys between their writes: those of a cluster do.
    fn reading(&self) -> Reading {
        let is_cluster = self.supply.is_none() && self.installation.nodes().is_some_and(host::Nodes::is_several);
        if is_cluster { Reading::Between } else { Reading::None }
    }

    /// Returns what an answer after the crash means.
    fn late(&self) -> LateAnswer {
        if self.supply.is_some() { LateAnswer::InDoubt } else { LateAnswer::Counts }
    }

    /// The times of the acknowledgements that count.
    fn acknowledged(&self, ledger: &AckLedger, crash_at_ns: u64) -> impl Iterator<Item = u64> + use<> {
        let until = if self.supply.is_some() { crash_at_ns } else { u64::MAX };
        ledger.acknowledged_at_ns().into_iter().filter(move |at| *at <= until)
    }

    /// Returns why a power cut shows nothing of what the level promises; `None`: it does.
    fn nothing_at_stake(&self, ledger: &AckLedger, crash_at_ns: u64, made: &CrashCut) -> Option<String> {
        let power = made.power?;
        let level = self.request.spec.durability.unwrap_or(Durability::None);
        let first_s = match self.acknowledged(ledger, crash_at_ns).next() {
            None => return Some("nothing had been acknowledged".into()),
            Some(at_ns) => crash_at_ns.saturating_sub(at_ns) as f64 / 1e9,
        };
        if is_wrong(made) {
            return None;
        }
        if power.written_sectors == 0 {
            return Some("nothing was written to the disk whose power was cut".into());
        }
        (level == Durability::Second && first_s <= 1.0)
            .then(|| "nothing was older than the second that may be lost".into())
    }

    /// Why a cut is not the one that was asked for: the event just after which it was to come has not come.
    fn no_event(&self, moment: &Moment, made: &CrashCut) -> Option<String> {
        let is_missing = moment.no_event.load(Ordering::Acquire) && !is_wrong(made);
        if is_missing { self.missed() } else { None }
    }

    /// Does it again while a server that runs only cannot be reached in time, as on a busy machine: that says nothing of what it kept.
    fn patiently(
        &self,
        is_over: &dyn Fn() -> bool,
        attempt: &mut dyn FnMut() -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let begun = Instant::now();
        loop {
            let done = attempt();
            let runs = matches!(self.request.info.opener, Opener::Server { .. }) && self.installation.is_alive();
            let is_refused = matches!(done, Err(RunError::Unsuited { .. })) || lost_worker(&done).is_some();
            let is_last = is_refused || is_over() || begun.elapsed() > self.patience() || self.is_stopped();
            if done.is_ok() || !runs || is_last {
                return done;
            }
            std::thread::sleep(AGAIN);
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self) -> WriteSet {
        WriteSet { number: self.cut, seed: self.request.seed, value_bytes: self.request.value_bytes }
    }

    pub(super) fn task(&self, ledger: &AckLedger, turn: CrashTurn) -> Task {
        let request = self.request;
        Task::Crash(CrashTask {
            spec: request.spec.clone(),
            location: self.installation.location().clone(),
            turn,
            ledger: LedgerPlace::Shared(ledger.path()),
            clients: request.clients,
            capacity: CAPACITY,
            set: self.cut,
            seed: request.seed,
            value_bytes: request.value_bytes,
            deadline: request.deadline,
        })
    }

    /// Sends a worker out; what cut its task short, unless that was the crash.
    pub(super) fn send(&self, task: Task, moment: &Moment, heard: &mut dyn FnMut(FromWorker)) -> Result<(), RunError> {
        let settings = Settings { deadline: self.request.deadline, ..Settings::default() };
        // A library that a crash has confused may never return.
        let silence = Silence::of(&settings).at_most(self.patience());
        let supervisor = Supervisor::new(self.installation, self.stop, silence);
        let mut watching = Watching { supervisor, moment, refusal: None, heard };
        let no_job = |_: &Params| Err(JobError("no job has a part in this".into()));
        let departure = self.execution.carry_out(&task, self.request.info, &no_job, &mut watching);
        let Watching { mut supervisor, refusal, .. } = watching;
        if let Departure::Lost(which) = departure {
            return Err(self.lost(which));
        }
        let is_final = if self.outage().is_none() { &moment.striking } else { &moment.enough };
        if is_final.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some(reason) = supervisor.leave().or_else(|| supervisor.death(departure.clone())) {
            return Err(RunError::Broken { store: self.request.spec.to_string(), reason });
        }
        match (refusal, departure) {
            (Some(refusal), _) => Err(refusal.error(self.request.spec.to_string())),
            (None, Departure::Killed) => Err(self.broken("its process had to be ended".into())),
            (None, _) => Ok(()),
        }
    }

    fn broken(&self, example: String) -> RunError {
        self.ended(ReasonKind::WorkerDied, example)
    }

    /// Nobody knows what a worker has written.
    fn lost(&self, example: String) -> RunError {
        self.ended(ReasonKind::WorkerLost, example)
    }

    fn ended(&self, kind: ReasonKind, example: String) -> RunError {
        RunError::Broken { store: self.request.spec.to_string(), reason: Reason { kind, count: 1, example } }
    }
}

/// What ended a crash that says nothing of the store: a worker was lost that had written, or another program had taken the store's port while it was down.
pub(super) fn void<T>(done: &Result<T, RunError>) -> Option<String> {
    if let Err(RunError::Store(taken @ StoreError::PortTaken { .. })) = done {
        return Some(taken.to_string());
    }
    let worker = lost_worker(done)?;
    Some(format!("a worker was lost, and with it what it had written: {worker}"))
}

/// The worker that was lost, and how, where that ended it.
fn lost_worker<T>(done: &Result<T, RunError>) -> Option<&str> {
    match done {
        Err(RunError::Broken { reason, .. }) if reason.kind == ReasonKind::WorkerLost => Some(&reason.example),
        _ => None,
    }
}

/// Whether anything is wrong after a cut.
fn is_wrong(made: &CrashCut) -> bool {
    made.not_started.is_some() || !made.found.examples.is_empty()
}

/// The longest time without any acknowledgement between two moments.
fn dark_s(acknowledged_at_ns: &[u64], from_ns: u64, to_ns: u64) -> f64 {
    let within = acknowledged_at_ns.iter().copied().filter(|at| (from_ns..to_ns).contains(at));
    let mut longest = 0;
    within.chain([to_ns]).fold(from_ns, |before, at| {
        longest = longest.max(at - before);
        at
    });
    longest as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::dark_s;

    #[test]
    fn the_longest_darkness_lies_between_acknowledgements_or_goes_on_to_the_end() {
        let seconds = |of: &[u64]| of.iter().map(|it| it * 1_000_000_000).collect::<Vec<_>>();
        let dark = |acknowledged: &[u64]| dark_s(&seconds(acknowledged), 10_000_000_000, 20_000_000_000);
        assert_eq!(dark(&[1, 9, 11, 15, 19, 30]), 4.0);
        assert_eq!(dark(&[1, 9]), 10.0);
        assert_eq!(dark(&[12, 13]), 7.0);
    }
}
