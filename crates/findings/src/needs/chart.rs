//! Margins: every store of every class against every need that is a number, on one axis with the need as a line across.

use super::sentences::figure;
use crate::chart::{Chart, DataTable, slug};
use crate::draw::axes::{extent, whiskers};
use crate::draw::bars::{first, left_out};
use crate::identity::label;
use analysis::{Need, NeedKind};
use serde_json::{Value, json};
use study::{Cell, Meets, NeedShown};
use words::units;

/// Margins beyond this many times, either way, are drawn at it: a store that needs next to no memory would press all others to the line.
const FARTHEST: f64 = 100.0;
/// Widest axis that is marked by powers of two.
const WIDEST_BINARY: f64 = 64.0;
/// A cross, for what is missed.
const CROSS: &str = "path://M1,0L5,4L9,0L10,1L6,5L10,9L9,10L5,6L1,10L0,9L4,5L0,1Z";
/// Pixels of a letter of the words beside a row, and the most those take.
const LETTER: usize = 7;
const MOST_WORDS: usize = 140;

/// The margin of a store: how many times better than needed its figure is, and the ends of the interval.
struct Margin<'c> {
    cell: &'c Cell,
    need: &'c Need,
    shown: &'c NeedShown,
    value: f64,
    ends: Option<[f64; 2]>,
}

