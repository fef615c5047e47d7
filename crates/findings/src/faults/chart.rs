//! What failing nodes did to each store: rate and tail of all its trials over their time, aligned at the first fault.

use super::lives::{NodeDoing, NodeLife, lives};
use crate::chart::{Chart, DataTable, slug};
use crate::figures::shown;
use crate::identity::{Identities, label};
use crate::time::chart::{KEYS, band_of, dark_shares, percent_of_keys};
use analysis::Unit;
use serde_json::{Value, json};
use study::{Cell, FaultFigures, SeriesPoint, TrialRecord};
use words::units;

const NOTE: &str = "Above: good answers per second; below: 99th percentile of response time. Thin: each trial; thick: their \
                    median. Time is that of the trials, aligned at their first fault; the lines mark what was done, and to which node. Red, to the right: share of the keys \
                    without answers, of the trial with the median time without them; below it, when each of its nodes ran, and a triangle where one took over. A burst after a fault may lie above the picture.";

/// Width of the bins the trials are put together in, seconds; at most this many.
const BIN_S: f64 = 0.1;
const MOST_BINS: f64 = 400.0;
/// Height of the row of a node.
const ROW_HEIGHT: u32 = 16;

/// Returns a chart for each store to which a fault was done, all on the same axis of time.
pub(crate) fn charts(cells: &[&Cell], part: &str, identities: &Identities) -> Vec<Chart> {
    let drawn: Vec<Drawn<'_>> = cells.iter().filter_map(|cell| Drawn::of(cell)).collect();
    let from_s = drawn.iter().map(|it| it.from_s).fold(0.0, f64::min);
    let to_s = drawn.iter().map(|it| it.to_s).fold(0.0, f64::max);
    let bin_s = BIN_S.max((to_s - from_s) / MOST_BINS);
    let chart = |it: &Drawn<'_>| Chart {
        id: slug(&format!("faults {} {part}", label(it.cell))),
        title: label(it.cell),
        note: NOTE.into(),
        description: super::outages::headlines(&[it.cell]).join(" "),
        height: 440 + it.lives_height(),
        option: option(it, identities, (from_s, to_s), bin_s),
        table: table(it.cell),
    };
    drawn.iter().map(chart).collect()
}

/// A store with its trials, each with how much later than in the median trial its first fault was.
struct Drawn<'a> {
    cell: &'a Cell,
    trials: Vec<(&'a TrialRecord, f64)>,
    from_s: f64,
    to_s: f64,
}

