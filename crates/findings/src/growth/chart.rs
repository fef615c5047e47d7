//! Growth curves: rate and response time against records stored, with stalls marked.

use crate::chart::{Chart, DataTable, slug};
use crate::draw::axes::{self, extent, named, scale, tooltip};
use crate::draw::marked::MarkedStalls;
use crate::draw::thin::thinned;
use crate::figures;
use crate::identity::{Identities, label};
use analysis::Unit;
use serde_json::{Value, json};
use study::{Cell, CurvePoint, Stall};
use words::units::whole;

/// Stalls of a store in the table.
const LISTED_STALLS: usize = 6;

/// Rates this many times each other are drawn on a logarithmic axis.
const FAR_APART: f64 = 20.0;

/// Charts of one part, when its job watches growth. `most_points` is what one cell may draw in one of them.
pub(crate) fn charts(cells: &[&Cell], part: &str, identities: &Identities, most_points: usize) -> Vec<Chart> {
    let drawn: Vec<&Cell> = cells
        .iter()
        .copied()
        .filter(|cell| !cell.baseline && cell.verdict.is_ranked() && cell.curve.len() > 1)
        .collect();
    if drawn.is_empty() {
        return Vec::new();
    }
    let marked = MarkedStalls::of(drawn.iter().flat_map(|cell| &cell.stalls));
    let note = format!(
        "The median trial of each store. Shaded: {}. Dashed line: where it began to read from disk.",
        marked.words()
    );
    let chart = |title: &str, unit: Unit, figure: fn(&CurvePoint) -> Option<f64>| Chart {
        id: slug(&format!("{title} {part}")),
        title: title.into(),
        note: match unit {
            Unit::Bytes => format!("{note} Without the first twentieth of the records."),
            _ => note.clone(),
        },
        description: describe(title, &drawn, unit, figure),
        height: 320,
        option: option(&drawn, &marked, identities, unit, figure, most_points),
        table: table(&drawn),
    };
    let mut charts = vec![
        chart("Rate against records stored", Unit::PerSecond, |it| Some(it.ops_per_s)),
        chart("99th percentile against records stored", Unit::Nanoseconds, |it| Some(it.p99_ns as f64)),
    ];
    let mut add = |title: &str, unit: Unit, figure: fn(&CurvePoint) -> Option<f64>| {
        if drawn.iter().any(|cell| cell.curve.iter().any(|it| figure(it).is_some())) {
            charts.push(chart(title, unit, figure));
        }
    };
    add("99th percentile of gets against records stored", Unit::Nanoseconds, |it| Some(it.gets?.p99_ns as f64));
    add("Memory per record against records stored", Unit::Bytes, |it| per_record(it, it.rss_bytes));
    add("Disk per record against records stored", Unit::Bytes, |it| per_record(it, it.disk_bytes));
    add("Sent to disk per record against records stored", Unit::Bytes, |it| per_record(it, it.written_bytes));
    charts
}

fn per_record(point: &CurvePoint, bytes: Option<u64>) -> Option<f64> {
    (point.records > 0).then_some(bytes? as f64 / point.records as f64)
}

/// Where the curve begins to be drawn. What a store has before its first record would stand above all that comes later.
fn drawn_from(cell: &Cell, unit: Unit) -> u64 {
    match unit {
        Unit::Bytes => cell.curve.last().map_or(0, |last| last.records / 20),
        _ => 0,
    }
}

