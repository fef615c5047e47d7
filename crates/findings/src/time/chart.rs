//! Rate and response time over the time of a trial, with stalls marked.

use super::curve;
use crate::chart::{Chart, DataTable, slug};
use crate::draw::axes::{self, extent, named, scale, tooltip};
use crate::draw::bars::{first, left_out};
use crate::draw::marked::MarkedStalls;
use crate::draw::thin::thinned;
use crate::figures;
use crate::identity::{Identities, label};
use analysis::{Unit, median_trial, records_per_operation};
use serde_json::{Value, json};
use study::{Cell, TrialRecord};
use words::Batches;

/// A shorter trial has no time to speak of: its curve is of the first caches and little else.
const LEAST_S: f64 = 0.25;

/// What the band is called.
pub(crate) const KEYS: &str = "keys without answers";

/// Charts of one part: rate, and 99th percentile, of each cell's median trial. `most_points` is what one cell may draw.
pub(crate) fn charts(
    cells: &[&Cell],
    batches: Option<Batches>,
    part: &str,
    identities: &Identities,
    most_points: usize,
) -> Vec<Chart> {
    let known: Vec<(&Cell, &TrialRecord)> = cells
        .iter()
        .filter(|cell| !cell.baseline && (cell.verdict.is_ranked() || has_faults(cell)))
        .filter_map(|&cell| Some((cell, median_trial(cell)?)))
        .filter(|(_, trial)| trial.series.len() > 1 && trial.makespan_s >= LEAST_S)
        .collect();
    let (drawn, left_out) = (first(&known), left_out(known.len()));
    if drawn.is_empty() {
        return Vec::new();
    }
    let marked = MarkedStalls::of(drawn.iter().flat_map(|(_, trial)| &trial.stalls));
    let shaded = match drawn.iter().any(|(_, trial)| !trial.dark.is_empty()) {
        true => {
            ". Red, to the right: share of the keys without answers. A burst after a fault may lie above the picture."
        }
        false => ", when hardly anything was answered or an answer took far longer than others.",
    };
    let rate = |trial: &TrialRecord| thinned(&rates(trial), most_points, f64::min);
    let p99 = |trial: &TrialRecord| {
        let known: Vec<(f64, f64)> =
            trial.series.iter().filter(|it| it.p99_ns > 0).map(|it| (it.at_s, it.p99_ns as f64)).collect();
        thinned(&known, most_points, f64::max)
    };
    let chart =
        |what: &str, title: &str, note: &str, unit: Unit, points: &dyn Fn(&TrialRecord) -> Vec<(f64, f64)>| Chart {
            id: slug(&format!("{what} over time {part}")),
            title: title.into(),
            note: note.to_owned() + &left_out,
            description: describe(title, drawn),
            height: 320,
            option: option(drawn, &marked, identities, unit, points),
            table: table(&known),
        };
    vec![
        chart(
            "rate",
            &format!("{} over time", figures::rate_title(batches)),
            &format!("The median trial of each store. Shaded: {}{shaded}", marked.words()),
            Unit::PerSecond,
            &rate,
        ),
        chart(
            "p99",
            if batches.is_some() {
                "99th percentile of response time of a batch, over time"
            } else {
                "99th percentile of response time over time"
            },
            "From the same trials. A percentile of one interval has at most 7 % error.",
            Unit::Nanoseconds,
            &p99,
        ),
    ]
}

/// Whether nodes failed on purpose: then the curve is what the trial was for, whatever the verdict.
fn has_faults(cell: &Cell) -> bool {
    median_trial(cell).is_some_and(|trial| !trial.faults.is_empty())
}

/// Returns the share of the keys without answers, in percent, from each moment at which it changes.
pub(crate) fn dark_shares(trial: &TrialRecord) -> Vec<(f64, f64)> {
    let mut changes: Vec<(f64, f64)> =
        trial.dark.iter().flat_map(|it| [(it.from_s, it.share), (it.until_s, -it.share)]).collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut share = 0.0f64;
    let mut shares = vec![(0.0, 0.0)];
    for (at_s, change) in changes {
        share += change;
        shares.push((at_s, 100.0 * share.clamp(0.0, 1.0)));
    }
    shares
}

