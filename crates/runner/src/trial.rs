//! One trial, from the side of kvtrial: make its place, have a worker open the store and run the phases, judge, clear the place away.

use crate::assignment::Keys;
use crate::error::RunError;
use crate::faults::{self, Faulting};
use crate::message::{Finish, OpenedStore, Refusal, Task};
use crate::monitor::{Monitor, Seen};
use crate::observer::{About, Observer};
use crate::plan::Plan;
use crate::planned_cell::PlannedCell;
use crate::put_off;
use crate::silence::Silence;
use crate::supervisor::Supervisor;
use crate::trial_verdict::{self, Evidence};
use crate::trust::{self, Circumstances};
use crate::users::place_of;
use host::Installation;
use jobkit::Params;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use store::{Facts, StoreError};
use study::{Durability, Judged, NodeUse, Reason, ReasonKind, ServerUse, Status, Target, TrialRecord, Verdict};

/// The result of a trial.
pub struct Finished {
    /// The record of the trial, with its verdict.
    pub record: TrialRecord,
    /// The facts about the store; `None` when it could not be opened.
    pub about: Option<About>,
    /// Whether the trial was stopped midway: then it does not count at all.
    pub interrupted: bool,
}

/// The position of a trial in its study.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// The number of the trial in the study, from 1.
    pub order: u32,
    /// Whether the trial is a warm-up, so not counted.
    pub warmup: bool,
    /// The number of the trial within its cell, from 0. Random arrivals follow this number: the trials of a cell have patterns of their
    /// own, and the same trial of every store has the same pattern.
    pub round: u32,
}

/// A visit to a store: whether the store was opened before in this study. The first time, only the user can fix a failure to open it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    First,
    Again,
}

/// One trial of a cell, about to be run.
pub(crate) struct TrialRun<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) cell: &'a PlannedCell,
    pub(crate) visit: Visit,
    pub(crate) stop: &'a AtomicBool,
}

