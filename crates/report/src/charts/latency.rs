//! Latency curves: response time against the share of operations answered by then, an axis of nines as HdrHistogram draws it.

use super::facets::MOST_MARKED_LINES;
use crate::chart::{Chart, DataTable, slug};
use crate::figures::ns;
use crate::identity::{Identities, label};
use serde_json::{Value, json};
use study::{Cell, LatencySummary};

/// Cells of one part; void cells are left out of the picture and named in the table.
pub(crate) fn chart(cells: &[&Cell], part: &str, identities: &Identities) -> Option<Chart> {
    let drawn: Vec<&Cell> =
        cells.iter().copied().filter(|cell| cell.verdict.is_ranked() && response(cell).n > 0).collect();
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
        note: "Each step to the right leaves out nine in ten of the operations that remain. Under open loop counted from the moment an \
               operation was due."
            .into(),
        description: describe(&drawn),
        height: 400,
        option: json!({
            "grid": { "left": 8, "right": 28, "top": 40, "bottom": 30, "containLabel": true },
            "legend": { "top": 4, "left": 8, "right": 8 },
            "xAxis": { "type": "value", "min": 0, "interval": 1, "axisLabel": { "formatter": "@nines" } },
            "yAxis": { "type": "log", "axisLabel": { "formatter": "@ns.axis" } },
            "tooltip": { "trigger": "axis", "formatter": "@percentile.title" },
            "series": series,
        }),
        table: table(cells),
    })
}

fn response(cell: &Cell) -> &LatencySummary {
    &cell.latency_ns.response
}

/// Nines and nanoseconds. The largest value stands where one operation of all is left.
fn points(cell: &Cell) -> Vec<(f64, u64)> {
    let summary = response(cell);
    let nines = |percent: f64| -(1.0 - percent / 100.0).log10();
    let known =
        [(50.0, summary.p50), (90.0, summary.p90), (95.0, summary.p95), (99.0, summary.p99), (99.9, summary.p99_9)];
    let mut percentiles: Vec<(f64, u64)> = match cell.latency_ns.percentiles.as_slice() {
        [] => known.into(),
        stored => stored.to_vec(),
    };
    percentiles.retain(|(percent, ns)| {
        *percent < 100.0 && *ns > 0 && summary.n as f64 * (1.0 - percent / 100.0) >= 1.0 - 1e-9
    });
    let round = |nines: f64| (nines * 1e4).round() / 1e4;
    let mut points: Vec<(f64, u64)> =
        percentiles.into_iter().map(|(percent, ns)| (round(nines(percent)), ns)).collect();
    let trials = cell.counted().filter(|trial| trial.latency_ns.response.n > 0).count().max(1);
    let end = (summary.n as f64 / trials as f64).max(1.0).log10();
    if summary.max > 0 && points.last().is_none_or(|last| last.0 < end) {
        points.push((round(end), summary.max));
    }
    points
}

fn describe(cells: &[&Cell]) -> String {
    let each = cells.iter().take(8).map(|cell| {
        let it = response(cell);
        format!(
            "{}: median {}, 99 % within {}, longest {}",
            label(cell),
            ns(it.p50, it.n),
            ns(it.p99, it.n),
            ns(it.max, it.n)
        )
    });
    each.collect::<Vec<_>>().join("; ") + "."
}

fn table(cells: &[&Cell]) -> DataTable {
    let mut table = DataTable::new(["Store", "Operations", "Mean", "50 %", "90 %", "99 %", "99.9 %", "Longest"]);
    for cell in cells {
        let it = response(cell);
        let mut row = if cell.verdict.is_ranked() {
            let figures = [it.mean.round() as u64, it.p50, it.p90, it.p99, it.p99_9, it.max];
            let mut row = vec![it.n.to_string()];
            row.extend(figures.map(|figure| ns(figure, it.n)));
            row
        } else {
            vec!["void".into(), "–".into(), "–".into(), "–".into(), "–".into(), "–".into(), "–".into()]
        };
        row.insert(0, label(cell));
        table.rows.push(row);
    }
    table
}
