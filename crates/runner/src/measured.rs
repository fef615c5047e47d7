//! What the phases of a trial came to, as they are reported one after the other.

use crate::message::PhaseDone;
use crate::put_off::TimedWork;
use crate::trust::NEEDED_S;
use engine::Outcome;
use host::{Installation, NoiseMeter, ProcessUse};
use measure::{Counts, Histograms, Timeline};
use std::collections::BTreeMap;
use std::time::Duration;
use study::{
    CurvePoint, DarkTime, FailedCounts, HeadOfLine, Judged, Noise, PhaseRecord, ReadBackFigures, Reason, ReasonKind,
    SeriesPoint, Stall, TrialRecord,
};

/// Meters read when a phase begins.
pub(crate) struct Meter {
    noise: NoiseMeter,
    /// CPU time of this process, where it is not the one the phase runs in.
    own_cpu_s: Option<f64>,
    server_cpu_s: f64,
    /// Of each node, where there are several.
    node_cpu_s: Vec<(String, f64)>,
}

impl Meter {
    /// Returns `apart`: the phase runs in another process.
    pub(crate) fn start(installation: &Installation, apart: bool) -> Meter {
        let server_cpu_s = installation.server_cpu_s().unwrap_or(0.0);
        let own_cpu_s = apart.then(|| ProcessUse::now().cpu_s);
        let node_cpu_s = installation.node_cpu_s();
        Meter { noise: NoiseMeter::start(), own_cpu_s, server_cpu_s, node_cpu_s }
    }
}

/// The results of the phases of a trial.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) outcomes: Vec<(String, Outcome)>,
    pub(crate) broken: Vec<Reason>,
    pub(crate) server_cpu_s: f64,
    pub(crate) node_cpu_s: BTreeMap<String, f64>,
    pub(crate) timed_s: f64,
    phases: Vec<PhaseRecord>,
    makespan: Duration,
    /// After the time given, where that ended phases.
    drain: Option<Duration>,
    counts: Counts,
    histograms: Histograms,
    series: Vec<SeriesPoint>,
    /// Outcomes of timed phases, each with the time of those before it.
    timed: Vec<(usize, Duration)>,
    curve: Vec<CurvePoint>,
    stalls: Vec<Stall>,
    dark: Vec<DarkTime>,
    errors: u64,
    failed: FailedCounts,
    client_cpu_s: f64,
    thread_load: f64,
    run_delay: f64,
    threads: u32,
    noise: Noise,
    /// Records the timed phases wrote or read.
    records: u64,
    read_back: Option<ReadBackFigures>,
    reconnected: u64,
    head_of_line: Option<HeadOfLine>,
}

impl Measured {
    pub(crate) fn broken(&mut self, phase: &str, words: &str) {
        let example = format!("{words} (while: {phase})");
        self.broken.push(Reason { kind: ReasonKind::ConnectionLost, count: 1, example });
    }