/// A row of the picture: a need, or a store below it.
enum Row<'c> {
    Need(&'c Need),
    Margin(Margin<'c>),
}

/// Returns the chart; `None` where no need has figures.
pub(super) fn chart(cells: &[&Cell], needs: &[Need], part: &str) -> Option<Chart> {
    let of_needs: Vec<(&Need, Vec<Margin<'_>>)> =
        needs.iter().map(|need| (need, margins(need, cells))).filter(|(_, margins)| !margins.is_empty()).collect();
    let title = match of_needs.as_slice() {
        [] => return None,
        [(need, _)] => format!("Margins: every store against {need}"),
        _ => "Margins: every store against every need that is a number".into(),
    };
    let has_heads = of_needs.len() > 1;
    let mut rows = Vec::new();
    for (need, margins) in of_needs {
        rows.extend(has_heads.then_some(Row::Need(need)));
        rows.extend(margins.into_iter().map(Row::Margin));
    }
    let all = || rows.iter().filter_map(|row| if let Row::Margin(margin) = row { Some(margin) } else { None });
    let is_far = all().flat_map(ends_of).any(|times| !(1.0 / FARTHEST..=FARTHEST).contains(&times));
    let far = if is_far { format!(" Margins beyond {FARTHEST} times are drawn there.") } else { String::new() };
    Some(Chart {
        id: slug(&format!("needs margins {part}")),
        note: format!(
            "How many times better than needed, with its interval: right of the line a store is better than it must be, left of it worse.{far}{}",
            left_out(rows.len())
        ),
        description: format!("{title}. {}.", all().take(12).map(said).collect::<Vec<_>>().join("; ")),
        height: 74 + 24 * first(&rows).len() as u32,
        option: option(first(&rows)),
        table: table(all()),
        title,
    })
}

/// The margins by a need, the best first.
fn margins<'c>(need: &'c Need, cells: &[&'c Cell]) -> Vec<Margin<'c>> {
    let of_cell = |cell: &&'c Cell| {
        let cell: &'c Cell = cell;
        let shown = cell.meets.iter().find(|one| one.need == need.text)?;
        let (value, seen) = (shown.margin.filter(|margin| *margin > 0.0)?, shown.seen?);
        let ends = match need.kind {
            NeedKind::Rate(_) => [seen.low / seen.value, seen.high / seen.value],
            _ => [seen.value / seen.high, seen.value / seen.low],
        };
        let ends = ends.map(|times| value * times);
        let is_known = seen.level > 0.0 && ends.iter().all(|end| *end > 0.0 && end.is_finite());
        Some(Margin { cell, need, shown, value, ends: is_known.then_some(ends) })
    };
    let mut margins: Vec<Margin<'c>> = cells.iter().filter_map(of_cell).collect();
    margins.sort_by(|a, b| b.value.total_cmp(&a.value));
    margins
}

/// The ends of the interval of a margin and the margin itself.
fn ends_of(it: &Margin<'_>) -> [f64; 3] {
    let [low, high] = it.ends.unwrap_or([it.value; 2]);
    [low, it.value, high]
}

/// Returns the store with its class and level, once each.
fn name(cell: &Cell) -> String {
    let Some(level) = cell.durability else { return format!("{} · {}", label(cell), cell.class) };
    let store = label(cell).replace(&format!(",durability={level}"), "");
    format!("{store} · {}, {level}", cell.class)
}

fn word(meets: Meets) -> &'static str {
    match meets {
        Meets::Met => "met",
        Meets::Missed => "missed",
        Meets::NotShown => "not shown",
    }
}

fn words(it: &Margin<'_>) -> String {
    let figure = figure(it.need, it.shown).unwrap_or_default();
    format!("{}, {figure}", word(it.shown.meets))
}

fn said(it: &Margin<'_>) -> String {
    format!("{}, {}: {}, {} of what is needed", name(it.cell), it.need, words(it), units::ratio(it.value))
}

fn option(rows: &[Row<'_>]) -> Value {
    let names: Vec<Value> = rows
        .iter()
        .map(|row| match row {
            Row::Need(need) => json!({ "value": need.text, "textStyle": { "fontWeight": "bold" } }),
            Row::Margin(it) => name(it.cell).into(),
        })
        .collect();
    let beside: Vec<String> =
        rows.iter().map(|row| if let Row::Margin(it) = row { words(it) } else { String::new() }).collect();
    let words_width =
        beside.iter().map(|words| LETTER * words.chars().count()).max().unwrap_or_default().min(MOST_WORDS);
    let margins = || {
        rows.iter().enumerate().filter_map(|(at, row)| if let Row::Margin(it) = row { Some((at, it)) } else { None })
    };
    let near = |times: f64| times.clamp(1.0 / FARTHEST, FARTHEST);
    let ends = margins().flat_map(|(_, it)| ends_of(it)).map(near);
    let (least, most) = extent(ends.chain([0.5, 2.0]));
    let base = if most / least <= WIDEST_BINARY { 2.0 } else { 10.0 };
    let whole = |times: f64, round: fn(f64) -> f64| f64::powf(base, round(times.log(base)));
    let marks = [
        (Meets::Met, json!({ "symbol": "circle", "symbolSize": 12, "itemStyle": { "color": "$c2", "opacity": 1 } })),
        (Meets::Missed, json!({ "symbol": CROSS, "symbolSize": 13, "itemStyle": { "color": "$bad", "opacity": 1 } })),
        (
            Meets::NotShown,
            json!({ "symbol": "circle", "symbolSize": 11,
            "itemStyle": { "color": "$paper", "borderColor": "$ink", "borderWidth": 2, "opacity": 1 } }),
        ),
    ];
    let mut series: Vec<Value> = marks
        .into_iter()
        .map(|(ruling, mut mark)| {
            let own = margins().filter(|(_, it)| it.shown.meets == ruling);
            let data = own.map(|(at, it)| {
                let [low, high] = it.ends.unwrap_or([it.value; 2]);
                let (n, level) =
                    it.shown.seen.map_or((0, 0.0), |seen| (seen.n, if it.ends.is_some() { seen.level } else { 0.0 }));
                json!({ "value": [near(it.value), at, low, high, n, level],
                        "name": format!("{}, {}: {}", label(it.cell), it.need, words(it)) })
            });
            mark["data"] = data.collect();
            mark["type"] = "scatter".into();
            mark["name"] = word(ruling).into();
            mark["encode"] = json!({ "x": 0, "y": 1 });
            mark["z"] = 6.into();
            mark
        })
        .collect();
    series.retain(|marks| marks["data"].as_array().is_some_and(|data| !data.is_empty()));
    series[0]["markLine"] = json!({ "silent": true, "symbol": "none", "data": [{ "xAxis": 1 }],
        "lineStyle": { "color": "$ink", "type": "solid", "width": 1.5 },
        "label": { "formatter": "the need", "color": "$ink", "position": "start" } });
    let legend: Vec<Value> = series.iter().map(|marks| marks["name"].clone()).collect();
    let ends =
        margins().filter_map(|(at, it)| it.ends.map(|[low, high]| json!([near(it.value), at, near(low), near(high)])));
    series.push(whiskers(ends.collect()));
    json!({
        "grid": { "left": 8, "right": 8, "top": 44, "bottom": 26, "containLabel": true },
        "legend": { "top": 2, "left": 8, "data": legend },
        "xAxis": { "type": "log", "logBase": base, "min": whole(least, f64::floor), "max": whole(most, f64::ceil),
                   "axisLabel": { "formatter": "@ratio.axis" } },
        "yAxis": [
            { "type": "category", "inverse": true, "data": names, "axisTick": { "show": false }, "axisLabel": { "interval": 0 } },
            { "type": "category", "inverse": true, "data": beside, "position": "right", "axisTick": { "show": false },
              "axisLine": { "show": false }, "axisLabel": { "interval": 0, "margin": 14, "width": words_width } },
        ],
        "tooltip": { "trigger": "item", "formatter": "@ratio.interval" },
        "series": series,
    })
}

fn table<'m, 'c: 'm>(margins: impl Iterator<Item = &'m Margin<'c>>) -> DataTable {
    let row = |it: &Margin<'_>| {
        [
            it.need.text.clone(),
            label(it.cell),
            it.cell.class.to_string(),
            it.cell.durability.map_or("–".into(), |level| level.to_string()),
            word(it.shown.meets).into(),
            figure(it.need, it.shown).unwrap_or_default(),
            units::ratio(it.value),
            it.ends.map_or("–".into(), |[low, high]| format!("{} to {}", units::ratio(low), units::ratio(high))),
        ]
    };
    let columns = ["Need", "Store", "Class", "Durability", "Ruling", "Figure", "Times better", "Interval"];
    DataTable::of(columns, margins.map(row))
}