impl<'a> Drawn<'a> {
    fn of(cell: &'a Cell) -> Option<Drawn<'a>> {
        let first_s = |trial: &TrialRecord| trial.faults.iter().filter_map(|fault| fault.at_s).reduce(f64::min);
        let seen = cell.counted().filter(|trial| trial.series.len() > 1);
        let first: Vec<(&TrialRecord, f64)> = seen.filter_map(|trial| Some((trial, first_s(trial)?))).collect();
        let usual_s = stats::median(&first.iter().map(|(_, first_s)| *first_s).collect::<Vec<_>>())?;
        let trials: Vec<(&TrialRecord, f64)> =
            first.into_iter().map(|(trial, first_s)| (trial, first_s - usual_s)).collect();
        let from_s = trials.iter().map(|(_, zero_s)| -zero_s).reduce(f64::min)?;
        let end_s = |(trial, zero_s): &(&TrialRecord, f64)| trial.series.last().map(|point| point.at_s - zero_s);
        let to_s = trials.iter().filter_map(end_s).reduce(f64::max)?;
        Some(Drawn { cell, trials, from_s, to_s })
    }

    /// When each node ran, in the trial with the median time in which keys were dark.
    fn lives(&self) -> (Vec<NodeLife>, f64) {
        self.median().map(|(trial, zero_s)| (lives(trial), *zero_s)).unwrap_or_default()
    }

    /// What drawing that adds to the height.
    fn lives_height(&self) -> u32 {
        match self.lives().0.len() as u32 {
            0 => 0,
            nodes => 44 + ROW_HEIGHT * nodes,
        }
    }

    /// The trial with the median time in which keys were dark.
    fn median(&self) -> Option<&(&'a TrialRecord, f64)> {
        let longest = |trial: &TrialRecord| trial.faults.iter().filter_map(|it| it.longest_dark_s).fold(0.0, f64::max);
        let mut trials: Vec<&(&TrialRecord, f64)> = self.trials.iter().collect();
        trials.sort_by(|a, b| longest(a.0).total_cmp(&longest(b.0)));
        trials.get((trials.len() - 1) / 2).copied()
    }
}

/// Points in bins of the same width, each with the mean of its points.
fn binned(points: &[(f64, f64)], from_s: f64, bin_s: f64) -> Vec<(i64, f64)> {
    let mut bins: Vec<(i64, f64, f64)> = Vec::new();
    for (at_s, value) in points {
        let bin = ((at_s - from_s) / bin_s).floor() as i64;
        match bins.last_mut() {
            Some((known, sum, n)) if *known == bin => (*sum, *n) = (*sum + value, *n + 1.0),
            _ => bins.push((bin, *value, 1.0)),
        }
    }
    bins.into_iter().map(|(bin, sum, n)| (bin, sum / n)).collect()
}

/// The median of all trials that have a bin; of fewer than half of them it would jump.
fn median_of(trials: &[Vec<(i64, f64)>]) -> Vec<(i64, f64)> {
    let mut all: Vec<(i64, f64)> = trials.concat();
    all.sort_by_key(|point| point.0);
    all.chunk_by(|a, b| a.0 == b.0)
        .filter(|bin| 2 * bin.len() > trials.len())
        .filter_map(|bin| Some((bin[0].0, stats::median(&bin.iter().map(|it| it.1).collect::<Vec<_>>())?)))
        .collect()
}

/// Where the axis of rates ends: what was due in a fault comes in a burst after it, beside which the usual rate would lie on the floor.
fn top(trials: &[Vec<(i64, f64)>]) -> Option<f64> {
    let rates: Vec<f64> = trials.iter().flatten().map(|point| point.1).collect();
    let (usual, most) = (stats::median(&rates)?, rates.iter().copied().fold(0.0, f64::max));
    (usual > 0.0 && most > 3.0 * usual).then(|| (2.0 * usual).round())
}

fn option(it: &Drawn<'_>, identities: &Identities, (from_s, to_s): (f64, f64), bin_s: f64) -> Value {
    let middle = |bin: i64| from_s + (bin as f64 + 0.5) * bin_s;
    let json_of = |points: &[(i64, f64)]| -> Value { points.iter().map(|(bin, y)| json!([middle(*bin), y])).collect() };
    let of_rate = |(trial, zero_s): &(&TrialRecord, f64)| {
        let begins = std::iter::once(0.0).chain(trial.series.iter().map(|point| point.at_s));
        let widths = begins.zip(&trial.series).map(|(begin_s, point)| (point.at_s - begin_s, point));
        let good = |point: &SeriesPoint| point.operations.saturating_sub(point.errors) as f64;
        // What is left of the last interval may be too short to have a rate.
        let points = widths.filter(|(width_s, _)| *width_s > BIN_S / 2.0);
        let points: Vec<(f64, f64)> =
            points.map(|(width_s, point)| (point.at_s - zero_s - width_s / 2.0, good(point) / width_s)).collect();
        binned(&points, from_s, bin_s)
    };
    let of_p99 = |(trial, zero_s): &(&TrialRecord, f64)| {
        let known = trial.series.iter().filter(|point| point.p99_ns > 0);
        let points: Vec<(f64, f64)> =
            known.map(|point| (point.at_s - zero_s - BIN_S / 2.0, point.p99_ns as f64)).collect();
        binned(&points, from_s, bin_s)
    };
    let mut series = Vec::new();
    let mut top_rate = None;
    let figures: [(usize, &dyn Fn(&(&TrialRecord, f64)) -> Vec<(i64, f64)>, &str); 2] =
        [(0, &of_rate, "rate"), (1, &of_p99, "ns")];
    for (grid, points, unit) in figures {
        let trials: Vec<Vec<(i64, f64)>> = it.trials.iter().map(points).collect();
        if grid == 0 {
            top_rate = top(&trials);
        }
        // The axis of the share of the keys stands between them.
        let axes = json!({ "xAxisIndex": grid, "yAxisIndex": 2 * grid });
        let mut add = |name: &str, data: Value, width: f64, opacity: f64| {
            let mut line = json!({ "type": "line", "name": name, "showSymbol": false, "data": data,
                "itemStyle": { "color": identities.colour(it.cell) },
                "lineStyle": { "width": width, "opacity": opacity, "type": "solid" },
                "tooltip": { "valueFormatter": format!("@{unit}.value") } });
            line["xAxisIndex"] = axes["xAxisIndex"].clone();
            line["yAxisIndex"] = axes["yAxisIndex"].clone();
            if width > 1.0 {
                line["markLine"] = marks(it, grid == 0);
            }
            series.push(line);
        };
        if trials.len() > 1 {
            trials.iter().for_each(|trial| add("each trial", json_of(trial), 1.0, 0.4));
        }
        add(
            if trials.len() > 1 { "median of the trials" } else { "the trial" },
            json_of(&median_of(&trials)),
            2.6,
            1.0,
        );
    }
    if let Some((trial, zero_s)) = it.median().filter(|(trial, _)| !trial.dark.is_empty()) {
        let data: Vec<Value> =
            dark_shares(trial).iter().map(|(at_s, percent)| json!([at_s - zero_s, percent])).collect();
        series.push(band_of(KEYS, data));
    }
    let (lives, zero_s) = it.lives();
    for life in lives.iter().rev() {
        for &(doing, begin_s, end_s) in &life.parts {
            let (name, colour) = match doing {
                NodeDoing::Runs => ("node runs", identities.colour(it.cell)),
                NodeDoing::Frozen => ("node frozen", "$muted".into()),
                NodeDoing::CutOff => ("node cut off", "$bad".into()),
                NodeDoing::ClockApart => ("node with another time", "$bad".into()),
            };
            let data = json!([[begin_s - zero_s, life.node], [end_s - zero_s, life.node]]);
            series.push(json!({ "type": "line", "name": name, "xAxisIndex": 2, "yAxisIndex": 3, "showSymbol": false,
                "silent": true, "tooltip": { "show": false }, "data": data, "itemStyle": { "color": colour },
                "lineStyle": { "width": 7, "cap": "butt" } }));
        }
    }
    let takeovers: Vec<Value> =
        lives.iter().flat_map(|life| life.took_over_s.iter().map(|at_s| json!([at_s - zero_s, life.node]))).collect();
    if !takeovers.is_empty() {
        series.push(
            json!({ "type": "scatter", "name": "node took over", "xAxisIndex": 2, "yAxisIndex": 3, "symbol": "triangle",
            "symbolSize": 12, "data": takeovers, "silent": true, "tooltip": { "show": false },
            "itemStyle": { "color": "$ink", "borderColor": "$paper", "borderWidth": 1 }, "z": 5 }),
        );
    }
    let axis = |grid: usize, name: &str| {
        json!({ "type": "value", "gridIndex": grid, "min": from_s, "max": to_s, "name": name,
                "nameLocation": "middle", "nameGap": 26, "axisLabel": { "formatter": "@seconds.axis" } })
    };
    let mut option = json!({
        "grid": [{ "left": 64, "right": 56, "top": 58, "height": 170 }, { "left": 64, "right": 56, "top": 262, "height": 130 }],
        "legend": { "top": 4, "left": 8, "right": 8 },
        "xAxis": [axis(0, ""), axis(1, "seconds since the clock was switched on")],
        "yAxis": [
            { "type": "value", "gridIndex": 0, "min": 0, "max": top_rate, "axisLabel": { "formatter": "@rate.axis" } },
            percent_of_keys(),
            { "type": "log", "gridIndex": 1, "axisLabel": { "formatter": "@ns.axis" } },
        ],
        "tooltip": { "trigger": "axis" },
        "series": series,
    });
    if !lives.is_empty() {
        let names: Vec<&str> = lives.iter().rev().map(|life| life.node.as_str()).collect();
        let height = ROW_HEIGHT * lives.len() as u32;
        option["xAxis"][1]["name"] = "".into();
        let list = |key: &str, option: &mut Value, more: Value| {
            option[key].as_array_mut().into_iter().for_each(|known| known.push(more.clone()));
        };
        list("grid", &mut option, json!({ "left": 64, "right": 56, "top": 432, "height": height }));
        list("xAxis", &mut option, axis(2, "seconds since the clock was switched on"));
        list(
            "yAxis",
            &mut option,
            json!({ "type": "category", "gridIndex": 2, "data": names, "axisTick": { "show": false },
            "axisLine": { "show": false } }),
        );
    }
    option
}

/// A line for each fault, named above the picture: `node1 kill`.
fn marks(it: &Drawn<'_>, named: bool) -> Value {
    let mark = |fault: &FaultFigures| {
        let at_s = fault.at_s?.value;
        Some(
            json!({ "xAxis": at_s, "name": format!("{} {}", fault.node, super::outages::act(&fault.planned)).trim().to_owned() }),
        )
    };
    let data: Vec<Value> = it.cell.faults.iter().filter_map(mark).collect();
    json!({ "silent": true, "symbol": "none", "data": data, "lineStyle": { "color": "$bad", "width": 1.2, "type": "dashed" },
            "label": { "show": named, "formatter": "{b}", "fontSize": 11, "rotate": if data.len() > 3 { 30 } else { 0 } } })
}

fn table(cell: &Cell) -> DataTable {
    const COLUMNS: [&str; 14] = [
        "Fault",
        "Node",
        "Trials",
        "Longest time dark",
        "Share of the keys x time",
        "Operations failed",
        "Good answers/s before",
        "after",
        "p99 before",
        "after",
        "Another node took over after",
        "Rate back after",
        "Done after",
        "Caught up after",
    ];
    let row = |fault: &FaultFigures| {
        let failed = fault.failed_operations.map_or("–".into(), |it| {
            let [value, low, high] = [it.value, it.low, it.high].map(units::count);
            if it.level > 0.0 { format!("{value} ({low} to {high}, n = {})", it.n) } else { value }
        });
        let back = match fault.not_back {
            0 => shown(fault.back_s, Unit::Seconds),
            n => format!("{}; not in {n} of {}", shown(fault.back_s, Unit::Seconds), fault.trials),
        };
        [
            fault.planned.clone(),
            fault.node.clone(),
            fault.trials.to_string(),
            shown(fault.longest_dark_s, Unit::Seconds),
            shown(fault.dark_key_s, Unit::Seconds),
            failed,
            shown(fault.before_per_s, Unit::PerSecond),
            shown(fault.after_per_s, Unit::PerSecond),
            shown(fault.p99_before_ns, Unit::Nanoseconds),
            shown(fault.p99_after_ns, Unit::Nanoseconds),
            shown(fault.taken_over_s, Unit::Seconds),
            back,
            shown(fault.done_s, Unit::Seconds),
            shown(fault.caught_up_s, Unit::Seconds),
        ]
    };
    DataTable::of(COLUMNS, cell.faults.iter().map(row))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{binned, charts, median_of};
    use crate::identity::Identities;
    use study::{Cell, DarkTime, FaultRecord, SeriesPoint, Study, TrialRecord};

    #[test]
    fn trials_are_put_together_in_bins_and_a_bin_few_of_them_have_is_left_out() {
        assert_eq!(binned(&[(0.01, 1.0), (0.09, 3.0), (0.11, 5.0)], 0.0, 0.1), [(0, 2.0), (1, 5.0)]);
        let trials = [vec![(0, 1.0), (1, 9.0)], vec![(0, 2.0)], vec![(0, 4.0), (2, 1.0)]];
        assert_eq!(median_of(&trials), [(0, 2.0)]);
    }

    #[test]
    fn trials_are_aligned_at_their_first_fault_which_is_marked_with_its_node_where_it_was() {
        let trial = |order, at_s: f64| TrialRecord {
            order,
            operations: 1000,
            makespan_s: 10.0,
            series: (1..=100)
                .map(|at| f64::from(at) / 10.0)
                .map(|end_s| SeriesPoint {
                    at_s: end_s,
                    operations: if end_s > at_s && end_s <= at_s + 1.0 { 0 } else { 10 },
                    p99_ns: 1000,
                    ..SeriesPoint::default()
                })
                .collect(),
            faults: vec![FaultRecord {
                planned: "at 3s kill 2".into(),
                node: "node2".into(),
                at_s: Some(at_s),
                longest_dark_s: Some(1.0),
                ..FaultRecord::default()
            }],
            dark: vec![DarkTime { part: 0, share: 0.25, from_s: at_s, until_s: at_s + 1.0 }],
            ..TrialRecord::default()
        };
        let mut cell = Cell { store: "nats".into(), trials: vec![trial(1, 3.0), trial(2, 4.0)], ..Cell::default() };
        analysis::summarise(&mut cell);
        let study = Study { cells: vec![cell.clone()], ..Study::default() };
        let drawn = charts(&[&cell, &Cell::default()], "", &Identities::of(&study));
        let [chart] = &drawn[..] else { panic!("one store had a fault") };
        let series = chart.option["series"].as_array().unwrap();
        let median = series.iter().find(|line| line["name"] == "median of the trials").unwrap();
        assert_eq!(median["markLine"]["data"][0]["name"], "node2 kill");
        assert_eq!(median["markLine"]["data"][0]["xAxis"], 3.5, "between 3 s and 4 s");
        for point in median["data"].as_array().unwrap() {
            let (at_s, rate) = (point[0].as_f64().unwrap() - 3.5, point[1].as_f64().unwrap());
            let is_dark = (0.11..0.89).contains(&at_s);
            assert!(!is_dark || rate == 0.0, "both are dark for 1 s: {rate} at {at_s}");
            assert!((-0.11..1.11).contains(&at_s) || (rate - 100.0).abs() < 1.0, "{rate} at {at_s}");
        }
        let band = series.iter().find(|line| line["name"] == "keys without answers").unwrap();
        assert_eq!((&band["data"][1][0], &band["data"][1][1]), (&3.5.into(), &25.0.into()));
        assert!(chart.table.rows[0][3].starts_with("1.00 s"), "{:?}", chart.table.rows);
    }
}
