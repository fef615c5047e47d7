//! The figures cells are ranked and compared by.

use crate::faults::{dark_key_s, longest_dark_s};
use std::fmt;
use study::{Cell, Measure, Quantity, TrialRecord};

/// Coverage asked of every interval.
const LEVEL: f64 = 0.95;

/// A figure every trial has, or may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Time of the timed phases.
    Makespan,
    /// Completed operations per second.
    OpsPerS,
    /// Records written or read per second, where an operation carries several: a batch of documents.
    RecordsPerS,
    /// Units of work per second, where a job counts units of several operations: calls of a script's `run`.
    UnitsPerS,
    /// Median response time.
    P50,
    /// 95th percentile of response time.
    P95,
    /// 99th percentile of response time.
    P99,
    /// 99.9th percentile of response time.
    P999,
    /// Processor time of the client.
    ClientCpu,
    /// Processor time of the server.
    ServerCpu,
    /// Peak resident memory of the server.
    ServerRss,
    /// Bytes on disk after the job.
    Disk,
    /// Longest time in which a part of the key space had no answers, while nodes failed on purpose.
    Dark,
    /// Share of the keys times the time they had no answers, while nodes failed on purpose.
    DarkKeys,
}

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Operations per second.
    PerSecond,
    /// Bytes.
    Bytes,
}

impl Metric {
    /// All metrics, in the order they are reported.
    pub const ALL: [Metric; 14] = [
        Metric::Makespan,
        Metric::OpsPerS,
        Metric::RecordsPerS,
        Metric::UnitsPerS,
        Metric::P50,
        Metric::P95,
        Metric::P99,
        Metric::P999,
        Metric::ClientCpu,
        Metric::ServerCpu,
        Metric::ServerRss,
        Metric::Disk,
        Metric::Dark,
        Metric::DarkKeys,
    ];

    /// The metric a cell is ranked by.
    pub fn ranking(cell: &Cell) -> Metric {
        match cell.measure {
            Measure::Makespan => Metric::Makespan,
            Measure::Rate => Metric::OpsPerS,
            Measure::Latency => Metric::P99,
        }
    }

