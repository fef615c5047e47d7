//! OpenMetrics text, for Prometheus and its relatives (node exporter's textfile collector, a push gateway).

use analysis::{Metric, Unit};
use std::fmt::Write;
use study::{Cell, DurabilitySource, Status, Study};

/// Writes OpenMetrics 1.0 text: every metric of every cell as a gauge in base units (seconds, bytes) with a label `statistic` of `median`,
/// `low` and `high`; the number of counted trials; the verdict as a state set. Labels: `job`, `store`, `class`, `durability`,
/// `durability_source` (who vouches for it), `params`. Unknown figures are not written.
pub fn study_openmetrics(study: &Study) -> String {
    let mut text = String::new();
    let cells: Vec<(&Cell, String)> = study.cells.iter().map(|cell| (cell, labels(cell))).collect();
    for metric in Metric::ALL {
        gauge(&mut text, metric, &cells);
    }
    let _ = writeln!(text, "# TYPE kvtrial_trials gauge");
    let _ = writeln!(text, "# HELP kvtrial_trials Counted trials behind the figures of a cell.");
    for (cell, labels) in &cells {
        let _ = writeln!(text, "kvtrial_trials{{{labels}}} {}", cell.counted().count());
    }
    let _ = writeln!(text, "# TYPE kvtrial_verdict stateset");
    let _ = writeln!(text, "# HELP kvtrial_verdict Whether the figures of a cell can be trusted.");
    for (cell, labels) in &cells {
        for status in Status::ALL {
            let here = u8::from(cell.verdict.status == status);
            let status = status.name();
            let _ = writeln!(text, "kvtrial_verdict{{{labels},kvtrial_verdict=\"{status}\"}} {here}");
        }
    }
    text.push_str("# EOF\n");
    text
}

fn gauge(text: &mut String, metric: Metric, cells: &[(&Cell, String)]) {
    let (stem, unit, factor) = match metric.unit() {
        Unit::Seconds => (stem(metric), "seconds", 1.0),
        Unit::Nanoseconds => (stem(metric), "seconds", 1e-9),
        Unit::Bytes => (stem(metric), "bytes", 1.0),
        Unit::PerSecond => (stem(metric), "", 1.0),
        Unit::Share => (stem(metric), "ratio", 1.0),
    };
    let name = if unit.is_empty() { format!("kvtrial_{stem}") } else { format!("kvtrial_{stem}_{unit}") };
    let known: Vec<_> = cells.iter().filter_map(|(cell, labels)| metric.of_cell(cell).map(|it| (it, labels))).collect();
    if known.is_empty() {
        return;
    }
    let _ = writeln!(text, "# TYPE {name} gauge");
    if !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {}", help(metric));
    for (it, labels) in known {
        let mut line = |statistic: &str, value: f64| {
            let value = if value.is_finite() { (value * factor).to_string() } else { "+Inf".into() };
            let _ = writeln!(text, "{name}{{{labels},statistic=\"{statistic}\"}} {value}");
        };
        line("median", it.value);
        // A single trial has no interval.
        if it.level > 0.0 {
            line("low", it.low);
            line("high", it.high);
        }
    }
}

fn stem(metric: Metric) -> &'static str {
    match metric {
        Metric::Makespan => "makespan",
        Metric::OpsPerS => "operations_per_second",
        Metric::Failed => "failed",
        Metric::RecordsPerS => "records_per_second",
        Metric::UnitsPerS => "units_per_second",
        Metric::P50 => "response_p50",
        Metric::P95 => "response_p95",
        Metric::P99 => "response_p99",
        Metric::P999 => "response_p99_9",
        Metric::ClientCpu => "client_cpu",
        Metric::ServerCpu => "server_cpu",
        Metric::ServerRss => "server_rss",
        Metric::Disk => "disk",
        Metric::Dark => "longest_dark",
        Metric::DarkKeys => "dark_key",
    }
}

fn help(metric: Metric) -> &'static str {
    match metric {
        Metric::Makespan => "Time of the timed phases of the job.",
        Metric::OpsPerS => "Operations answered per second; an operation may be a batch.",
        Metric::Failed => "Share of the operations that failed: they have no response time.",
        Metric::RecordsPerS => "Records written or read per second, where an operation is a batch of them.",
        Metric::UnitsPerS => "Units of work per second, where a job counts units of several operations.",
        Metric::P50 => "Median response time; +Inf where too many operations failed to reach it.",
        Metric::P95 => "95th percentile of response time; +Inf where too many operations failed to reach it.",
        Metric::P99 => "99th percentile of response time; +Inf where too many operations failed to reach it.",
        Metric::P999 => "99.9th percentile of response time; +Inf where too many operations failed to reach it.",
        Metric::ClientCpu => "Processor time of the client.",
        Metric::ServerCpu => "Processor time of the server.",
        Metric::ServerRss => "Peak resident memory of the server.",
        Metric::Disk => "Bytes on disk after the job.",
        Metric::Dark => "Longest time in which a part of the keys had no answers, while nodes failed on purpose.",
        Metric::DarkKeys => "Share of the keys times the time they had no answers, while nodes failed on purpose.",
    }
}

fn labels(cell: &Cell) -> String {
    let params: Vec<String> = cell.params.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let durability = cell.durability.map(|level| level.to_string()).unwrap_or_default();
    [
        ("job", cell.job.as_str()),
        ("store", &cell.store),
        ("class", cell.class.name()),
        ("durability", &durability),
        ("durability_source", cell.durability_source().map_or("", DurabilitySource::name)),
        ("params", &params.join(" ")),
    ]
    .map(|(name, value)| {
        format!("{name}=\"{}\"", study::visible(value).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
    })
    .join(",")
}
