//! One trial: open, run the phases, verify, judge, close.

use crate::clean::UsersStores;
use crate::growth::Watch;
use crate::judge::{self, Evidence};
use crate::plan::{Plan, PlannedCell};
use crate::run::{Observer, RunError};
use crate::trust::{Circumstances, ForeignServer};
use engine::{Counts, End, Histograms, Outcome, Progress, TrialSetup, run_phase};
use host::{NoiseMeter, OpenStore, ProcessUse};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::{Facts, Keeps, StoreError};
use study::{
    CurvePoint, Durability, PhaseRecord, Reason, ReasonKind, SeriesPoint, ServerUse, Stall, Target, TrialRecord,
    Verdict,
};

/// What is known of a cell's store once it was opened.
#[derive(Clone, Debug)]
pub struct About {
    /// Product, version, effective configuration.
    pub facts: Facts,
    /// Durability level in effect, as the store itself says.
    pub durability: Durability,
    /// Operations the job emulates on it.
    pub emulated: Vec<&'static str>,
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

/// Shortest time of which the machine's own counters say how noisy it was.
const NOISE_NEEDS_S: f64 = 0.25;

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
    let mut record = TrialRecord {
        order: position.order,
        warmup: position.warmup,
        started_at: study::rfc3339(unix_seconds()),
        ..TrialRecord::default()
    };
    let opened = host::Opening::new(&plan.base)
        .open(planned.info, &planned.spec)
        .and_then(|open| open.facts().map(|facts| (open, facts)));
    let (open, facts) = match opened {
        Ok(opened) => opened,
        Err(_) if stop.load(Ordering::Relaxed) => {
            return Ok(Finished { record, about: None, interrupted: true });
        }
        Err(error) if opening == Opening::First => return Err(RunError::Store(error)),
        Err(error) => {
            record.verdict = Verdict::of([reason(ReasonKind::NotStarted, error.to_string())]);
            return Ok(Finished { record, about: None, interrupted: false });
        }
    };
    let capabilities = open.store().capabilities().clone();
    let unsuited = |error: engine::JobError| RunError::Unsuited { store: planned.spec.to_string(), problem: error.0 };
    let job = plan.shelf.job(&planned.params)?;
    let emulated = job.suits(&capabilities).map_err(unsuited)?;
    let keeps = capabilities.keeps;
    let durability = capabilities.durability;
    let setup = TrialSetup { slots: planned.settings.slots(), capabilities, seed: plan.seed };
    users.prepare(plan, planned, open.store(), &setup, stop)?;
    let trial = job.trial(&setup);

    let mut measured = Measured::default();
    let phases = trial.phases();
    let mut interrupted = false;
    ProcessUse::reset_peak();
    for (index, phase) in phases.iter().enumerate() {
        let meter = Meter::start(&open);
        let mut growth = trial.records(index).map(|_| Watch::begin(&open));
        let mut watch = |progress: Progress| {
            if let Some(growth) = &mut growth {
                growth.look(progress.elapsed);
            }
            observer.progress(phase, progress);
        };
        let mut outcome = match run_phase(open.store(), trial.as_ref(), index, &planned.settings, stop, &mut watch) {
            Ok(outcome) => outcome,
            Err(error) => {
                measured.broken(phase.name, &error);
                break;
            }
        };
        if let Some(growth) = growth {
            growth.explain(outcome.elapsed, &mut outcome.curve, &mut outcome.stalls);
        }
        if phase.timed {
            let flush = Instant::now();
            if let Err(error) = open.store().flush() {
                measured.broken("flush", &error);
            }
            outcome.elapsed += flush.elapsed();
        }
        let end = outcome.end;
        measured.add(phase.name, phase.timed, outcome, meter, &open);
        if let Some(record) = measured.phases.last_mut() {
            record.records = trial.carried(index).unwrap_or(record.operations);
            record.disk_bytes = open.disk_bytes();
        }
        match end {
            End::Completed => {}
            End::Interrupted => {
                interrupted = true;
                break;
            }
            End::Unanswered => break,
        }
    }
    let complete =
        measured.outcomes.len() == phases.len() && measured.outcomes.iter().all(|(_, one)| one.end == End::Completed);
    // An answer of half a job would only repeat what the reasons say already.
    let (answer, answer_reasons) = if complete { trial.answer() } else { Default::default() };
    let known_digest = (keeps == Keeps::Everything && complete).then(|| job.known_digest()).flatten();
    let logical_bytes = trial.logical_bytes();
    drop(trial);

