//! What `kvtrial crash` found: how old what was lost was, what became of each client's writes, how long stores took to recover.

use crate::chart::{Chart, DataTable};
use crate::draw::axes::{chart_of_rows, extent, scale};
use crate::draw::bars::{WIDEST_LINEAR, rows_height};
use crate::figures;
use analysis::Unit;
use serde_json::{Value, json};
use study::{Crash, CrashCase, CrashFindings, LOST_AGES_S};
use words::units;

/// Levels whose clients are drawn: of more the pictures would be too small to read.
const MOST_FACETS: usize = 24;
/// Height of a row of circles.
const CIRCLES: u32 = 44;
/// Diameter of the largest circle and of the smallest.
const WIDEST: f64 = 34.0;
const LEAST: f64 = 7.0;

/// Returns all pictures; none of what there is nothing to draw of.
pub(crate) fn charts(crash: &Crash) -> Vec<Chart> {
    let losers: Vec<(&CrashCase, CrashFindings)> =
        crash.cases.iter().map(|case| (case, case.found())).filter(|(_, found)| found.lost > 0).collect();
    [ages(&losers), clients(&losers), recovery(crash)].into_iter().flatten().collect()
}

/// `redis-unix (os)`.
fn row_name(case: &CrashCase) -> String {
    case.level.map_or_else(|| case.store.clone(), |level| format!("{} ({level})", case.store))
}

/// `< 1 ms`, `1 to 10 ms`, `> 2 s`.
fn age_names() -> Vec<String> {
    let name = |bound_s: f64| match bound_s {
        0.0..1.0 => format!("{} ms", bound_s * 1e3),
        _ => format!("{bound_s} s"),
    };
    let between = |pair: &[f64]| {
        let (from, to) = (name(pair[0]), name(pair[1]));
        let (figure, unit) = from.split_once(' ').unwrap_or((&from, ""));
        if to.ends_with(&format!(" {unit}")) { format!("{figure} to {to}") } else { format!("{from} to {to}") }
    };
    let first = LOST_AGES_S.first().map(|bound_s| format!("< {}", name(*bound_s)));
    let last = LOST_AGES_S.last().map(|bound_s| format!("> {}", name(*bound_s)));
    first.into_iter().chain(LOST_AGES_S.windows(2).map(between)).chain(last).collect()
}

/// A row of circles per level: how many of its lost writes were of each age.
fn ages(losers: &[(&CrashCase, CrashFindings)]) -> Option<Chart> {
    if losers.is_empty() {
        return None;
    }
    let ages = age_names();
    let names: Vec<String> = losers.iter().map(|(case, _)| row_name(case)).collect();
    let columns = ["Store".to_owned()].into_iter().chain(ages.iter().cloned()).chain(["Oldest".into()]);
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut circles: Vec<Value> = Vec::new();
    let mut words = Vec::new();
    for (row, (_, found)) in losers.iter().enumerate() {
        let oldest = found.oldest_lost_s.map_or("–".into(), units::duration);
        for (age, count) in found.lost_ages.iter().enumerate().take(ages.len()).filter(|(_, count)| **count > 0) {
            let share = *count as f64 / found.lost as f64;
            circles.push(json!({ "value": [age, row], "name": names[row], "symbolSize": diameter(share),
                "label": { "formatter": short(*count) },
                "itemStyle": { "color": age_colour(age, "$c0") } }));
        }
        let counts = (0..ages.len()).map(|age| found.lost_ages.get(age).copied().unwrap_or_default());
        rows.push([names[row].clone()].into_iter().chain(counts.map(units::whole)).chain([oldest.clone()]).collect());
        words.push(format!("{}: {} lost, the oldest {oldest} old", names[row], units::whole(found.lost)));
    }
    let label =
        |(age, name): (usize, &String)| json!({ "value": name, "textStyle": { "color": age_colour(age, "$muted") } });
    let labels: Vec<Value> = ages.iter().enumerate().map(label).collect();
    Some(Chart {
        id: "lost-ages".into(),
        title: "Age of what was lost".into(),
        note: "How long before the crash lost writes were acknowledged, over all cuts: the larger a circle, the larger their share; the number is \
               how many. Red: older than a second, so what even durability second promises to keep."
            .into(),
        description: format!("Lost writes by age. {}.", words.join("; ")),
        height: 66 + CIRCLES * losers.len() as u32,
        option: json!({
            "grid": { "left": 8, "right": 24, "top": 8, "bottom": 44, "containLabel": true },
            "xAxis": { "type": "category", "data": labels, "name": "age at the crash", "nameLocation": "middle", "nameGap": 28,
                       "axisLabel": { "interval": 0 }, "splitLine": { "show": false } },
            "yAxis": { "type": "category", "inverse": true, "data": names, "axisTick": { "show": false }, "splitLine": { "show": true } },
            "series": [{ "type": "scatter", "data": circles, "silent": true,
                         "label": { "show": true, "position": "right", "color": "$ink", "fontSize": 11 } }],
        }),
        table: DataTable::of(columns, rows),
    })
}

/// `10`, `6.00k`.
fn short(count: u64) -> String {
    if count < 1000 { count.to_string() } else { units::count(count as f64) }
}

