//! Bars, or points, with whiskers: what charts of rows share.

use crate::draw::axes::{chart_of_rows, extent, scale, whiskers};
use crate::identity::{Identities, label};
use serde_json::{Value, json};
use study::{Cell, Quantity};

/// The ratio of the largest figure to the smallest above which the shortest bars would be hairs: points on a logarithmic axis are drawn
/// then.
pub(crate) const WIDEST_LINEAR: f64 = 40.0;
/// Points of single trials drawn in a chart, and of one cell: more would lie on each other.
const MOST_DOTS: usize = 400;
const DOTS_OF_A_CELL: std::ops::RangeInclusive<usize> = 8..=50;

/// Most rows or lines of a chart: of more the first are drawn, and all are in its table.
const MOST_ROWS: usize = 200;

/// Returns the rows, or lines, that are drawn.
pub(crate) fn first<T>(rows: &[T]) -> &[T] {
    &rows[..rows.len().min(MOST_ROWS)]
}

/// Says that not all of these rows are drawn, to follow a note.
pub(crate) fn left_out(rows: usize) -> String {
    match rows > MOST_ROWS {
        true => {
            format!(" The first {MOST_ROWS} of {} are drawn; all are in the table.", words::units::whole(rows as u64))
        }
        false => String::new(),
    }
}

/// Returns the height of a chart of this many rows.
pub(crate) fn rows_height(rows: usize) -> u32 {
    46 + 30 * rows as u32
}

/// Returns how many single trials are drawn of each cell, for this many cells.
pub(crate) fn dots_of_each(cells: usize) -> usize {
    (MOST_DOTS / cells.max(1)).clamp(*DOTS_OF_A_CELL.start(), *DOTS_OF_A_CELL.end())
}

/// Returns bars, or points, with whiskers, for cells named in the rows of a category axis.
pub(crate) fn bars(
    rows: &[(&Cell, Option<Quantity>)],
    trials: &[Vec<f64>],
    unit: &str,
    identities: &Identities,
) -> Value {
    let names: Vec<String> = rows
        .iter()
        .map(|(cell, figure)| match cell.verdict.is_ranked() {
            true if figure.is_some_and(|it| it.is_not_reached()) => format!("{} (not reached)", label(cell)),
            true => label(cell),
            false => format!("{} ({})", label(cell), cell.verdict.status),
        })
        .collect();
    let known = rows.iter().filter_map(|(_, figure)| Some((*figure)?.value));
    let (least, most) = extent(known.filter(|value| *value > 0.0 && value.is_finite()));
    let logarithmic = most > least * WIDEST_LINEAR;
    let figures: Vec<Value> = rows
        .iter()
        .enumerate()
        .filter_map(|(row, (cell, figure))| {
            let it = figure.filter(|it| !it.is_not_reached() && (!logarithmic || it.value > 0.0))?;
            Some(json!({
                "value": [it.value, row, it.low, it.high, it.n, it.level], "name": names[row],
                "itemStyle": { "color": identities.colour(cell) },
            }))
        })
        .collect();
    let ends: Vec<Value> = rows
        .iter()
        .enumerate()
        .filter_map(|(row, (_, figure))| {
            let it = figure.filter(|it| it.level > 0.0 && it.high.is_finite() && (!logarithmic || it.low > 0.0))?;
            Some(json!([it.value, row, it.low, it.high]))
        })
        .collect();
    let most_dots = dots_of_each(rows.len());
    let dots: Vec<Value> = trials
        .iter()
        .enumerate()
        .flat_map(|(row, values)| {
            let few = if values.len() > 1 { values.len().min(most_dots) } else { 0 };
            values[..few].iter().map(move |value| json!([value, row]))
        })
        .filter(|dot| !logarithmic || dot[0].as_f64().is_some_and(|value| value > 0.0))
        .collect();
    let mut marks = match logarithmic {
        true => json!({ "type": "scatter", "symbol": "rect", "symbolSize": [4, 18] }),
        false => json!({ "type": "bar", "barWidth": "58%", "barMaxWidth": 20 }),
    };
    (marks["data"], marks["encode"]) = (figures.into(), json!({ "x": 0, "y": 1 }));
    let mut x = scale(logarithmic, unit);
    x["logBase"] = if unit == "bytes" { 2 } else { 10 }.into();
    x["interval"] = if unit == "bytes" && !logarithmic { binary_interval(most) } else { Value::Null };
    let tooltip = json!({ "trigger": "item", "formatter": format!("@{unit}.interval") });
    let dots = json!({ "type": "scatter", "data": dots, "encode": { "x": 0, "y": 1 }, "symbolSize": 6, "silent": true,
                       "itemStyle": { "color": "$ink", "borderColor": "$paper", "borderWidth": 1 }, "z": 6 });
    chart_of_rows(x, names, tooltip, vec![marks, whiskers(ends), dots])
}

/// Steps of an axis of bytes: a power of two, 2 to 4 of them.
fn binary_interval(most: f64) -> Value {
    if most > 0.0 { json!((most / 2.0).log2().floor().exp2()) } else { Value::Null }
}
