//! Growth curves: rate and response time against records stored, with stalls marked.

use super::thin::thinned;
use crate::chart::{Chart, DataTable, slug};
use crate::figures;
use crate::identity::{Identities, label};
use analysis::Unit;
use serde_json::{Value, json};
use study::{Cell, CurvePoint};

/// Stalls marked in one chart.
const MOST_STALLS: usize = 40;

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
    let chart = |title: &str, unit: Unit, figure: fn(&CurvePoint) -> Option<f64>| Chart {
        id: slug(&format!("{title} {part}")),
        title: title.into(),
        note: "The median trial of each store. Shaded: stalls.".into(),
        description: describe(title, &drawn, unit, figure),
        height: 320,
        option: option(&drawn, identities, unit, figure, most_points),
        table: table(&drawn),
    };
    let mut charts = vec![
        chart("Rate against records stored", Unit::PerSecond, |it| Some(it.ops_per_s)),
        chart("99th percentile against records stored", Unit::Nanoseconds, |it| Some(it.p99_ns as f64)),
    ];
    if drawn.iter().any(|cell| cell.curve.iter().any(|it| it.rss_bytes.is_some() && it.records > 0)) {
        charts.push(chart("Memory by record against records stored", Unit::Bytes, |it| {
            (it.records > 0).then_some(it.rss_bytes? as f64 / it.records as f64)
        }));
    }
    charts
}

fn option(
    drawn: &[&Cell],
    identities: &Identities,
    unit: Unit,
    figure: fn(&CurvePoint) -> Option<f64>,
    most_points: usize,
) -> Value {
    let worse = if unit == Unit::PerSecond { f64::min } else { f64::max };
    let mut left = MOST_STALLS;
    let logarithmic = unit == Unit::Nanoseconds;
    let series: Vec<Value> = drawn
        .iter()
        .map(|cell| {
            let mut line = identities.line(cell);
            line["showSymbol"] = false.into();
            let known = cell.curve.iter().filter_map(|it| Some((it.records as f64, figure(it)?)));
            let known: Vec<(f64, f64)> = known.filter(|it| !logarithmic || it.1 > 0.0).collect();
            line["data"] = thinned(&known, most_points, worse).into_iter().map(|(x, y)| json!([x, y])).collect();
            let stalls: Vec<Value> =
                cell.stalls.iter().take(left).map(|stall| mark(stall.records, &cell.curve)).collect();
            left -= stalls.len();
            if !stalls.is_empty() {
                line["markLine"] = json!({ "silent": true, "symbol": "none", "label": { "show": false },
                    "lineStyle": { "color": "$stall", "width": 5, "type": "solid" }, "data": stalls });
            }
            line
        })
        .collect();
    let name = figures::chart_unit(unit);
    json!({
        "grid": { "left": 8, "right": 28, "top": 40, "bottom": 44, "containLabel": true },
        "legend": { "top": 4, "left": 8, "right": 8 },
        "xAxis": { "type": "value", "min": 0, "name": "records stored", "nameLocation": "middle", "nameGap": 26,
                   "axisLabel": { "formatter": "@count.axis" } },
        "yAxis": { "type": if logarithmic { "log" } else { "value" }, "min": if logarithmic { Value::Null } else { json!(0) },
                   "axisLabel": { "formatter": format!("@{name}.axis") } },
        "tooltip": { "trigger": "axis", "valueFormatter": format!("@{name}.value") },
        "series": series,
    })
}

/// A stall happens at a number of records; what was stored at the end of the curve is the most it can be.
fn mark(records: u64, curve: &[CurvePoint]) -> Value {
    json!({ "xAxis": records.min(curve.last().map_or(records, |last| last.records)) })
}

fn describe(title: &str, drawn: &[&Cell], unit: Unit, figure: fn(&CurvePoint) -> Option<f64>) -> String {
    let each = drawn.iter().take(8).filter_map(|cell| {
        let (first, last) = (cell.curve.first()?, cell.curve.last()?);
        let shown = |it: &CurvePoint| figure(it).map_or("–".into(), |it| figures::value(it, unit));
        Some(format!(
            "{}: {} at {} records, {} at {}",
            label(cell),
            shown(first),
            first.records,
            shown(last),
            last.records
        ))
    });
    format!("{title}. {}.", each.collect::<Vec<_>>().join("; "))
}

fn table(drawn: &[&Cell]) -> DataTable {
    let mut table =
        DataTable::new(["Store", "Records", "Rate at the end", "p99 at the end", "Memory a record", "Stalls"]);
    for cell in drawn {
        let Some(last) = cell.curve.last() else { continue };
        let memory = last.rss_bytes.filter(|_| last.records > 0).map(|bytes| bytes as f64 / last.records as f64);
        let stalls: Vec<String> = cell
            .stalls
            .iter()
            .take(6)
            .map(|stall| {
                let cause = stall.cause.as_ref().map_or(String::new(), |cause| format!(" ({cause})"));
                format!("{} at {} records{cause}", words::units::duration(stall.duration_s), stall.records)
            })
            .collect();
        table.rows.push(vec![
            label(cell),
            last.records.to_string(),
            figures::value(last.ops_per_s, Unit::PerSecond),
            figures::ns(last.p99_ns, last.p99_ns),
            memory.map_or("–".into(), |it| figures::value(it, Unit::Bytes)),
            if stalls.is_empty() { "none".into() } else { stalls.join("; ") },
        ]);
    }
    table
}