impl TrialRun<'_> {
    /// Makes the place, has the phases run there, judges what was seen, clears the place away.
    pub(crate) fn run(
        &self,
        position: Position,
        keys: Option<Keys>,
        observer: &mut dyn Observer,
    ) -> Result<Finished, RunError> {
        let record = TrialRecord {
            order: position.order,
            warmup: position.warmup,
            started_at: study::rfc3339(unix_seconds()),
            ..TrialRecord::default()
        };
        let opening = host::Opening::new(&self.plan.base)
            .server_memory(self.plan.server_memory_bytes)
            .clocks(self.plan.faults.clocks());
        let installation = match opening.installation(self.cell.info, &self.cell.spec) {
            Ok(installation) => installation,
            Err(error) => return self.not_opened(record, error),
        };
        let seen = self.phases(&installation, position, keys, observer);
        let finished = self.judge(record, seen);
        // Nothing of a void trial has to be kept: its server, which may hang, is not waited for.
        let is_void = |it: &Finished| it.record.verdict.status == Status::Void;
        let closed = if finished.as_ref().is_ok_and(is_void) { installation.abandon() } else { installation.close() };
        finished.map(|mut finished| {
            if let Err(error) = closed {
                finished.record.verdict.add(reason(ReasonKind::ServerDied, error.to_string()));
            }
            finished
        })
    }

    /// Has a worker open the store at its place and run the phases; returns what kvtrial heard and saw of it.
    fn phases(
        &self,
        installation: &Installation,
        position: Position,
        keys: Option<Keys>,
        observer: &mut dyn Observer,
    ) -> Seen {
        let TrialRun { plan, cell, stop, .. } = *self;
        let mut assignment = plan.assignment(cell, installation, keys);
        assignment.settings.seed = data::splitmix::mix(cell.settings.seed ^ u64::from(position.round) << 32);
        let task = Task::Trial(assignment);
        let supervisor = Supervisor::new(installation, stop, Silence::of(&cell.settings));
        let apart = plan.execution.is_apart();
        let nodes = installation.nodes();
        let faulting = Faulting::new(&plan.faults, cell, nodes);
        let mut monitor = Monitor::new(place_of(&cell.spec), installation, apart, supervisor, &faulting, observer);
        let job = |params: &Params| plan.job_cache.job(params);
        let departure = std::thread::scope(|scope| {
            if let Some(nodes) = nodes.filter(|_| faulting.any_planned()) {
                scope.spawn(|| faulting.carry_out(nodes));
            }
            let _over = Over(&faulting);
            plan.execution.carry_out(&task, cell.info, &job, &mut monitor)
        });
        let mut seen = monitor.leave(departure);
        seen.faults = faulting.records(&seen.measured);
        seen
    }

    /// A store that could not be opened: the first time, only the user can fix that.
    fn not_opened(&self, mut record: TrialRecord, error: StoreError) -> Result<Finished, RunError> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(Finished { record, about: None, interrupted: true });
        }
        if self.visit == Visit::First {
            return Err(RunError::Store(error));
        }
        record.verdict = Verdict::of([reason(ReasonKind::NotStarted, error.to_string())]);
        Ok(Finished { record, about: None, interrupted: false })
    }

    /// Turns what was heard and seen into a trial with its verdict.
    fn judge(&self, mut record: TrialRecord, mut seen: Seen) -> Result<Finished, RunError> {
        if let Some(problem) = seen.unwritten {
            return Err(RunError::Record(problem));
        }
        if let Some(refusal) = seen.refusal.take().filter(|_| seen.broken_off.is_none()) {
            return match refusal {
                Refusal::Store(words) => self.not_opened(record, StoreError::Session(words)),
                other => Err(other.error(self.cell.spec.to_string())),
            };
        }
        let mut finish = seen.finish.take().unwrap_or_default();
        let interrupted = self.stop.load(Ordering::Relaxed) && !finish.complete;
        let logical_bytes = finish.logical_bytes;
        let opened = seen.opened.take();
        self.fill(&mut record, &mut finish, &mut seen);
        self.verdict(&mut record, finish, seen);
        let about = opened.map(|opened| {
            let OpenedStore { facts, durability, source, emulated, .. } = opened;
            not_in_effect(self.cell, &facts, durability).for_each(|found| record.verdict.add(found));
            About { facts, durability, source, emulated, logical_bytes }
        });
        Ok(Finished { record, about, interrupted })
    }

    /// Writes down what was measured.
    fn fill(&self, record: &mut TrialRecord, finish: &mut Finish, seen: &mut Seen) {
        record.resent = finish.resent;
        record.writes = finish.account;
        record.oldest_lost_s = seen.oldest_lost_s;
        record.history = finish.history.take();
        record.client_rss_bytes = finish.peak_rss_bytes;
        record.disk_bytes = seen.looks.disk_bytes;
        let server = seen.looks.server.take();
        record.server = server.map(|used| ServerUse { cpu_s: seen.measured.server_cpu_s, ..used });
        let cpu_s = |node: &NodeUse| seen.measured.node_cpu_s.get(&node.name).copied().unwrap_or(0.0);
        let nodes = std::mem::take(&mut seen.looks.nodes).into_iter();
        record.nodes = nodes.map(|node| NodeUse { cpu_s: cpu_s(&node), ..node }).collect();
        record.faults = std::mem::take(&mut seen.faults);
        seen.measured.fill(record);
        record.workers = std::mem::take(&mut seen.fleet.workers);
        record.start_spread_s = seen.fleet.start_spread_s;
        record.ops_per_s_together = seen.fleet.ops_per_s_together;
        let spec = &self.cell.spec;
        let users_here = matches!(spec.target, Target::Server(_)) && self.cell.info.transport(spec).is_some();
        if users_here && record.server.is_none() && record.noise.judged.is_yes() {
            record.noise.judged = Judged::ServerNotFound;
        }
        record.answer = std::mem::take(&mut finish.answer).seen();
    }

    /// Collects everything that is wrong, or may be.
    fn verdict(&self, record: &mut TrialRecord, finish: Finish, seen: Seen) {
        let Seen { measured, broken_off, died, faulted_from, over_s, fleet, .. } = seen;
        let verdict = trial_verdict::verdict(Evidence {
            outcomes: &measured.outcomes,
            phases: &record.phases,
            answer: &record.answer,
            answer_reasons: finish.answer_reasons,
            known_digest: finish.known_digest,
            broken_off,
            faulted_from,
            failed_before_fault: faults::failed_before(&record.series, &record.faults, over_s),
            any_failed: !record.failed.is_none(),
            complete: finish.complete,
            account: record.writes,
            not_sent: record.not_sent,
            circumstances: Circumstances {
                class: layers::class_of(self.cell.info, &self.cell.spec),
                settings: &self.cell.settings,
                latencies: &record.latency_ns,
                noise: record.noise,
                timed_s: measured.timed_s,
                client_load: record.client_thread_load,
                client_run_delay: record.client_run_delay,
                client_threads: record.client_threads,
                cpus: host::allowed_cpus().len() as u32,
                workers: &record.workers,
                server_load: record.server.map(|used| used.cpu_s / measured.timed_s.max(f64::MIN_POSITIVE)),
            },
        });
        record.verdict = verdict;
        let put_off = record.read_back.and_then(|back| put_off::doubt(measured.work(), back));
        let shared = fleet.reasons.into_iter().chain(trust::spread(record.start_spread_s, measured.timed_s));
        put_off
            .into_iter()
            .chain(measured.broken)
            .chain(died)
            .chain(shared)
            .for_each(|found| record.verdict.add(found));
        faults::undone(&record.faults, &record.verdict).into_iter().for_each(|found| record.verdict.add(found));
    }
}

/// Ends the faults of a trial when dropped, also when what it carries out panics: their thread is waited for.
struct Over<'a>(&'a Faulting);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Settings that were asked for, and that the store says it does not have.
fn not_in_effect(planned: &PlannedCell, facts: &Facts, durability: Durability) -> impl Iterator<Item = Reason> {
    // A layer may hold less than the store beneath it, and declares so.
    let declared = layers::declared(planned.info, &planned.spec).durability;
    let level = planned.spec.durability.map(|_| declared).filter(|asked| *asked != durability);
    let level = level.map(|asked| format!("durability={asked} was asked for, the store is at {durability}"));
    let others = planned.info.not_in_effect(&planned.spec, &facts.config);
    level.into_iter().chain(others).map(|example| reason(ReasonKind::SettingNotInEffect, example))
}

fn reason(kind: ReasonKind, example: String) -> Reason {
    Reason { kind, count: 1, example }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
