//! The figures cells are ranked and compared by.

use crate::faults::{dark_key_s, longest_dark_s};
use std::fmt;
use study::{AskedPercentiles, Cell, Latencies, MAX_BITS, Measure, Quantity, TrialRecord};

/// Coverage asked of every interval.
const LEVEL: f64 = 0.95;
/// The figure of a percentile that was not reached, where trials are compared: slower than any histogram holds.
pub(crate) const NOT_REACHED_NS: f64 = (1u64 << (MAX_BITS + 1)) as f64;
/// Where trials are compared by ratios, what a share of none counts as: less than a short trial can show.
const LEAST_SHARE: f64 = 1e-7;

/// A figure every trial has, or may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Time of the timed phases.
    Makespan,
    /// Operations answered per second.
    OpsPerS,
    /// Share of the operations that failed.
    Failed,
    /// Records written or read per second, where an operation carries several: a batch of documents.
    RecordsPerS,
    /// Units of work per second, where a job counts units of several operations: calls of a script's `run`.
    UnitsPerS,
    /// Median response time of all that was asked.
    P50,
    /// 95th percentile of response time of all that was asked.
    P95,
    /// 99th percentile of response time of all that was asked.
    P99,
    /// 99.9th percentile of response time of all that was asked.
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

/// The better direction of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// The unit of a figure.
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
    /// A share, 0 to 1.
    Share,
}

impl Metric {
    /// All metrics, in the order they are reported.
    pub const ALL: [Metric; 15] = [
        Metric::Makespan,
        Metric::OpsPerS,
        Metric::Failed,
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

    /// Returns the metric a cell is ranked by.
    pub fn ranking(cell: &Cell) -> Metric {
        match cell.measure {
            Measure::Makespan => Metric::Makespan,
            Measure::Rate => Metric::OpsPerS,
            Measure::Latency => Metric::P99,
        }
    }

    /// Returns the metric of a name or of a field: `p99`, `p99_ns`.
    pub fn named(name: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|metric| metric.name() == name || metric.field() == name)
    }

    /// Returns the word users write, without its unit: `p99`, `ops_per_s`, `server_rss`.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Makespan => "makespan",
            Metric::OpsPerS => "ops_per_s",
            Metric::Failed => "failed",
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

