//! What is asked of keys, how large values are, and how long they live.

use super::picture::{Axis, FitLine, Picture, Scale, Way, shares};
use super::{TraceFit, finding};
use crate::block::Block;
use crate::chart::{Chart, DataTable};
use crate::finding::Finding;
use serde_json::{Value, json};
use study::whole;
use trace::fit;
use words::units;

pub(super) fn mix(fit: &TraceFit<'_>) -> Option<Finding> {
    let mix = fit::mix(fit.trace);
    let kinds = [("gets", mix.gets), ("sets", mix.sets), ("deletes", mix.deletes), ("touches", mix.touches)];
    let said = kinds.iter().filter(|(kind, share)| *kind != "touches" || *share > 0.0);
    let text = said.map(|(kind, share)| format!("{} {kind}", units::share(*share))).collect::<Vec<_>>().join(", ");
    let rows = kinds.iter().map(|(kind, share)| [(*kind).to_owned(), units::share(*share)]);
    let table = DataTable::of(["Request", "Share"], rows);
    let bars: Vec<Value> =
        kinds.iter().map(|(_, share)| json!({ "value": 100.0 * share, "itemStyle": { "color": "$c0" } })).collect();
    let chart = Chart {
        id: "mix".into(),
        title: "Mix".into(),
        note: "The share of the requests that are of each kind.".into(),
        description: format!("Mix: {text}."),
        height: 180,
        option: json!({
            "grid": { "left": 8, "right": 28, "top": 8, "bottom": 24, "containLabel": true },
            "xAxis": { "type": "value", "min": 0, "max": 100, "axisLabel": { "formatter": "@percent.axis" } },
            "yAxis": { "type": "category", "inverse": true, "data": kinds.map(|(kind, _)| kind) },
            "tooltip": { "trigger": "item", "valueFormatter": "@percent.value" },
            "series": [{ "type": "bar", "data": bars, "barMaxWidth": 18 }],
        }),
        table,
    };
    finding("mix", "Mix", vec![Block::plain(text), Block::Chart(chart)])
}

/// Figures at some shares of the values, which are in order.
fn quantiles<T: Copy>(sorted: &[T], title: &str, shown: impl Fn(T) -> String) -> DataTable {
    let mut table = DataTable { columns: vec!["Share".into(), title.into()], rows: Vec::new() };
    let at = |share: f64| sorted.get(((sorted.len() as f64 * share) as usize).min(sorted.len().max(1) - 1)).copied();
    for share in [0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0] {
        if let Some(value) = at(share) {
            table.rows.push(vec![units::share(share), shown(value)]);
        }
    }
    table
}

pub(super) fn sizes(fit: &TraceFit<'_>) -> Option<Finding> {
    let Some(sizes) = fit::sizes(fit.trace) else {
        return finding("values", "Values", vec![Block::plain("the trace does not say how large they are")]);
    };
    let [p50, p90, p99, most] = [sizes.p50, sizes.p90, sizes.p99, sizes.most].map(|bytes| units::bytes(bytes.into()));
    let text = format!("median {p50}, 90 % up to {p90}, 99 % up to {p99}, at most {most}");
    let sorted = fit::sorted_sizes(fit.trace);
    let chart = Picture {
        id: "values",
        title: "Sizes of values",
        note: "The share of the values that are no larger.",
        description: format!("Sizes of values: {text}."),
        axes: [
            Axis { name: "bytes of a value", unit: "bytes", scale: Scale::Logarithmic },
            Axis { name: "share of the values", unit: "percent", scale: Scale::Linear },
        ],
        lines: vec![FitLine { name: "values".into(), points: shares(&sorted, f64::from) }],
        way: Way::Steps,
        marks: Vec::new(),
        table: quantiles(&sorted, "Bytes", |bytes| units::bytes(bytes.into())),
    };
    finding("values", "Values", vec![Block::plain(text), Block::Chart(chart.chart())])
}

pub(super) fn lives(fit: &TraceFit<'_>) -> Option<Finding> {
    let Some(it) = fit::lifetimes(fit.trace) else {
        return finding("lives", "Lives", vec![Block::plain("no request gives a time to live")]);
    };
    let time = |ttl_ms: u64| units::duration(ttl_ms as f64 / 1000.0);
    let [least, p50, p90, most] = [it.least_ms, it.p50_ms, it.p90_ms, it.most_ms].map(time);
    let text = format!(
        "{} of the sets give a time to live, and {} gets and touches; {} different ones: from {least}, median {p50}, 90 % up to {p90}, at most {most}",
        units::share(it.sets),
        whole(it.renewals),
        whole(it.different as u64)
    );
    let sorted = fit::ttls_ms(fit.trace);
    let chart = Picture {
        id: "lives",
        title: "Times to live",
        note: "The share of the times to live, of sets, gets and touches, that are no longer.",
        description: format!("Times to live: {text}."),
        axes: [
            Axis { name: "time to live", unit: "s", scale: Scale::Logarithmic },
            Axis { name: "share of the times to live", unit: "percent", scale: Scale::Linear },
        ],
        lines: vec![FitLine { name: "times to live".into(), points: shares(&sorted, |ttl_ms| ttl_ms as f64 / 1000.0) }],
        way: Way::Steps,
        marks: Vec::new(),
        table: quantiles(&sorted, "Time to live", time),
    };
    finding("lives", "Lives", vec![Block::plain(text), Block::Chart(chart.chart())])
}