    record.resent = open.store().resent();
    record.disk_bytes = open.disk_bytes();
    record.server = open.usage().map(|used| ServerUse { cpu_s: measured.server_cpu_s, ..used });
    record.client_rss_bytes = ProcessUse::now().peak_rss_bytes;
    let server_ending = open.ending().map(|ending| format!("{ending}{}", open.log_end()));
    measured.fill(&mut record);
    record.answer = answer;
    record.verdict = judge::verdict(Evidence {
        outcomes: &measured.outcomes,
        answer: &record.answer,
        answer_reasons,
        known_digest,
        server_ending,
        not_sent: record.not_sent,
        circumstances: Circumstances {
            class: planned.info.class,
            settings: &planned.settings,
            latencies: &record.latency_ns,
            noise: record.noise,
            foreign_server: match planned.spec.target {
                Target::Server(_) if planned.spec.echo_baseline().is_some() => ForeignServer::Here,
                _ => ForeignServer::Elsewhere,
            },
            timed_s: measured.timed_s,
            client_load: record.client_thread_load,
            client_run_delay: record.client_run_delay,
            client_threads: record.client_threads,
            cpus: host::allowed_cpus().len() as u32,
            server_load: record.server.map(|used| used.cpu_s / measured.timed_s.max(f64::MIN_POSITIVE)),
        },
    });
    // A layer may hold less than the store beneath it, and declares so.
    let declared = planned.info.declared(&planned.spec).durability;
    if let Some(asked) = planned.spec.durability.map(|_| declared).filter(|asked| *asked != durability) {
        let example = format!("durability={asked} was asked for, the store is at {durability}");
        record.verdict.add(reason(ReasonKind::SettingNotInEffect, example));
    }
    for example in stores::tunables::not_in_effect(&planned.spec, &facts.config) {
        record.verdict.add(reason(ReasonKind::SettingNotInEffect, example));
    }
    measured.broken.into_iter().for_each(|found| record.verdict.add(found));
    if let Err(error) = open.close() {
        record.verdict.add(reason(ReasonKind::ServerDied, error.to_string()));
    }
    Ok(Finished { record, about: Some(About { facts, durability, emulated, logical_bytes }), interrupted })
}