    /// Adds a phase that has just ended.
    pub(crate) fn add(&mut self, done: PhaseDone, before: Option<Meter>, installation: &Installation) {
        let PhaseDone { phase, outcome, .. } = done;
        // The time given is the time of the phase, however long the last replies and the flush take.
        let (within, drain) = match outcome.drain {
            Some(drain) => (outcome.elapsed, Some(drain + done.flush)),
            None => (outcome.elapsed + done.flush, None),
        };
        let elapsed = within + drain.unwrap_or_default();
        let elapsed_s = elapsed.as_secs_f64();
        self.errors += outcome.counts.errors;
        self.failed.refused += outcome.counts.refused;
        self.failed.not_connected += outcome.counts.not_connected;
        self.failed.unknown += outcome.counts.unknown;
        if phase.timed {
            // Taken before the look at the server, which itself takes CPU time.
            let own_cpu_s = |meter: &Meter| meter.own_cpu_s.map_or(0.0, |before| ProcessUse::now().cpu_s - before);
            let client_cpu_s = done.process_cpu_s + before.as_ref().map_or(0.0, own_cpu_s);
            if let Some(before) = before {
                let server_cpu_s = (installation.server_cpu_s().unwrap_or(0.0) - before.server_cpu_s).max(0.0);
                self.server_cpu_s += server_cpu_s;
                let earlier: BTreeMap<String, f64> = before.node_cpu_s.into_iter().collect();
                for (node, cpu_s) in installation.node_cpu_s() {
                    let used_s = cpu_s - earlier.get(&node).copied().unwrap_or(0.0);
                    *self.node_cpu_s.entry(node).or_default() += used_s.max(0.0);
                }
                let noise = before.noise.finish(client_cpu_s, server_cpu_s);
                // Weighted by time, should there be several timed phases.
                let share = elapsed_s / (self.timed_s + elapsed_s).max(f64::MIN_POSITIVE);
                self.noise.steal += (noise.steal - self.noise.steal) * share;
                self.noise.other_load += (noise.other_load - self.noise.other_load) * share;
                self.noise.throttled += (noise.throttled - self.noise.throttled) * share;
                self.noise.heat_events += noise.heat_events;
            }
            let offset_s = self.timed_s;
            self.timed.push((self.outcomes.len(), Duration::from_secs_f64(offset_s)));
            self.timed_s += elapsed_s;
            self.makespan += within;
            self.drain = self.drain.into_iter().chain(drain).reduce(|one, other| one + other);
            self.counts.merge(&outcome.counts);
            self.histograms.merge(&outcome.histograms);
            let series = outcome.series();
            self.series.extend(series.into_iter().map(|point| SeriesPoint { at_s: point.at_s + offset_s, ..point }));
            let dark_s = |ns: u64| ns as f64 / 1e9 + offset_s;
            self.dark.extend(outcome.dark.iter().map(|it| DarkTime {
                part: it.part.into(),
                share: it.share,
                from_s: dark_s(it.from_ns),
                until_s: dark_s(it.until_ns),
            }));
            let stored = self.curve.last().copied().unwrap_or_default();
            self.curve.extend(done.curve.into_iter().map(|point| after(&stored, offset_s, point)));
            self.stalls.extend(done.stalls.into_iter().map(|stall| Stall {
                at_s: stall.at_s + offset_s,
                records: stall.records + stored.records,
                ..stall
            }));
            self.client_cpu_s += outcome.client_cpu.as_secs_f64();
            self.thread_load = self.thread_load.max(outcome.thread_load);
            let delay = outcome.run_delay.as_secs_f64() / elapsed_s.max(f64::MIN_POSITIVE);
            self.run_delay = self.run_delay.max(delay.clamp(0.0, 1.0));
            self.threads = self.threads.max(outcome.threads);
            self.head_of_line = self.head_of_line.into_iter().chain(outcome.head_of_line).reduce(HeadOfLine::and);
        }
        self.reconnected += outcome.reconnected;
        let records = done.carried.unwrap_or(outcome.counts.operations);
        let distributions = outcome.histograms.distributions();
        let response_ns = outcome.histograms.latencies().response;
        if phase.timed {
            self.records += records;
        }
        if done.reads_back {
            let all = self.read_back.get_or_insert_default();
            all.operations += outcome.counts.operations;
            all.records += records;
            all.bytes_read += outcome.counts.bytes_read;
            all.elapsed_s += elapsed_s;
            all.records_per_s = all.records as f64 / all.elapsed_s.max(f64::MIN_POSITIVE);
            all.longest_ns = all.longest_ns.max(response_ns.max);
        }
        self.phases.push(PhaseRecord {
            name: phase.name.clone(),
            timed: phase.timed,
            elapsed_s: within.as_secs_f64(),
            operations: outcome.counts.operations,
            failed_operations: outcome.counts.failed,
            answered_late: outcome.counts.late,
            records,
            response_ns,
            distributions,
            client_cpu_s: outcome.client_cpu.as_secs_f64(),
            disk_bytes: installation.disk_bytes(),
        });
        self.outcomes.push((phase.name, outcome));
    }