/// The band of a cell: which share of the keys had no answers, on an axis of its own.
fn band((cell, trial): &(&Cell, &TrialRecord), cells: usize) -> Option<Value> {
    if trial.dark.is_empty() {
        return None;
    }
    let name = if cells == 1 { KEYS.to_owned() } else { format!("{}: {KEYS}", label(cell)) };
    let data: Vec<Value> = dark_shares(trial).into_iter().map(|(at_s, percent)| json!([at_s, percent])).collect();
    Some(band_of(&name, data))
}

/// A band of shares of the keys, on the second axis.
pub(crate) fn band_of(name: &str, data: Vec<Value>) -> Value {
    json!({ "type": "line", "name": name, "yAxisIndex": 1, "step": "end",
            "showSymbol": false, "data": data, "itemStyle": { "color": "$bad" }, "lineStyle": { "width": 1 },
            "areaStyle": { "color": "$stall" }, "tooltip": { "valueFormatter": "@percent.value" } })
}

/// End of each interval and operations per second in it; records, where an operation carries several. What is left at the end of a phase,
/// shorter than half an interval, says nothing.
fn rates(trial: &TrialRecord) -> Vec<(f64, f64)> {
    let each = each(trial);
    let lengths_s = curve::lengths_s(trial);
    let whole = curve::whole(&lengths_s);
    let rate = |at: usize| each * trial.series[at].operations as f64 / lengths_s[at];
    whole.into_iter().map(|at| (trial.series[at].at_s, rate(at))).collect()
}

/// Records per operation.
fn each(trial: &TrialRecord) -> f64 {
    records_per_operation(trial).unwrap_or(1.0)
}

fn option(
    drawn: &[(&Cell, &TrialRecord)],
    marked: &MarkedStalls,
    identities: &Identities,
    unit: Unit,
    points: &dyn Fn(&TrialRecord) -> Vec<(f64, f64)>,
) -> Value {
    let lines: Vec<(&Cell, Vec<(f64, f64)>)> = drawn.iter().map(|(cell, trial)| (*cell, points(trial))).collect();
    let (least, most) = extent(lines.iter().flat_map(|line| &line.1).map(|point| point.1).filter(|it| *it > 0.0));
    // A rate is read from 0; response times, and rates of very different stores, from a logarithmic axis.
    let logarithmic =
        unit == Unit::Nanoseconds || most > 40.0 * least && lines.iter().all(|line| line.1.iter().all(|it| it.1 > 0.0));
    let bands: Vec<Value> =
        drawn.iter().filter(|_| unit == Unit::PerSecond).filter_map(|it| band(it, drawn.len())).collect();
    let series: Vec<Value> = drawn
        .iter()
        .zip(&lines)
        .map(|((cell, trial), (_, points))| {
            let mut line = identities.line(cell);
            line["showSymbol"] = false.into();
            line["data"] = points.iter().filter(|it| !logarithmic || it.1 > 0.0).map(|(x, y)| json!([x, y])).collect();
            let stalls: Vec<Value> = trial
                .stalls
                .iter()
                .filter(|stall| marked.has(stall))
                .map(|stall| json!([{ "xAxis": stall.at_s }, { "xAxis": stall.at_s + stall.duration_s }]))
                .collect();
            if !stalls.is_empty() {
                line["markArea"] = json!({ "silent": true, "itemStyle": { "color": "$stall" }, "data": stalls });
            }
            line
        })
        .collect();
    let name = figures::chart_unit(unit);
    let mut y = scale(logarithmic, name);
    y["max"] = json!(top(drawn, &lines).filter(|_| unit == Unit::PerSecond && !logarithmic));
    if !bands.is_empty() {
        y = json!([y, percent_of_keys()]);
    }
    let mut x = named(scale(false, "seconds"), "seconds since the clock was switched on");
    let ends_s = drawn.iter().filter_map(|(_, trial)| trial.series.last()).map(|point| point.at_s);
    x["max"] = ends_s.fold(0.0, f64::max).into();
    axes::chart(x, y, tooltip(name), series.into_iter().chain(bands).collect())
}

