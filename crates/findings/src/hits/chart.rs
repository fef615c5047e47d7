//! The hits of stores as bars, those of exact caches as marks on them.

use super::HitFigures;
use crate::chart::{Chart, DataTable, slug};
use crate::draw::bars::{bars, rows_height};
use crate::identity::{Identities, label};
use serde_json::{Value, json};
use study::{Cell, Quantity};

/// Returns the chart of one part; nothing where there are no figures.
pub(crate) fn chart(found: &[HitFigures<'_>], part: &str, identities: &Identities) -> Option<Chart> {
    if found.is_empty() {
        return None;
    }
    let share =
        |share: f64| Quantity { value: 100.0 * share, low: 100.0 * share, high: 100.0 * share, level: 0.0, n: 1 };
    let rows: Vec<(&Cell, Option<Quantity>)> = found.iter().map(|it| (it.cell, Some(share(it.store)))).collect();
    let mut option = bars(&rows, &[], "percent", identities);
    let marks = |symbol: &str, of: fn(&HitFigures<'_>) -> f64| {
        let data: Vec<Value> = found.iter().enumerate().map(|(row, it)| json!([100.0 * of(it), row])).collect();
        json!({
            "type": "scatter", "symbol": symbol, "symbolSize": 11, "data": data, "encode": { "x": 0, "y": 1 }, "silent": true,
            "itemStyle": { "color": "$paper", "borderColor": "$ink", "borderWidth": 1.5 }, "z": 7,
        })
    };
    if let Some(series) = option["series"].as_array_mut() {
        series.push(marks("diamond", |it| it.lru));
        series.push(marks("circle", |it| it.fifo));
    }
    let mut table =
        DataTable::new(["Store", "Hits", "Exact LRU", "Exact FIFO", "All kept", "Keys at the end", "Bytes at the end"]);
    let mut words = Vec::new();
    for it in found {
        let texts = it.texts();
        words.push(format!("{} {}, exact LRU {}, exact FIFO {}", label(it.cell), texts[0], texts[1], texts[2]));
        table.rows.push([label(it.cell)].into_iter().chain(texts).collect());
    }
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