fn option(
    drawn: &[&Cell],
    marked: &MarkedStalls,
    identities: &Identities,
    unit: Unit,
    figure: fn(&CurvePoint) -> Option<f64>,
    most_points: usize,
) -> Value {
    let worse = if unit == Unit::PerSecond { f64::min } else { f64::max };
    let logarithmic = unit == Unit::Nanoseconds || unit == Unit::PerSecond && are_far_apart(drawn, figure);
    let series: Vec<Value> = drawn
        .iter()
        .map(|cell| {
            let mut line = identities.line(cell);
            line["showSymbol"] = false.into();
            let from = drawn_from(cell, unit);
            let later = cell.curve.iter().filter(|it| it.records >= from);
            let known = later.filter_map(|it| Some((it.records as f64, figure(it)?)));
            let known: Vec<(f64, f64)> = known.filter(|it| !logarithmic || it.1 > 0.0).collect();
            line["data"] = thinned(&known, most_points, worse).into_iter().map(|(x, y)| json!([x, y])).collect();
            let stalls = cell.stalls.iter().filter(|stall| marked.has(stall));
            let stalls = stalls.map(|stall| mark(stall.records, &cell.curve));
            let left_memory = cell.growth.and_then(|growth| growth.left_memory_at_records);
            let marks: Vec<Value> =
                stalls.chain(left_memory.map(|records| dashed(records, &identities.colour(cell)))).collect();
            if !marks.is_empty() {
                line["markLine"] = json!({ "silent": true, "symbol": "none", "label": { "show": false },
                    "lineStyle": { "color": "$stall", "width": 5, "type": "solid" }, "data": marks });
            }
            line
        })
        .collect();
    let name = figures::chart_unit(unit);
    axes::chart(named(scale(false, "count"), "records stored"), scale(logarithmic, name), tooltip(name), series)
}

/// Whether the means of the slowest and the fastest are so far apart that the slower one's curve would lie on the axis.
fn are_far_apart(drawn: &[&Cell], figure: fn(&CurvePoint) -> Option<f64>) -> bool {
    let mean = |cell: &&Cell| cell.curve.iter().filter_map(figure).sum::<f64>() / cell.curve.len() as f64;
    let (least, most) = extent(drawn.iter().map(mean));
    most > FAR_APART * least
}

/// A stall happens at a number of records; what was stored at the end of the curve is the most it can be.
fn mark(records: u64, curve: &[CurvePoint]) -> Value {
    json!({ "xAxis": records.min(curve.last().map_or(records, |last| last.records)) })
}

/// Where it left memory.
fn dashed(records: u64, colour: &str) -> Value {
    json!({ "xAxis": records, "lineStyle": { "color": colour, "width": 2, "type": "dashed" } })
}

fn describe(title: &str, drawn: &[&Cell], unit: Unit, figure: fn(&CurvePoint) -> Option<f64>) -> String {
    let each = drawn.iter().take(8).filter_map(|cell| {
        let (first, last) = (cell.curve.first()?, cell.curve.last()?);
        let shown = |it: &CurvePoint| figure(it).map_or("–".into(), |it| figures::value(it, unit));
        Some(format!(
            "{}: {} at {} records, {} at {}",
            label(cell),
            shown(first),
            whole(first.records),
            shown(last),
            whole(last.records)
        ))
    });
    format!("{title}. {}.", each.collect::<Vec<_>>().join("; "))
}

fn table(drawn: &[&Cell]) -> DataTable {
    let row = |cell: &&Cell| {
        let last = cell.curve.last()?;
        let memory = per_record(last, last.rss_bytes);
        let mut longest: Vec<&Stall> = cell.stalls.iter().collect();
        longest.sort_by(|one, other| other.duration_s.total_cmp(&one.duration_s));
        let stalls: Vec<String> = longest
            .iter()
            .take(LISTED_STALLS)
            .map(|stall| {
                let cause = stall.cause.as_ref().map_or(String::new(), |cause| format!(" ({cause})"));
                format!("{} at {} records{cause}", words::units::duration(stall.duration_s), whole(stall.records))
            })
            .collect();
        Some([
            label(cell),
            whole(last.records),
            figures::value(last.ops_per_s, Unit::PerSecond),
            figures::ns(last.p99_ns, last.p99_ns),
            memory.map_or("–".into(), |it| figures::value(it, Unit::Bytes)),
            cell.growth.and_then(|growth| growth.left_memory_at_records).map_or("–".into(), whole),
            match cell.stalls.len() {
                0 => "none".into(),
                1..=LISTED_STALLS => stalls.join("; "),
                all => format!("{all}, the longest: {}", stalls.join("; ")),
            },
        ])
    };
    let columns =
        ["Store", "Records", "Rate at the end", "p99 at the end", "Memory per record", "Left memory at", "Stalls"];
    DataTable::of(columns, drawn.iter().filter_map(row))
}
