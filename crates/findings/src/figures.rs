//! Figures as text: a value, its unit, its interval, and how many trials are behind it.

use analysis::{Metric, Unit};
use study::Quantity;
use words::{Batches, units};

/// Returns one value in its unit.
pub fn value(value: f64, unit: Unit) -> String {
    if unit == Unit::PerSecond { plain(value, unit) + "/s" } else { plain(value, unit) }
}

/// Returns the same where it is said already that a rate is one: `1.34 s`, `50.8k`, `64 MiB`.
pub fn plain(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => units::duration(value),
        Unit::Nanoseconds => units::duration(value * 1e-9),
        Unit::PerSecond => units::count(value),
        Unit::Share => units::share(value),
        Unit::Bytes => units::bytes(value.max(0.0).round() as u64),
    }
}

/// Returns `675 ms (669 ms to 681 ms, 75 % interval, n = 3)`.
pub fn with_interval(quantity: &Quantity, unit: Unit) -> String {
    format!("{} ({})", value(quantity.value, unit), interval(quantity, unit))
}

/// Returns `669 ms to 681 ms, 75 % interval, n = 3`.
pub fn interval(quantity: &Quantity, unit: Unit) -> String {
    if quantity.level <= 0.0 {
        return format!("no interval, n = {}", quantity.n);
    }
    let (low, high) = (value(quantity.low, unit), value(quantity.high, unit));
    format!("{low} to {high}, {:.0} % interval, n = {}", quantity.level * 100.0, quantity.n)
}

/// Returns the value and what is beside it, for two columns; `–` where it is not known.
pub(crate) fn pair(quantity: Option<Quantity>, unit: Unit) -> [String; 2] {
    let dash = || "–".to_owned();
    [quantity.map_or_else(dash, |it| value(it.value, unit)), quantity.map_or_else(dash, |it| interval(&it, unit))]
}

/// Returns a figure with its interval; `–` where it is not known.
pub(crate) fn shown(quantity: Option<Quantity>, unit: Unit) -> String {
    quantity.map_or("–".into(), |it| with_interval(&it, unit))
}

/// Returns the heading of the column of a metric on a terminal.
pub fn column(metric: Metric) -> &'static str {
    match metric {
        Metric::Makespan => "TIME",
        Metric::OpsPerS => "OP/S",
        Metric::P99 => "P99",
        other => other.name(),
    }
}

/// Returns the name of a metric in headings.
pub fn title(metric: Metric) -> &'static str {
    match metric {
        Metric::Makespan => "Time of the job",
        Metric::OpsPerS => "Operations per second",
        Metric::Failed => "Share of the operations that failed",
        Metric::RecordsPerS => "Records per second",
        Metric::UnitsPerS => "Units per second",
        Metric::P50 => "Response time, median",
        Metric::P95 => "Response time, 95th percentile",
        Metric::P99 => "Response time, 99th percentile",
        Metric::P999 => "Response time, 99.9th percentile",
        Metric::ClientCpu => "Processor time of the client",
        Metric::ServerCpu => "Processor time of the server",
        Metric::ServerRss => "Peak memory of the server",
        Metric::Disk => "Bytes on disk",
        Metric::Dark => "Longest time without answers",
        Metric::DarkKeys => "Share of the keys times the time without answers",
    }
}

/// Returns the name of rates where operations may be batches.
pub fn rate_title(batches: Option<Batches>) -> String {
    match batches {
        None => title(Metric::OpsPerS).into(),
        Some(Batches::Documents) => "Documents per second".into(),
        Some(Batches::Events) => "Events per second".into(),
        Some(Batches::Records) => title(Metric::RecordsPerS).into(),
    }
}

/// Returns the name of a metric in headings where operations may be batches.
pub fn title_of(metric: Metric, batches: Option<Batches>) -> String {
    match (metric, batches) {
        (Metric::OpsPerS, _) => rate_title(batches),
        (Metric::P50 | Metric::P95 | Metric::P99 | Metric::P999, Some(Batches::Documents | Batches::Records)) => {
            format!("{}, of a batch", title(metric))
        }
        _ => title(metric).into(),
    }
}

/// Returns the unit's name in `assets/chart.js`.
pub fn chart_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "s",
        Unit::Nanoseconds => "ns",
        Unit::PerSecond => "rate",
        Unit::Bytes => "bytes",
        Unit::Share => "share",
    }
}

/// Returns a time in nanoseconds; `–` when nothing was timed.
pub fn ns(ns: u64, n: u64) -> String {
    if n == 0 { "–".into() } else { units::duration(ns as f64 * 1e-9) }
}