    /// Returns the field of `study.json` that holds it in a cell, or the name it would have there: `p99_ns`, `disk_bytes`.
    pub fn field(self) -> &'static str {
        match self {
            Metric::Makespan => "makespan_s",
            Metric::OpsPerS => "ops_per_s",
            Metric::Failed => "failed_share",
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

    /// Returns the unit of the figure.
    pub fn unit(self) -> Unit {
        match self {
            Metric::Makespan | Metric::ClientCpu | Metric::ServerCpu | Metric::Dark | Metric::DarkKeys => Unit::Seconds,
            Metric::OpsPerS | Metric::RecordsPerS | Metric::UnitsPerS => Unit::PerSecond,
            Metric::P50 | Metric::P95 | Metric::P99 | Metric::P999 => Unit::Nanoseconds,
            Metric::ServerRss | Metric::Disk => Unit::Bytes,
            Metric::Failed => Unit::Share,
        }
    }

    /// Returns which way it is better.
    pub fn better(self) -> Better {
        match self {
            Metric::OpsPerS | Metric::RecordsPerS | Metric::UnitsPerS => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// Returns the step this figure is counted in where it is `typical`, as a share of it: a bucket of the histogram, a tick of the
    /// kernel's clock, a page.
    pub(crate) fn step(self, typical: f64) -> f64 {
        let absolute = match self {
            Metric::P50 | Metric::P95 | Metric::P99 | Metric::P999 => (typical / 128.0).max(1.0),
            Metric::ServerCpu => 0.01,
            Metric::ServerRss | Metric::Disk => 4096.0,
            // A busy machine pauses for as long.
            Metric::Dark | Metric::DarkKeys => 0.05,
            Metric::Failed => LEAST_SHARE,
            Metric::Makespan | Metric::OpsPerS | Metric::RecordsPerS | Metric::UnitsPerS | Metric::ClientCpu => 0.0,
        };
        if typical > 0.0 { absolute / typical } else { 0.0 }
    }

    /// Returns one trial's figure, in [`Metric::unit`]; `None` where it is unknown. A trial that completed no operation has none. A
    /// percentile that was not reached is infinite.
    pub fn of_trial(self, trial: &TrialRecord) -> Option<f64> {
        let response = trial.latency_ns.response;
        let percentile = |of: fn(AskedPercentiles) -> Option<u64>| {
            (response.asked_n() > 0).then(|| of(response.of_asked()).map_or(f64::INFINITY, |ns| ns as f64))
        };
        let positive = |figure: f64| (figure > 0.0).then_some(figure);
        let figure = match self {
            Metric::Makespan => positive(trial.makespan_s),
            Metric::OpsPerS => positive(trial.ops_per_s),
            Metric::Failed => failed_operations(trial).map(|failed| failed as f64 / trial.operations as f64),
            Metric::RecordsPerS => records_per_operation(trial).map(|each| each * trial.ops_per_s).and_then(positive),
            Metric::UnitsPerS => units(trial).map(|units| units / trial.makespan_s).and_then(positive),
            Metric::P50 => percentile(|asked| asked.p50),
            Metric::P95 => percentile(|asked| asked.p95),
            Metric::P99 => percentile(|asked| asked.p99),
            Metric::P999 => percentile(|asked| asked.p99_9),
            Metric::ClientCpu => Some(trial.client_cpu_s),
            Metric::ServerCpu => trial.server.map(|server| server.cpu_s),
            Metric::ServerRss => trial.server.map(|server| server.peak_rss_bytes as f64),
            Metric::Disk => trial.disk_bytes.map(|bytes| bytes as f64),
            Metric::Dark => longest_dark_s(trial),
            Metric::DarkKeys => dark_key_s(trial),
        };
        figure.filter(|figure| !figure.is_nan() && trial.operations > 0)
    }

    /// Returns the figures of a cell's counted trials, in the order they ran, all finite: a percentile that was not reached is larger than
    /// any that was.
    pub fn samples(self, cell: &Cell) -> Vec<f64> {
        cell.counted().filter_map(|trial| self.of_trial(trial)).map(finite).collect()
    }

    /// Returns the samples that are times, rates or sizes: without the percentiles that were not reached.
    pub fn reached(self, cell: &Cell) -> Vec<f64> {
        let mut samples = self.samples(cell);
        samples.retain(|figure| *figure != NOT_REACHED_NS || self.unit() != Unit::Nanoseconds);
        samples
    }

    /// Returns the same, all above 0, for ratios.
    pub(crate) fn positive_samples(self, cell: &Cell) -> Vec<f64> {
        let mut samples = self.samples(cell);
        if self.unit() == Unit::Share {
            samples.iter_mut().for_each(|share| *share = share.max(LEAST_SHARE));
        }
        samples
    }

    /// Returns the rate of a cell as it was offered: in units of several operations, or in operations.
    pub(crate) fn rate_of(cell: &Cell) -> Option<Quantity> {
        cell.units_per_s.or(cell.ops_per_s)
    }

    /// Returns whether a cell's figure is that of all operations of its trials together, and not the median of the trials.
    pub fn is_of_all_trials(self) -> bool {
        matches!(self, Metric::P50 | Metric::P95 | Metric::P99 | Metric::P999 | Metric::Failed)
    }

    /// Returns the cell's figure: the median over counted trials with its interval ([`stats::median_interval`]), or that of all their
    /// operations together; `None` where it is not known.
    pub fn of_cell(self, cell: &Cell) -> Option<Quantity> {
        match self {
            Metric::Makespan => cell.makespan_s,
            Metric::OpsPerS => cell.ops_per_s,
            Metric::UnitsPerS => cell.units_per_s,
            Metric::P99 => cell.p99_ns,
            Metric::Failed => cell.failed_share,
            Metric::P50 => percentile(&cell.latency_ns, |asked| asked.p50, &self.samples(cell)),
            Metric::P95 => percentile(&cell.latency_ns, |asked| asked.p95, &self.samples(cell)),
            Metric::P999 => percentile(&cell.latency_ns, |asked| asked.p99_9, &self.samples(cell)),
            Metric::ClientCpu => cell.client_cpu_s,
            Metric::ServerCpu => cell.server_cpu_s,
            Metric::ServerRss => cell.server_rss_bytes,
            Metric::Disk => cell.disk_bytes,
            Metric::RecordsPerS | Metric::Dark | Metric::DarkKeys => quantity(&self.samples(cell)),
        }
    }
}

/// Returns the number of records per operation that the timed phases carried, on average; `None` where each carried one.
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

/// Returns a percentile as trials are compared by it: one that was not reached is larger than any that was.
pub(crate) fn finite(figure: f64) -> f64 {
    if figure.is_finite() { figure } else { NOT_REACHED_NS }
}

/// Returns the number of operations of the timed phases that failed. Earlier builds did not count them; there it is known only that none did.
pub(crate) fn failed_operations(trial: &TrialRecord) -> Option<u64> {
    trial.failed_operations.or_else(|| trial.failed.is_none().then_some(0))
}

/// Returns a percentile of all that was asked for in all trials, with the interval of these samples of the trials; `None` without samples.
pub(crate) fn percentile(
    all: &Latencies,
    of: fn(AskedPercentiles) -> Option<u64>,
    samples: &[f64],
) -> Option<Quantity> {
    of_all_trials(of(all.response.of_asked()).map_or(f64::INFINITY, |ns| ns as f64), samples)
}

/// Returns the figure of all trials together with the interval of those of the trials, made wider where it does not hold that figure. An
/// end that was not reached is infinite.
pub(crate) fn of_all_trials(value: f64, samples: &[f64]) -> Option<Quantity> {
    let of_trials = quantity(samples)?;
    let is_missed = |figure: &f64| *figure == NOT_REACHED_NS;
    let (low, high) = match samples.iter().any(is_missed) {
        // Between a time and none nothing can be interpolated.
        true => (samples.iter().copied().filter(|figure| !is_missed(figure)).fold(value, f64::min), f64::INFINITY),
        false => (of_trials.low.min(value), of_trials.high.max(value)),
    };
    Some(Quantity { value, low, high, ..of_trials })
}

/// Returns the median of these figures with its interval; `None` without figures.
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
