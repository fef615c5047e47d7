//! What a store used: processor time, memory, disk.

use crate::chart::{Chart, DataTable, slug};
use crate::draw::bars::{bars, first, left_out, rows_height};
use crate::figures;
use crate::identity::{Identities, label};
use analysis::{Metric, Unit};
use study::{Cell, Quantity};
use words::Batches;

/// Less than this on disk is a directory, a socket or a lock file: the store keeps nothing there.
const LEAST_BYTES: f64 = 65_536.0;

/// Charts of one part, one for each resource any of its cells has a figure of.
pub(crate) fn charts(cells: &[&Cell], part: &str, identities: &Identities, batches: Option<Batches>) -> Vec<Chart> {
    let (client, server) = match batches {
        None => ("Client: processor time per operation", "Server: processor time per operation"),
        Some(_) => ("Client: processor time per batch", "Server: processor time per batch"),
    };
    let draw = |resource: &Resource| chart(resource, cells, part, identities);
    [
        Resource {
            title: client,
            note: "All threads of kvtrial, including the work of an embedded store.",
            unit: Unit::Nanoseconds,
            figure: |cell| per_operation(cell, cell.client_cpu_s?),
        },
        Resource {
            title: server,
            note: "User and system time of the server's processes.",
            unit: Unit::Nanoseconds,
            figure: |cell| per_operation(cell, cell.server_cpu_s?),
        },
        Resource {
            title: "Server: peak memory",
            note: "Resident set of the server's processes.",
            unit: Unit::Bytes,
            figure: |cell| Metric::ServerRss.of_cell(cell),
        },
        Resource {
            title: "Bytes on disk",
            note: "After the job, below the store's directory.",
            unit: Unit::Bytes,
            figure: |cell| Metric::Disk.of_cell(cell).filter(|bytes| bytes.value >= LEAST_BYTES),
        },
        Resource {
            title: "Bytes per record",
            note: "Bytes on disk, or the memory of a server without files, per record the job left.",
            unit: Unit::Bytes,
            figure: bytes_per_record,
        },
    ]
    .iter()
    .filter_map(draw)
    .collect()
}

struct Resource {
    title: &'static str,
    note: &'static str,
    unit: Unit,
    figure: fn(&Cell) -> Option<Quantity>,
}

fn chart(resource: &Resource, cells: &[&Cell], part: &str, identities: &Identities) -> Option<Chart> {
    let figure = |cell: &Cell| (resource.figure)(cell).filter(|_| cell.verdict.is_ranked());
    let mut rows: Vec<(&Cell, Option<Quantity>)> = cells
        .iter()
        .filter(|cell| !cell.baseline)
        .map(|&cell| (cell, figure(cell)))
        .filter(|(_, figure)| figure.is_some())
        .collect();
    rows.sort_by(|a, b| a.1.map_or(f64::INFINITY, |it| it.value).total_cmp(&b.1.map_or(f64::INFINITY, |it| it.value)));
    if rows.is_empty() {
        return None;
    }
    let row = |(cell, figure): &(&Cell, Option<Quantity>)| {
        let [value, interval] = figures::pair(*figure, resource.unit);
        [label(cell), value, interval]
    };
    let table = DataTable::of(["Store", "Median", "Interval"], rows.iter().map(row));
    let words: Vec<String> = table.rows.iter().take(12).map(|row| row[..2].join(" ")).collect();
    Some(Chart {
        id: slug(&format!("{} {part}", resource.title)),
        title: resource.title.into(),
        note: resource.note.to_owned() + &left_out(rows.len()),
        description: format!("{}: {}.", resource.title, words.join(", ")),
        height: rows_height(first(&rows).len()),
        option: bars(first(&rows), &[], figures::chart_unit(resource.unit), identities),
        table,
    })
}

/// Seconds of a trial as nanoseconds per operation.
fn per_operation(cell: &Cell, seconds: Quantity) -> Option<Quantity> {
    let operations: Vec<f64> = cell.counted().map(|trial| trial.operations as f64).collect();
    let operations = stats::median(&operations).filter(|it| *it > 0.0)?;
    Some(scaled(seconds, 1e9 / operations))
}

fn scaled(it: Quantity, factor: f64) -> Quantity {
    Quantity { value: it.value * factor, low: it.low * factor, high: it.high * factor, ..it }
}

/// Bytes on disk, else the server's memory, by records.
fn bytes_per_record(cell: &Cell) -> Option<Quantity> {
    let records = cell.records().filter(|records| *records > 0)? as f64;
    let disk = cell.disk_bytes.filter(|bytes| bytes.value >= LEAST_BYTES);
    Some(scaled(disk.or(cell.server_rss_bytes)?, 1.0 / records))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::bytes_per_record;
    use study::{Cell, Quantity};

    #[test]
    fn bytes_per_record_go_by_the_records_the_cell_says_whatever_its_job_calls_them() {
        let bytes = |value: f64| Some(Quantity { value, low: value, high: value, level: 0.0, n: 1 });
        let mut cell = Cell { job: "tides".into(), disk_bytes: bytes(1e6), ..Cell::default() };
        cell.answer.facts.insert("moons".into(), 500.into());
        assert!(bytes_per_record(&cell).is_none());
        cell.records = Some(500);
        assert_eq!(bytes_per_record(&cell).unwrap().value, 2000.0);
        // Files that hold no data: then it is the server's memory.
        let in_memory = Cell { disk_bytes: bytes(4096.0), server_rss_bytes: bytes(2e6), ..cell };
        assert_eq!(bytes_per_record(&in_memory).unwrap().value, 4000.0);
    }
}