    /// The metric of a name or of a field: `p99`, `p99_ns`.
    pub fn named(name: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|metric| metric.name() == name || metric.field() == name)
    }

    /// The word users write, without its unit: `p99`, `ops_per_s`, `server_rss`.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Makespan => "makespan",
            Metric::OpsPerS => "ops_per_s",
            Metric::RecordsPerS => "records_per_s",
            Metric::UnitsPerS => "units_per_s",
            Metric::P50 => "p50",
            Metric::P95 => "p95",
            Metric::P99 => "p99",
            Metric::P999 => "p99.9",
            Metric::ClientCpu => "client_cpu",
            Metric::ServerCpu => "server_cpu",
            Metric::ServerRss => "server_rss",
            Metric::Disk => "disk",
            Metric::Dark => "dark",
            Metric::DarkKeys => "dark_keys",
        }
    }

    /// The field of `study.json` that holds it in a cell, or the name it would have there: `p99_ns`, `disk_bytes`.
    pub fn field(self) -> &'static str {
        match self {
            Metric::Makespan => "makespan_s",
            Metric::OpsPerS => "ops_per_s",
            Metric::RecordsPerS => "records_per_s",
            Metric::UnitsPerS => "units_per_s",
            Metric::P50 => "p50_ns",
            Metric::P95 => "p95_ns",
            Metric::P99 => "p99_ns",
            Metric::P999 => "p99_9_ns",
            Metric::ClientCpu => "client_cpu_s",
            Metric::ServerCpu => "server_cpu_s",
            Metric::ServerRss => "server_rss_bytes",
            Metric::Disk => "disk_bytes",
            Metric::Dark => "longest_dark_s",
            Metric::DarkKeys => "dark_key_s",
        }
    }

    /// What it is counted in.
    pub fn unit(self) -> Unit {
        match self {
            Metric::Makespan | Metric::ClientCpu | Metric::ServerCpu | Metric::Dark | Metric::DarkKeys => Unit::Seconds,
            Metric::OpsPerS | Metric::RecordsPerS | Metric::UnitsPerS => Unit::PerSecond,
            Metric::P50 | Metric::P95 | Metric::P99 | Metric::P999 => Unit::Nanoseconds,
            Metric::ServerRss | Metric::Disk => Unit::Bytes,
        }
    }

    /// Which way it is better.
    pub fn better(self) -> Better {
        match self {
            Metric::OpsPerS | Metric::RecordsPerS | Metric::UnitsPerS => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// The step this figure is counted in where it is `typical`, as a share of it: a bucket of the histogram, a tick of the kernel's
    /// clock, a page.
    pub(crate) fn step(self, typical: f64) -> f64 {
        let absolute = match self {
            Metric::P50 | Metric::P95 | Metric::P99 | Metric::P999 => (typical / 128.0).max(1.0),
            Metric::ServerCpu => 0.01,
            Metric::ServerRss | Metric::Disk => 4096.0,
            // A busy machine pauses for as long.
            Metric::Dark | Metric::DarkKeys => 0.05,
            Metric::Makespan | Metric::OpsPerS | Metric::RecordsPerS | Metric::UnitsPerS | Metric::ClientCpu => 0.0,
        };
        if typical > 0.0 { absolute / typical } else { 0.0 }
    }

    /// One trial's figure, in [`Metric::unit`]; `None` where it is not known. A trial that completed no operation has none.
    pub fn of_trial(self, trial: &TrialRecord) -> Option<f64> {
        let response = trial.latency_ns.response;
        let percentile = |ns: u64| (response.n > 0).then_some(ns as f64);
        let positive = |figure: f64| (figure > 0.0).then_some(figure);
        let figure = match self {
            Metric::Makespan => positive(trial.makespan_s),
            Metric::OpsPerS => positive(trial.ops_per_s),
            Metric::RecordsPerS => records_per_operation(trial).map(|each| each * trial.ops_per_s).and_then(positive),
            Metric::UnitsPerS => units(trial).map(|units| units / trial.makespan_s).and_then(positive),
            Metric::P50 => percentile(response.p50),
            Metric::P95 => percentile(response.p95),
            Metric::P99 => percentile(response.p99),
            Metric::P999 => percentile(response.p99_9),
            Metric::ClientCpu => Some(trial.client_cpu_s),
            Metric::ServerCpu => trial.server.map(|server| server.cpu_s),
            Metric::ServerRss => trial.server.map(|server| server.peak_rss_bytes as f64),
            Metric::Disk => trial.disk_bytes.map(|bytes| bytes as f64),
            Metric::Dark => longest_dark_s(trial),
            Metric::DarkKeys => dark_key_s(trial),
        };
        figure.filter(|figure| figure.is_finite() && trial.operations > 0)
    }

    /// The figures of a cell's counted trials, in the order they ran.
    pub fn samples(self, cell: &Cell) -> Vec<f64> {
        cell.counted().filter_map(|trial| self.of_trial(trial)).collect()
    }

    /// The cell's figure: the median over counted trials with its interval ([`stats::median_interval`]); `None` where it is not
    /// known.
    pub fn of_cell(self, cell: &Cell) -> Option<Quantity> {
        match self {
            Metric::Makespan => cell.makespan_s,
            Metric::OpsPerS => cell.ops_per_s,
            Metric::UnitsPerS => cell.units_per_s,
            Metric::P99 => cell.p99_ns,
            Metric::ClientCpu => cell.client_cpu_s,
            Metric::ServerCpu => cell.server_cpu_s,
            Metric::ServerRss => cell.server_rss_bytes,
            Metric::Disk => cell.disk_bytes,
            Metric::RecordsPerS | Metric::P50 | Metric::P95 | Metric::P999 | Metric::Dark | Metric::DarkKeys => {
                quantity(&self.samples(cell))
            }
        }
    }
}

/// Records per operation that the timed phases carried, on average; `None` where each carried one.
pub fn records_per_operation(trial: &TrialRecord) -> Option<f64> {
    let timed = || trial.phases.iter().filter(|phase| phase.timed);
    let (records, operations): (u64, u64) =
        (timed().map(|phase| phase.records).sum(), timed().map(|phase| phase.operations).sum());
    // An operation without records, such as a reduction, counts as an operation as well.
    (operations > 0 && records as f64 > 1.01 * operations as f64).then(|| records as f64 / operations as f64)
}

/// Units of work the timed phases did, where the job counts them.
fn units(trial: &TrialRecord) -> Option<f64> {
    trial.answer.facts.get("units")?.as_f64()
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The median of these figures with its interval; `None` without figures.
pub fn quantity(figures: &[f64]) -> Option<Quantity> {
    let estimate = stats::median_interval(figures, LEVEL)?;
    Some(Quantity {
        value: estimate.value,
        low: estimate.low,
        high: estimate.high,
        level: estimate.level,
        n: estimate.n as u32,
    })
}
