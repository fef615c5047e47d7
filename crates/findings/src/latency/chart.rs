//! Latency curves: response time against the share of operations answered by then, an axis of nines as HdrHistogram draws it.

use crate::chart::{Chart, DataTable, slug};
use crate::draw::axes;
use crate::draw::bars::{first, left_out};
use crate::draw::facets::MOST_MARKED_LINES;
use crate::figures::ns;
use crate::identity::{Identities, label};
use serde_json::{Value, json};
use study::{Cell, LatencySummary};
use words::units;

/// Draws the cells of one part; void cells are left out of the picture and named in the table.
pub(crate) fn chart(cells: &[&Cell], part: &str, identities: &Identities) -> Option<Chart> {
    let known: Vec<&Cell> =
        cells.iter().copied().filter(|cell| cell.verdict.is_ranked() && response(cell).asked_n() > 0).collect();
    let drawn = first(&known);
    if drawn.is_empty() {
        return None;
    }
    let series: Vec<Value> = drawn
        .iter()
        .map(|cell| {
            let mut line = identities.line(cell);
            line["showSymbol"] = (drawn.len() <= MOST_MARKED_LINES).into();
            line["data"] = points(cell).into_iter().map(|(nines, ns)| json!([nines, ns])).collect();
            line
        })
        .collect();
    Some(Chart {
        id: slug(&format!("latency {part}")),
        title: "Response time by percentile".into(),
        note: format!(
            "Each step to the right leaves out nine in ten of the operations that remain. Under open loop counted from the moment an operation \
             was due.{}{}",
            if super::failed::any(cells.iter().copied()) { FAILED } else { "" },
            left_out(known.len())
        ),
        description: describe(drawn),
        height: 400,
        option: axes::chart(
            json!({ "type": "value", "min": 0, "interval": 1, "axisLabel": { "formatter": "@nines" } }),
            axes::scale(true, "ns"),
            json!({ "trigger": "axis", "formatter": "@percentile.title" }),
            series,
        ),
        table: table(cells),
    })
}

const FAILED: &str = " Operations that failed have no response time: a line ends where they begin.";

fn response(cell: &Cell) -> &LatencySummary {
    &cell.latency_ns.response
}

/// Nines and nanoseconds. The largest value stands where one operation of all is left.
fn points(cell: &Cell) -> Vec<(f64, u64)> {
    let summary = response(cell);
    let asked = summary.asked_n() as f64;
    let nines = |percent: f64| -(1.0 - percent / 100.0).log10();
    let known =
        [(50.0, summary.p50), (90.0, summary.p90), (95.0, summary.p95), (99.0, summary.p99), (99.9, summary.p99_9)];
    let mut percentiles: Vec<(f64, u64)> = match cell.latency_ns.percentiles.as_slice() {
        [] => known.into(),
        stored => stored.to_vec(),
    };
    percentiles.retain(|(percent, ns)| *percent < 100.0 && *ns > 0 && asked * (1.0 - percent / 100.0) >= 1.0 - 1e-9);
    let round = |nines: f64| (nines * 1e4).round() / 1e4;
    let mut points: Vec<(f64, u64)> =
        percentiles.into_iter().map(|(percent, ns)| (round(nines(percent)), ns)).collect();
    let end = asked.max(1.0).log10();
    if summary.failed == 0 && summary.max > 0 && points.last().is_none_or(|last| last.0 < end) {
        points.push((round(end), summary.max));
    }
    points
}

fn describe(cells: &[&Cell]) -> String {
    let each = cells.iter().take(8).map(|cell| {
        let it = response(cell);
        let asked = it.of_asked();
        let failed = match it.failed {
            0 => String::new(),
            _ => format!(", {} failed", units::share(it.share_failed().unwrap_or_default())),
        };
        format!(
            "{}: median {}, 99 % within {}, longest {}{failed}",
            label(cell),
            reached(asked.p50, it),
            reached(asked.p99, it),
            ns(it.max, it.n)
        )
    });
    each.collect::<Vec<_>>().join("; ") + "."
}

/// A percentile of all that was asked.
fn reached(percentile: Option<u64>, of: &LatencySummary) -> String {
    match percentile {
        None => "not reached".into(),
        Some(figure) => ns(figure, of.asked_n()),
    }
}

fn table(cells: &[&Cell]) -> DataTable {
    let failures = super::failed::any(cells.iter().copied());
    // The percentiles are of all; where some failed, the others are of what was answered.
    let (mean, longest) = if failures { ("Mean of those answered", "Longest answered") } else { ("Mean", "Longest") };
    let mut columns = vec!["Store", "Operations", mean, "50 %", "90 %", "99 %", "99.9 %", longest];
    columns.extend(if failures { &["99 % of those answered", "Failed"][..] } else { &[] });
    let row = |cell: &&Cell| {
        let it = response(cell);
        let mut row = vec![label(cell)];
        if cell.verdict.is_ranked() {
            let asked = it.of_asked();
            row.extend([it.asked_n().to_string(), ns(it.mean.round() as u64, it.n)]);
            row.extend([asked.p50, asked.p90, asked.p99, asked.p99_9].map(|percentile| reached(percentile, it)));
            row.push(ns(it.max, it.n));
            if failures {
                row.extend([ns(it.p99, it.n), it.share_failed().map_or("–".into(), units::share)]);
            }
        } else {
            row.push("void".into());
            row.resize(columns.len(), "–".into());
        }
        row
    };
    let rows: Vec<Vec<String>> = cells.iter().map(row).collect();
    DataTable::of(columns, rows)
}