/// The axis of the share of the keys without answers.
pub(crate) fn percent_of_keys() -> Value {
    let mut axis = scale(false, "percent");
    (axis["max"], axis["splitLine"]) = (100.into(), json!({ "show": false }));
    axis
}

/// Where the axis of rates ends where nodes were made to fail: what was due meanwhile comes in a burst, beside which the usual rate would lie on the
/// floor.
fn top(drawn: &[(&Cell, &TrialRecord)], lines: &[(&Cell, Vec<(f64, f64)>)]) -> Option<f64> {
    if drawn.iter().all(|(_, trial)| trial.faults.is_empty()) {
        return None;
    }
    let rates = |points: &[(f64, f64)]| points.iter().map(|point| point.1).collect::<Vec<_>>();
    let usual = lines.iter().filter_map(|(_, points)| stats::median(&rates(points))).fold(0.0, f64::max);
    let most = lines.iter().flat_map(|(_, points)| rates(points)).fold(0.0, f64::max);
    (usual > 0.0 && most > 3.0 * usual).then(|| (2.0 * usual).round())
}

fn describe(title: &str, drawn: &[(&Cell, &TrialRecord)]) -> String {
    let stalls = |trial: &TrialRecord| match trial.stalls.len() {
        0 => "no stall".into(),
        n => words::counted(n as u64, "stall"),
    };
    let each = drawn.iter().take(10).map(|(cell, trial)| {
        format!(
            "{}: {} on average, {}",
            label(cell),
            figures::value(each(trial) * trial.ops_per_s, Unit::PerSecond),
            stalls(trial)
        )
    });
    format!("{title}. {}.", each.collect::<Vec<_>>().join("; "))
}

fn table(drawn: &[(&Cell, &TrialRecord)]) -> DataTable {
    let row = |(cell, trial): &(&Cell, &TrialRecord)| {
        let lowest = rates(trial).into_iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
        let highest = trial.series.iter().map(|it| it.p99_ns).max().unwrap_or_default();
        let longest = trial.series.iter().map(|it| it.max_ns).max().unwrap_or_default();
        let stalls: Vec<String> = trial
            .stalls
            .iter()
            .take(5)
            .map(|stall| {
                let cause = stall.cause.as_ref().map_or(String::new(), |cause| format!(" ({cause})"));
                format!("at {:.2} s, {}{cause}", stall.at_s, words::units::duration(stall.duration_s))
            })
            .collect();
        let more = if trial.stalls.len() > 5 { format!("; {} more", trial.stalls.len() - 5) } else { String::new() };
        [
            label(cell),
            trial.order.to_string(),
            trial.series.len().to_string(),
            figures::value(each(trial) * trial.ops_per_s, Unit::PerSecond),
            if lowest.is_finite() { figures::value(lowest, Unit::PerSecond) } else { "–".into() },
            figures::ns(highest, highest),
            figures::ns(longest, longest),
            if stalls.is_empty() { "none".into() } else { stalls.join("; ") + &more },
        ]
    };
    let columns = ["Store", "Trial", "Points", "Mean rate", "Lowest rate", "Highest p99", "Longest response", "Stalls"];
    DataTable::of(columns, drawn.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::{band, dark_shares};
    use study::{Cell, DarkTime, TrialRecord};

    #[test]
    fn the_band_rises_and_falls_with_the_share_of_the_keys_that_has_no_answers() {
        let dark = |part, share, from_s, until_s| DarkTime { part, share, from_s, until_s };
        let dark = vec![dark(0, 0.25, 1.0, 2.0), dark(1, 0.5, 1.5, 1.75)];
        let trial = TrialRecord { dark, ..TrialRecord::default() };
        let shares = dark_shares(&trial);
        assert_eq!(shares, [(0.0, 0.0), (1.0, 25.0), (1.5, 75.0), (1.75, 25.0), (2.0, 0.0)]);
        let cell = Cell { store: "redis-cluster".into(), ..Cell::default() };
        let drawn = band(&(&cell, &trial), 1).unwrap_or_default();
        assert_eq!((&drawn["data"][2][1], &drawn["yAxisIndex"]), (&75.0.into(), &1.into()));
        assert_eq!(band(&(&cell, &TrialRecord::default()), 1), None, "nothing was dark");
    }
}