    /// Returns the operations per second that the timed phases offered at the rate asked for. A phase at a rate of its own comes after
    /// those.
    fn offered_per_s(&self) -> Option<f64> {
        let timed = self.timed.iter().filter_map(|&(at, _)| self.outcomes[at].1.offered);
        let first = self.timed.first().and_then(|&(at, _)| self.outcomes[at].1.offered)?;
        let (mut sent, mut time) = (0, Duration::ZERO);
        for offered in timed.filter(|offered| offered.asked_per_s == first.asked_per_s) {
            sent += offered.sent;
            time += offered.within + offered.late;
        }
        (sent > 0).then(|| sent as f64 / time.as_secs_f64())
    }

    /// Returns the 99th percentile of response time in a part of the timed phases.
    pub(crate) fn p99_ns(&self, from_s: f64, to_s: f64) -> Option<u64> {
        let timelines = self.timed.iter().map(|&(at, begin)| (&self.outcomes[at].1.timeline, begin));
        let within = Duration::try_from_secs_f64(from_s).ok()?..Duration::try_from_secs_f64(to_s).ok()?;
        Timeline::p99_ns(timelines, within)
    }

    /// Returns the rate over time of the timed phases.
    pub(crate) fn series(&self) -> &[SeriesPoint] {
        &self.series
    }

    /// Returns the times when parts of the key space had no answers, in the timed phases.
    pub(crate) fn dark(&self) -> &[DarkTime] {
        &self.dark
    }

    /// Returns what the timed phases did, to hold reading back against it.
    pub(crate) fn work(&self) -> TimedWork {
        TimedWork {
            operations: self.counts.operations,
            records: self.records,
            bytes: self.counts.bytes_read + self.counts.bytes_written,
            elapsed_s: self.timed_s,
        }
    }

    pub(crate) fn fill(&mut self, record: &mut TrialRecord) {
        record.makespan_s = self.makespan.as_secs_f64();
        record.operations = self.counts.operations;
        record.failed_operations = Some(self.counts.failed);
        record.answered_late = self.counts.late;
        let in_time = self.counts.answered() - record.answered_late;
        record.ops_per_s = if record.makespan_s > 0.0 { in_time as f64 / record.makespan_s } else { 0.0 };
        record.offered_per_s = self.offered_per_s();
        record.drain_s = self.drain.map(|drain| drain.as_secs_f64());
        record.latency_ns = self.histograms.latencies();
        record.checks = self.counts.checks;
        record.hits = self.counts.hits;
        record.misses = self.counts.misses;
        record.errors = self.errors;
        record.failed = self.failed;
        record.retries = self.counts.conflicts;
        record.not_sent = self.counts.not_sent;
        record.bytes_read = self.counts.bytes_read;
        record.bytes_written = self.counts.bytes_written;
        record.client_cpu_s = self.client_cpu_s;
        record.client_thread_load = self.thread_load;
        record.client_run_delay = self.run_delay;
        record.client_threads = self.threads;
        record.read_back = self.read_back;
        record.reconnected = self.reconnected;
        record.head_of_line = self.head_of_line;
        // The kernel counts in ticks of 10 ms: of a shorter time they say nothing.
        record.noise = match self.timed_s < NEEDED_S {
            true => Noise { judged: Judged::TooShort, ..Noise::default() },
            false => self.noise,
        };
        record.phases = std::mem::take(&mut self.phases);
        record.series = std::mem::take(&mut self.series);
        record.curve = std::mem::take(&mut self.curve);
        record.stalls = std::mem::take(&mut self.stalls);
        record.dark = std::mem::take(&mut self.dark);
        // Where growth is not watched, the series alone says whether anything stalled.
        if record.curve.is_empty() {
            record.stalls = analysis::stalls(&record.series);
        }
    }
}
/// A point of a later phase's curve, which goes on where `stored` was the last and the clock was at `offset_s`.
fn after(stored: &CurvePoint, offset_s: f64, point: CurvePoint) -> CurvePoint {
    let sum = |before: Option<u64>, now: Option<u64>| now.map(|now| now + before.unwrap_or_default());
    CurvePoint {
        records: stored.records + point.records,
        at_s: offset_s + point.at_s,
        written_bytes: sum(stored.written_bytes, point.written_bytes),
        read_bytes: sum(stored.read_bytes, point.read_bytes),
        ..point
    }
}
