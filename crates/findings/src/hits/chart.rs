//! The hits of stores as bars, those of exact caches as marks on them.

use super::HitFigures;
use crate::chart::{Chart, DataTable, slug};
use crate::draw::axes::marks;
use crate::draw::bars::{bars, rows_height};
use crate::identity::{Identities, label};
use serde_json::{Value, json};
use study::{Cell, Quantity};

/// Returns the chart of one part; nothing where there are no figures.
pub(crate) fn chart(found: &[HitFigures<'_>], part: &str, identities: &Identities) -> Option<Chart> {
    if found.is_empty() {
        return None;
    }
    let figure = |it: &HitFigures<'_>| Some(Quantity::single(100.0 * it.store));
    let rows: Vec<(&Cell, Option<Quantity>)> = found.iter().map(|it| (it.cell, figure(it))).collect();
    let mut option = bars(&rows, &[], "percent", identities);
    let of = |of: fn(&HitFigures<'_>) -> f64| {
        found.iter().enumerate().map(|(row, it)| json!([100.0 * of(it), row])).collect::<Vec<Value>>()
    };
    if let Some(series) = option["series"].as_array_mut() {
        series.push(marks("diamond", of(|it| it.lru)));
        series.push(marks("circle", of(|it| it.fifo)));
    }
    let columns = ["Store", "Hits", "Exact LRU", "Exact FIFO", "All kept", "Keys at the end", "Bytes at the end"];
    let row = |it: &HitFigures<'_>| [label(it.cell)].into_iter().chain(it.texts()).collect::<Vec<String>>();
    let table = DataTable::of(columns, found.iter().map(row));
    let word = |row: &Vec<String>| format!("{} {}, exact LRU {}, exact FIFO {}", row[0], row[1], row[2], row[3]);
    let words: Vec<String> = table.rows.iter().map(word).collect();
    Some(Chart {
        id: slug(&format!("hits {part}")),
        title: "Hits".into(),
        note: "The share of the gets that found their value. Diamond: an exact LRU of the size the store was found to have at the end; circle: an \
               exact FIFO of that size."
            .into(),
        description: format!("Hits: {}.", words.join("; ")),
        height: rows_height(rows.len()),
        option,
        table,
    })
}
