//! One trial, from the side of kvtrial: make its place, have a worker open the store and run the phases, judge, clear the place away.

use crate::attendant::Attendant;
use crate::clean::{self, UsersStores};
use crate::execution::Departure;
use crate::judge::{self, Evidence};
use crate::message::{Assignment, Errand, Opened, Refusal};
use crate::plan::{Plan, PlannedCell};
use crate::put_off;
use crate::run::{Observer, RunError};
use crate::silence::Silence;
use crate::trust::Circumstances;
use crate::witness::{Seen, Witness};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use store::{Facts, StoreError};
use study::{Durability, Judged, Reason, ReasonKind, ServerUse, Target, TrialRecord, Verdict};

/// What is known of a cell's store once it was opened.
#[derive(Clone, Debug)]
pub struct About {
    /// Product, version, effective configuration.
    pub facts: Facts,
    /// Durability level in effect, as the store itself says.
    pub durability: Durability,
    /// Operations the job emulates on it.
    pub emulated: Vec<String>,
    /// Key and value bytes the job left in it.
    pub logical_bytes: u64,
}

/// What a trial came to.
pub struct Finished {
    /// What was measured, with its verdict.
    pub record: TrialRecord,
    /// What is known of the store; `None` when it could not be opened.
    pub about: Option<About>,
    /// Whether it was stopped midway: then it is no trial.
    pub interrupted: bool,
}

/// Where a trial stands in its study.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// From 1.
    pub order: u32,
    /// Whether it is not counted.
    pub warmup: bool,
}

/// Whether a store was opened before in this study. If not, a failure to open is the user's to mend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    First,
    Again,
}

pub(crate) fn run_trial(
    plan: &Plan,
    planned: &PlannedCell,
    position: Position,
    opening: Opening,
    users: &mut UsersStores,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Finished, RunError> {
    let record = TrialRecord {
        order: position.order,
        warmup: position.warmup,
        started_at: study::rfc3339(unix_seconds()),
        ..TrialRecord::default()
    };
    let premises = match host::Opening::new(&plan.base).premises(planned.info, &planned.spec) {
        Ok(premises) => premises,
        Err(error) => return not_opened(record, error, opening, stop),
    };
    let errand = Errand::Trial(Assignment::of(plan, planned, &premises, users.keys(plan, planned)));
    let place = clean::place_of(&planned.spec);
    let attendant = Attendant::new(&premises, stop, Silence::of(&planned.settings));
    let apart = plan.execution.is_apart();
    let mut witness = Witness::new(place, &premises, apart, attendant, observer);
    let departure = plan.execution.carry_out(&errand, planned.info, &|params| plan.shelf.job(params), &mut witness);
    let seen = witness.leave();
    let finished = conclude(planned, record, seen, departure, opening, stop);
    let closed = premises.close();
    finished.map(|mut finished| {
        if let Err(error) = closed {
            finished.record.verdict.add(reason(ReasonKind::ServerDied, error.to_string()));
        }
        finished
    })
}

/// A store that could not be opened: the first time it is the user's to mend.
fn not_opened(
    mut record: TrialRecord,
    error: StoreError,
    opening: Opening,
    stop: &AtomicBool,
) -> Result<Finished, RunError> {
    if stop.load(Ordering::Relaxed) {
        return Ok(Finished { record, about: None, interrupted: true });
    }
    if opening == Opening::First {
        return Err(RunError::Store(error));
    }
    record.verdict = Verdict::of([reason(ReasonKind::NotStarted, error.to_string())]);
    Ok(Finished { record, about: None, interrupted: false })
}

/// From what was reported to a trial with its verdict.
fn conclude(
    planned: &PlannedCell,
    mut record: TrialRecord,
    seen: Seen,
    departure: Departure,
    opening: Opening,
    stop: &AtomicBool,
) -> Result<Finished, RunError> {
    let Seen { opened, mut measured, finish, refusal, unwritten, looks, broken_off, doing, .. } = seen;
    if let Some(problem) = unwritten {
        return Err(RunError::Record(problem));
    }
    if let Some(refusal) = refusal.filter(|_| broken_off.is_none()) {
        return match refusal {
            Refusal::Store(words) => not_opened(record, StoreError::Session(words), opening, stop),
            other => Err(other.error(planned.spec.to_string())),
        };
    }
    let finish = finish.unwrap_or_default();
    let interrupted = stop.load(Ordering::Relaxed) && !finish.complete;
    record.resent = finish.resent;
    record.client_rss_bytes = finish.peak_rss_bytes;
    record.disk_bytes = looks.disk_bytes;
    record.server = looks.server.map(|used| ServerUse { cpu_s: measured.server_cpu_s, ..used });
    measured.fill(&mut record);
    let users_here = matches!(planned.spec.target, Target::Server(_)) && planned.spec.echo_baseline().is_some();
    if users_here && record.server.is_none() && record.noise.judged.is_yes() {
        record.noise.judged = Judged::ServerNotFound;
    }
    record.answer = finish.answer.seen();
    record.verdict = judge::verdict(Evidence {
        outcomes: &measured.outcomes,
        answer: &record.answer,
        answer_reasons: finish.answer_reasons,
        known_digest: finish.known_digest,
        broken_off,
        not_sent: record.not_sent,
        circumstances: Circumstances {
            class: planned.info.class,
            settings: &planned.settings,
            latencies: &record.latency_ns,
            noise: record.noise,
            timed_s: measured.timed_s,
            client_load: record.client_thread_load,
            client_run_delay: record.client_run_delay,
            client_threads: record.client_threads,
            cpus: host::allowed_cpus().len() as u32,
            server_load: record.server.map(|used| used.cpu_s / measured.timed_s.max(f64::MIN_POSITIVE)),
        },
    });
    let put_off = record.read_back.and_then(|back| put_off::doubt(measured.work(), back));
    put_off.into_iter().for_each(|found| record.verdict.add(found));
    measured.broken.into_iter().for_each(|found| record.verdict.add(found));
    if let Departure::Died(how) = departure {
        record.verdict.add(reason(ReasonKind::WorkerDied, format!("{how} (while: {doing})")));
    }
    let about = opened.map(|opened| {
        let Opened { facts, durability, emulated } = opened;
        not_in_effect(planned, &facts, durability).for_each(|found| record.verdict.add(found));
        About { facts, durability, emulated, logical_bytes: finish.logical_bytes }
    });
    Ok(Finished { record, about, interrupted })
}

/// Settings that were asked for, and that the store says it does not have.
fn not_in_effect(planned: &PlannedCell, facts: &Facts, durability: Durability) -> impl Iterator<Item = Reason> {
    // A layer may hold less than the store beneath it, and declares so.
    let declared = planned.info.declared(&planned.spec).durability;
    let level = planned.spec.durability.map(|_| declared).filter(|asked| *asked != durability);
    let level = level.map(|asked| format!("durability={asked} was asked for, the store is at {durability}"));
    let others = stores::tunables::not_in_effect(&planned.spec, &facts.config);
    level.into_iter().chain(others).map(|example| reason(ReasonKind::SettingNotInEffect, example))
}

fn reason(kind: ReasonKind, example: String) -> Reason {
    Reason { kind, count: 1, example }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
