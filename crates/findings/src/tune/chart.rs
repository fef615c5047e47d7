//! A search for a setting: what each value does by itself, and the settings no other beats.

use super::sentences as tune;
use crate::chart::{Chart, DataTable};
use crate::draw::axes::{self, chart_of_rows, extent, named, scale, whiskers};
use crate::draw::bars::{WIDEST_LINEAR, rows_height};
use crate::figures;
use analysis::Unit;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use study::{Quantity, Study, Tune, TuneEffect, TunedSetting};
use words::{Batches, shown_rate};

/// Values with an effect that are drawn.
const MOST_EFFECTS: usize = 40;

/// Returns the charts of a study `kvtrial tune` made.
pub(crate) fn charts(study: &Study) -> Vec<Chart> {
    study.tune.iter().flat_map(|tune| effects(tune).into_iter().chain(front(study, tune))).collect()
}

/// A row for each value: how many times better than its key's default.
fn effects(tune: &Tune) -> Option<Chart> {
    let mut rows: Vec<(&TuneEffect, Quantity)> =
        tune.effects.iter().filter_map(|effect| Some((effect, effect.ratio?))).collect();
    rows.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    rows.truncate(MOST_EFFECTS);
    if rows.is_empty() {
        return None;
    }
    let name = |effect: &TuneEffect| format!("{}={}", effect.key, effect.value);
    let colour = |effect: &TuneEffect, ratio: &Quantity| match (effect.separated, ratio.value > 1.0) {
        (false, _) => "$muted",
        (true, true) => "$c2",
        (true, false) => "$bad",
    };
    let points: Vec<Value> = rows
        .iter()
        .enumerate()
        .map(|(row, (effect, it))| {
            json!({ "value": [it.value, row, it.low, it.high, it.n, it.level], "name": name(effect),
                    "itemStyle": { "color": colour(effect, it) } })
        })
        .collect();
    let whisker_data: Vec<Value> = rows
        .iter()
        .enumerate()
        .filter(|(_, (_, it))| it.level > 0.0)
        .map(|(row, (_, it))| json!([it.value, row, it.low, it.high]))
        .collect();
    let row = |(effect, it): &(&TuneEffect, Quantity)| {
        let interval = match it.level > 0.0 {
            true => format!("{:.2}x to {:.2}x, {:.0} % interval, n = {}", it.low, it.high, it.level * 100.0, it.n),
            false => format!("no interval, n = {}", it.n),
        };
        let differs = if effect.separated { "yes" } else { "no" };
        [name(effect), format!("{:.2}x", it.value), interval, differs.into()]
    };
    let columns = ["Value", "Times as good as the default", "Interval", "Differs from 1"];
    let table = DataTable::of(columns, rows.iter().map(row));
    let words: Vec<String> = table.rows.iter().take(12).map(|row| row[..2].join(" ")).collect();
    let mut whiskers = whiskers(whisker_data);
    (whiskers["itemStyle"]["color"], whiskers["z"]) = ("$muted".into(), 2.into());
    let effects = json!({ "type": "scatter", "data": points, "encode": { "x": 0, "y": 1 }, "symbolSize": 11, "z": 5,
        "markLine": { "silent": true, "symbol": "none", "label": { "show": false }, "data": [{ "xAxis": 1 }],
                      "lineStyle": { "color": "$ink", "type": "solid" } } });
    let mut option = chart_of_rows(
        json!({ "type": "value", "scale": true, "axisLabel": { "formatter": "@ratio.axis" } }),
        rows.iter().map(|(effect, _)| name(effect)).collect::<Vec<_>>(),
        json!({ "trigger": "item", "formatter": "@ratio.interval" }),
        vec![whiskers, effects],
    );
    option["grid"]["right"] = 28.into();
    Some(Chart {
        id: "tune-effects".into(),
        title: "The effect of each value by itself".into(),
        note: "How many times as good as its key's default, other keys held equal; right of 1 is better. Grey: 1 lies within the interval, so \
               the value has no measurable effect."
            .into(),
        description: format!("Times as good as the default: {}.", words.join(", ")),
        height: rows_height(rows.len()) + 10,
        option,
        table,
    })
}

/// Throughput against p99, every setting tried as a dot, the front named.
fn front(study: &Study, tune: &Tune) -> Option<Chart> {
    if tune.pareto.is_empty() {
        return None;
    }
    let both = |rate: Option<Quantity>, p99: Option<Quantity>| {
        Some((rate?.value, p99?.value)).filter(|it| it.0 > 0.0 && it.1 > 0.0)
    };
    let batches = Batches::of(study);
    let (counted, per_second) = (batches.map_or("operations", Batches::noun), figures::rate_title(batches));
    let tried: Vec<(f64, f64)> = study
        .cells
        .iter()
        .filter(|cell| !cell.baseline && cell.verdict.is_ranked())
        .filter_map(|cell| both(shown_rate(cell, batches), cell.p99_ns))
        .collect();
    let (least, most) = extent(tried.iter().map(|it| it.1));
    let mut kept: Vec<&TunedSetting> = tune.pareto.iter().collect();
    kept.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    let points: Vec<Value> = kept
        .iter()
        .filter_map(|one| {
            let (rate, p99) = both(one.rate(), one.p99_ns)?;
            Some(json!({ "value": [rate, p99], "name": name(one, &tune.default) }))
        })
        .collect();
    let row = |one: &&TunedSetting| {
        [
            name(one, &tune.default),
            figures::shown(one.rate(), Unit::PerSecond),
            figures::shown(one.p99_ns, Unit::Nanoseconds),
            one.bytes_per_record.map_or("–".into(), |it| figures::value(it, Unit::Bytes)),
        ]
    };
    let table = DataTable::of(["Setting", &per_second, "p99", "Bytes per record"], kept.iter().map(row));
    let words: Vec<String> =
        table.rows.iter().take(8).map(|row| format!("{}: {}, p99 {}, {}", row[0], row[1], row[2], row[3])).collect();
    Some(Chart {
        id: "tune-front".into(),
        title: "Settings no other beats".into(),
        note: format!(
            "99th percentile of response time against rate. Each dot is a setting, and down and to the right is better. Coloured: no other has more {counted} per second, a lower p99 and fewer \
               bytes per record at once. Bytes per record are in the figures."
        ),
        description: format!("Settings no other beats in everything. {}.", words.join("; ")),
        height: 340,
        option: axes::chart(
            named(
                json!({ "type": "value", "scale": true, "axisLabel": { "formatter": "@rate.axis" } }),
                format!("{counted} per second"),
            ),
            scale(most > WIDEST_LINEAR * least, "ns"),
            json!({ "trigger": "item", "formatter": "@rate.p99" }),
            vec![
                json!({ "type": "scatter", "name": "tried", "data": tried, "symbolSize": 7, "itemStyle": { "color": "$baseline" } }),
                json!({ "type": "scatter", "name": "no other beats it", "data": points, "symbol": "diamond", "symbolSize": 13, "z": 5,
                        "itemStyle": { "color": "$c1", "borderColor": "$paper", "borderWidth": 1 } }),
            ],
        ),
        table,
    })
}

fn rate(one: &TunedSetting) -> f64 {
    one.rate().map_or(0.0, |it| it.value)
}

fn name(one: &TunedSetting, default: &BTreeMap<String, String>) -> String {
    let name = tune::changes(&one.setting, default);
    if one.void { format!("{name} (void)") } else { name }
}
