//! The ranking of one group: a bar with its interval for each cell, best first. Void cells have a row and no bar.

use crate::chart::{Chart, DataTable, slug};
use crate::draw::bars::{bars, dots_of_each, first, left_out, rows_height};
use crate::figures;
use crate::identity::{Identities, label};
use analysis::{Better, Group, Metric, Precision, Rank, RankedCell};
use serde_json::Value;
use study::{Cell, Class, Quantity};

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

fn option(cells: &[RankedCell<'_>], metric: Metric, identities: &Identities) -> Value {
    let figure = |cell: &Cell| metric.of_cell(cell).filter(|_| cell.verdict.is_ranked());
    let rows: Vec<(&Cell, Option<Quantity>)> = cells.iter().map(|ranked| (ranked.cell, figure(ranked.cell))).collect();
    let samples = |cell: &Cell| if cell.verdict.is_ranked() { metric.reached(cell) } else { Vec::new() };
    let trials: Vec<Vec<f64>> = cells.iter().map(|ranked| samples(ranked.cell)).collect();
    bars(&rows, &trials, figures::chart_unit(metric.unit()), identities)
}

/// `2`, `2=` or `–`.
fn place(rank: Rank) -> String {
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
    let row = |ranked: &RankedCell<'_>| {
        let cell = ranked.cell;
        let [value, interval] = figures::pair(metric.of_cell(cell).filter(|_| cell.verdict.is_ranked()), metric.unit());
        let verdict = words::with_reason(cell.verdict.status.to_string(), cell);
        [label(cell), place(ranked.rank), value, interval, verdict]
    };
    DataTable::of(["Store", "Place", "Median", "Interval", "Verdict"], group.cells.iter().map(row))
}
