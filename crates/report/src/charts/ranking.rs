//! The ranking of one group: a bar with its interval for each cell, best first. Void cells have a row and no bar.

use crate::chart::{Chart, DataTable, slug};
use crate::figures;
use crate::identity::{Identities, label};
use analysis::{Better, Group, Metric, Precision, Rank, RankedCell};
use serde_json::{Value, json};
use study::{Cell, Class, Quantity};

/// The ratio of the largest figure to the smallest above which the shortest bars would be hairs: points on a logarithmic axis are drawn
/// then.
pub(crate) const WIDEST_LINEAR: f64 = 40.0;
/// Points of single trials drawn in a chart, and of one cell: more would lie on each other.
const MOST_DOTS: usize = 400;
const DOTS_OF_A_CELL: std::ops::RangeInclusive<usize> = 8..=50;

/// Returns the chart of one group of one part.
pub(crate) fn chart(group: &Group<'_>, part: &str, identities: &Identities) -> Option<Chart> {
    if group.cells.is_empty() {
        return None;
    }
    let metric = group.metric;
    let drawn = first(&group.cells);
    let title = words::group_heading(group);
    let durability = group.durability.map_or("", study::Durability::name);
    Some(Chart {
        id: slug(&format!(
            "ranking {} {durability}{} {part}",
            group.class.map_or("all", Class::name),
            match group.precision {
                Precision::Exact => "",
                Precision::Estimate => " estimates",
            }
        )),
        note: note(group) + &left_out(group.cells.len()),
        description: describe(group),
        height: rows_height(drawn.len()),
        option: option(drawn, metric, identities),
        table: table(group),
        title,
    })
}

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

pub(crate) fn rows_height(rows: usize) -> u32 {
    46 + 30 * rows as u32
}

/// How many single trials are drawn of each cell, for this many cells.
fn dots_of_each(cells: usize) -> usize {
    (MOST_DOTS / cells.max(1)).clamp(*DOTS_OF_A_CELL.start(), *DOTS_OF_A_CELL.end())
}

fn note(group: &Group<'_>) -> String {
    let metric = group.metric;
    let drawn = dots_of_each(group.cells.len());
    let most = group.cells.iter().map(|ranked| ranked.cell.counted().count()).max().unwrap_or_default();
    let first = if most > drawn { format!(", the first {drawn} of each") } else { String::new() };
    let better = match metric.better() {
        Better::Lower => "less is better",
        Better::Higher => "more is better",
    };
    let title = figures::title(metric);
    let figure = match metric.is_of_all_trials() {
        true => "Of all operations of the trials, with its interval",
        false => "Median of the trials, with its interval",
    };
    format!("{title}, {better}. {figure}; dots are single trials{first}.")
}

/// Bars, or points, with whiskers, for cells named in the rows of a category axis.
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
    let known: Vec<f64> = rows
        .iter()
        .filter_map(|(_, figure)| Some((*figure)?.value))
        .filter(|value| *value > 0.0 && value.is_finite())
        .collect();
    let (least, most) = known.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &it| (low.min(it), high.max(it)));
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
    let whiskers: Vec<Value> = rows
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
    let marks = if logarithmic {
        json!({ "type": "scatter", "symbol": "rect", "symbolSize": [4, 18] })
    } else {
        json!({ "type": "bar", "barWidth": "58%", "barMaxWidth": 20 })
    };
    let mut marks = marks;
    let interval = if unit == "bytes" && !logarithmic { binary_interval(most) } else { Value::Null };
    marks["data"] = figures.into();
    marks["encode"] = json!({ "x": 0, "y": 1 });
    json!({
        "grid": { "left": 8, "right": 24, "top": 6, "bottom": 30, "containLabel": true },
        "xAxis": { "type": if logarithmic { "log" } else { "value" }, "logBase": if unit == "bytes" { 2 } else { 10 }, "min": if logarithmic { Value::Null } else { json!(0) },
                   "interval": interval, "axisLabel": { "formatter": format!("@{unit}.axis") } },
        "yAxis": { "type": "category", "inverse": true, "data": names, "axisTick": { "show": false } },
        "tooltip": { "trigger": "item", "formatter": format!("@{unit}.interval") },
        "series": [
            marks,
            { "type": "custom", "renderItem": "@whisker.x", "data": whiskers, "encode": { "x": [2, 3], "y": 1 }, "silent": true,
              "itemStyle": { "color": "$ink" }, "z": 5 },
            { "type": "scatter", "data": dots, "encode": { "x": 0, "y": 1 }, "symbolSize": 6, "silent": true,
              "itemStyle": { "color": "$ink", "borderColor": "$paper", "borderWidth": 1 }, "z": 6 },
        ],
    })
}

/// Steps of an axis of bytes: a power of two, 2 to 4 of them.
fn binary_interval(most: f64) -> Value {
    if most > 0.0 { json!((most / 2.0).log2().floor().exp2()) } else { Value::Null }
}

fn option(cells: &[RankedCell<'_>], metric: Metric, identities: &Identities) -> Value {
    let figure = |cell: &Cell| metric.of_cell(cell).filter(|_| cell.verdict.is_ranked());
    let rows: Vec<(&Cell, Option<Quantity>)> = cells.iter().map(|ranked| (ranked.cell, figure(ranked.cell))).collect();
    let samples = |cell: &Cell| if cell.verdict.is_ranked() { metric.reached(cell) } else { Vec::new() };
    let trials: Vec<Vec<f64>> = cells.iter().map(|ranked| samples(ranked.cell)).collect();
    bars(&rows, &trials, figures::chart_unit(metric.unit()), identities)
}

/// Returns `2`, `2=` or `–`.
pub(crate) fn place(rank: Rank) -> String {
    let place = rank.text();
    if place.is_empty() { "–".into() } else { place }
}

fn describe(group: &Group<'_>) -> String {
    let metric = group.metric;
    let each = group.cells.iter().take(12).map(|ranked| match metric.of_cell(ranked.cell) {
        Some(figure) if ranked.cell.verdict.is_ranked() => {
            format!("{} {}", label(ranked.cell), figures::value(figure.value, metric.unit()))
        }
        _ => format!("{} {}", label(ranked.cell), ranked.cell.verdict.status),
    });
    let mut text =
        format!("{}. {}: {}", words::group_heading(group), figures::title(metric), each.collect::<Vec<_>>().join(", "));
    if group.cells.len() > 12 {
        text += &format!(" and {} more", group.cells.len() - 12);
    }
    text + "."
}

fn table(group: &Group<'_>) -> DataTable {
    let metric = group.metric;
    let mut table = DataTable::new(["Store", "Place", "Median", "Interval", "Verdict"]);
    for ranked in &group.cells {
        let cell = ranked.cell;
        let figure = metric.of_cell(cell).filter(|_| cell.verdict.is_ranked());
        table.rows.push(vec![
            label(cell),
            self::place(ranked.rank),
            figure.map_or("–".into(), |it| figures::value(it.value, metric.unit())),
            figure.map_or("–".into(), |it| figures::interval(&it, metric.unit())),
            match cell.verdict.reasons.first() {
                Some(reason) => format!("{} ({})", cell.verdict.status, reason.kind.name().replace('_', " ")),
                None => cell.verdict.status.to_string(),
            },
        ]);
    }
    table
}