fn reason(kind: ReasonKind, example: String) -> Reason {
    Reason { kind, count: 1, example }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Meters read when a phase begins.
struct Meter {
    noise: NoiseMeter,
    client: ProcessUse,
    server_cpu_s: f64,
}

impl Meter {
    fn start(open: &OpenStore) -> Meter {
        let server_cpu_s = open.server_cpu_s().unwrap_or(0.0);
        Meter { noise: NoiseMeter::start(), client: ProcessUse::now(), server_cpu_s }
    }
}

/// What the phases of a trial came to.
#[derive(Default)]
struct Measured {
    outcomes: Vec<(&'static str, Outcome)>,
    phases: Vec<PhaseRecord>,
    broken: Vec<Reason>,
    makespan: Duration,
    counts: Counts,
    histograms: Histograms,
    series: Vec<SeriesPoint>,
    curve: Vec<CurvePoint>,
    stalls: Vec<Stall>,
    errors: u64,
    client_cpu_s: f64,
    server_cpu_s: f64,
    thread_load: f64,
    run_delay: f64,
    threads: u32,
    noise: study::Noise,
    timed_s: f64,
}

impl Measured {
    fn broken(&mut self, phase: &str, error: &StoreError) {
        self.broken.push(reason(ReasonKind::ConnectionLost, format!("{error} (while: {phase})")));
    }

    fn add(&mut self, name: &'static str, timed: bool, outcome: Outcome, before: Meter, open: &OpenStore) {
        let elapsed_s = outcome.elapsed.as_secs_f64();
        self.phases.push(PhaseRecord {
            name: name.into(),
            timed,
            elapsed_s,
            operations: outcome.counts.operations,
            records: outcome.counts.operations,
            response_ns: outcome.histograms.latencies().response,
            client_cpu_s: outcome.client_cpu.as_secs_f64(),
            disk_bytes: None,
        });
        self.errors += outcome.counts.errors;
        if timed {
            let client_cpu_s = ProcessUse::now().cpu_s - before.client.cpu_s; // before the look at the server costs some
            let server_cpu_s = (open.server_cpu_s().unwrap_or(0.0) - before.server_cpu_s).max(0.0);
            let noise = before.noise.finish(client_cpu_s, server_cpu_s);
            // Weighted by time, should there be several timed phases.
            let share = elapsed_s / (self.timed_s + elapsed_s).max(f64::MIN_POSITIVE);
            self.noise.steal += (noise.steal - self.noise.steal) * share;
            self.noise.other_load += (noise.other_load - self.noise.other_load) * share;
            self.noise.throttled += (noise.throttled - self.noise.throttled) * share;
            self.noise.heat_events += noise.heat_events;
            let offset_s = self.timed_s;
            self.timed_s += elapsed_s;
            self.makespan += outcome.elapsed;
            self.counts.merge(&outcome.counts);
            self.histograms.merge(&outcome.histograms);
            self.series
                .extend(outcome.series.iter().map(|point| SeriesPoint { at_s: point.at_s + offset_s, ..*point }));
            self.curve.extend_from_slice(&outcome.curve);
            self.stalls.extend_from_slice(&outcome.stalls);
            self.client_cpu_s += outcome.client_cpu.as_secs_f64();
            self.server_cpu_s += server_cpu_s;
            self.thread_load = self.thread_load.max(outcome.thread_load);
            let delay = outcome.run_delay.as_secs_f64() / elapsed_s.max(f64::MIN_POSITIVE);
            self.run_delay = self.run_delay.max(delay.clamp(0.0, 1.0));
            self.threads = self.threads.max(outcome.threads);
        }
        self.outcomes.push((name, outcome));
    }

    fn fill(&mut self, record: &mut TrialRecord) {
        record.makespan_s = self.makespan.as_secs_f64();
        record.operations = self.counts.operations;
        record.ops_per_s = if record.makespan_s > 0.0 { record.operations as f64 / record.makespan_s } else { 0.0 };
        record.latency_ns = self.histograms.latencies();
        record.hits = self.counts.hits;
        record.misses = self.counts.misses;
        record.errors = self.errors;
        record.retries = self.counts.conflicts;
        record.not_sent = self.counts.not_sent;
        record.bytes_read = self.counts.bytes_read;
        record.bytes_written = self.counts.bytes_written;
        record.client_cpu_s = self.client_cpu_s;
        record.client_thread_load = self.thread_load;
        record.client_run_delay = self.run_delay;
        record.client_threads = self.threads;
        // The kernel counts in ticks of 10 ms: of a shorter time they say nothing.
        record.noise = if self.timed_s < NOISE_NEEDS_S { study::Noise::default() } else { self.noise };
        record.phases = std::mem::take(&mut self.phases);
        record.series = std::mem::take(&mut self.series);
        record.curve = std::mem::take(&mut self.curve);
        record.stalls = std::mem::take(&mut self.stalls);
        // Where growth is not watched, the series alone says whether anything stood still.
        if record.curve.is_empty() {
            record.stalls = analysis::stalls(&record.series);
        }
    }
}