/// What is older than a second stands out.
fn age_colour(age: usize, usual: &'static str) -> &'static str {
    let is_older = age > 0 && LOST_AGES_S.get(age - 1).is_some_and(|from_s| *from_s >= 1.0);
    if is_older { "$bad" } else { usual }
}

/// Of a circle whose area stands for this share of a whole.
fn diameter(share: f64) -> f64 {
    (WIDEST * share.sqrt()).max(LEAST)
}

/// A picture per level that lost something: of each client, what survived and what did not.
fn clients(losers: &[(&CrashCase, CrashFindings)]) -> Option<Chart> {
    let shown: Vec<&(&CrashCase, CrashFindings)> =
        losers.iter().filter(|(_, found)| !found.clients.is_empty()).take(MOST_FACETS).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut series = Vec::new();
    let mut words = Vec::new();
    for (at, (case, found)) in shown.iter().enumerate() {
        let axes = |mut bars: Value| {
            bars["xAxisIndex"] = at.into();
            bars["yAxisIndex"] = at.into();
            bars
        };
        let survived: Vec<u64> =
            found.clients.iter().map(|it| it.acknowledged - it.lost.min(it.acknowledged)).collect();
        let lost: Vec<u64> = found.clients.iter().map(|it| it.lost).collect();
        for (name, colour, data) in [("survived", "$c0", &survived), ("lost", "$bad", &lost)] {
            series.push(axes(
                json!({ "type": "bar", "stack": format!("{at}"), "name": name, "data": data, "barMaxWidth": 28,
                "itemStyle": { "color": colour } }),
            ));
        }
        for (client, (it, survived)) in found.clients.iter().zip(&survived).enumerate() {
            let counts = [it.acknowledged, *survived, it.lost].map(units::whole);
            rows.push([row_name(case), (client + 1).to_string()].into_iter().chain(counts).collect());
        }
        let losing = lost.iter().filter(|lost| **lost > 0).count();
        words.push(format!("{}: {losing} of {} clients lost writes", row_name(case), lost.len()));
    }
    if shown.is_empty() {
        return None;
    }
    let x = |(at, (_, found)): (usize, &&(&CrashCase, CrashFindings))| {
        let names: Vec<String> = (1..=found.clients.len()).map(|client| client.to_string()).collect();
        json!({ "type": "category", "gridIndex": at, "data": names, "name": "client", "nameLocation": "middle", "nameGap": 24 })
    };
    let y = |at: usize| json!({ "type": "value", "gridIndex": at, "min": 0, "splitNumber": 4, "axisLabel": { "formatter": "@count.axis" } });
    let titles: Vec<String> = shown.iter().map(|(case, _)| row_name(case)).collect();
    Some(Chart {
        id: "survivors-by-client".into(),
        title: "What survived, by client".into(),
        note: "Acknowledged writes of each client over all cuts. Levels that lost nothing are not drawn.".into(),
        description: format!("Surviving writes by client. {}.", words.join("; ")),
        height: 320,
        option: json!({
            "facets": { "columns": 3, "titles": titles, "legend": true },
            "grid": shown.iter().map(|_| json!({})).collect::<Vec<_>>(),
            "xAxis": shown.iter().enumerate().map(x).collect::<Vec<_>>(),
            "yAxis": (0..shown.len()).map(y).collect::<Vec<_>>(),
            "legend": { "top": 4, "left": 8, "right": 8 },
            "tooltip": { "trigger": "axis", "axisPointer": { "type": "shadow" }, "valueFormatter": "@count.value" },
            "series": series,
        }),
        table: DataTable::of(["Store", "Client", "Acknowledged", "Survived", "Lost"], rows),
    })
}

/// A row per level: how long it took to answer again after each cut, and the median.
fn recovery(crash: &Crash) -> Option<Chart> {
    let times = |case: &CrashCase| -> Vec<f64> { case.cuts.iter().filter_map(|cut| cut.recovery_s).collect() };
    let rows: Vec<(&CrashCase, Vec<f64>)> =
        crash.cases.iter().map(|case| (case, times(case))).filter(|(_, times_s)| !times_s.is_empty()).collect();
    if rows.is_empty() {
        return None;
    }
    let (least, most) = extent(rows.iter().flat_map(|(_, times_s)| times_s.iter().copied()));
    let logarithmic = least > 0.0 && most > WIDEST_LINEAR * least;
    let names: Vec<String> = rows.iter().map(|(case, _)| row_name(case)).collect();
    let mut table = Vec::new();
    let (mut dots, mut medians): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    let mut words = Vec::new();
    for (row, (case, times_s)) in rows.iter().enumerate() {
        dots.extend(times_s.iter().map(|time_s| json!([time_s, row])));
        let longest = units::duration(times_s.iter().copied().fold(0.0, f64::max));
        let Some(median) = case.recovery_s else { continue };
        medians.push(json!({ "value": [median.value, row, median.low, median.high, median.n, median.level], "name": names[row] }));
        let shown = units::duration(median.value);
        words.push(format!("{} {shown}", names[row]));
        table.push([names[row].clone(), shown, figures::interval(&median, Unit::Seconds), longest]);
    }
    words.truncate(12);
    Some(Chart {
        id: "recovery".into(),
        title: "Time to recover".into(),
        note:
            "Time from the restart on what was left to the first answer: the bar is the median, dots are single cuts."
                .into(),
        description: format!("Median time to recover: {}.", words.join(", ")),
        height: rows_height(rows.len()),
        option: chart_of_rows(
            scale(logarithmic, "s"),
            names,
            json!({ "trigger": "item", "formatter": "@s.interval" }),
            vec![
                json!({ "type": "scatter", "symbol": "rect", "symbolSize": [4, 18], "data": medians, "encode": { "x": 0, "y": 1 },
                        "itemStyle": { "color": "$ink" }, "z": 6 }),
                json!({ "type": "scatter", "data": dots, "encode": { "x": 0, "y": 1 }, "symbolSize": 7, "silent": true,
                        "itemStyle": { "color": "$c0", "opacity": 0.55 }, "z": 5 }),
            ],
        ),
        table: DataTable::of(["Store", "Median", "Interval", "Longest"], table),
    })
}
