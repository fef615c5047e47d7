//! What a swept parameter does: a figure against its values, a line for each store; and a grid of store x operation.

use crate::chart::{Chart, DataTable, slug};
use crate::figures;
use crate::identity::{Identities, study_label};
use analysis::{Metric, Unit};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use study::{Cell, Study};

/// Pictures in one grid.
const MOST_FACETS: usize = 48;
/// Combinations of other parameters that get a picture.
const MOST_COMBINATIONS: usize = 24;

/// A parameter with several values in the study.
struct Axis {
    key: String,
    values: Vec<String>,
}

impl Axis {
    fn numbers(&self) -> Option<Vec<f64>> {
        self.values.iter().map(|value| number(value)).collect()
    }
}

/// All charts of a study in which something varies.
pub(crate) fn charts(study: &Study, identities: &Identities) -> Vec<Chart> {
    let cells: Vec<&Cell> = study.cells.iter().filter(|cell| !cell.baseline).collect();
    let axes = axes(study, &cells);
    // The parameter with the most values runs along; numbers before words.
    let Some(along) = axes.iter().max_by_key(|axis| (axis.numbers().is_some(), axis.values.len())) else {
        return Vec::new();
    };
    let others: Vec<&Axis> = axes.iter().filter(|axis| axis.key != along.key).collect();
    let mut metrics: Vec<Metric> = cells.iter().map(|cell| Metric::ranking(cell)).collect();
    metrics.extend([Metric::OpsPerS, Metric::P99]);
    let mut known = BTreeSet::new();
    metrics.retain(|metric| known.insert(*metric) && cells.iter().any(|cell| metric.of_cell(cell).is_some()));
    let mut charts: Vec<Chart> =
        metrics.into_iter().filter_map(|metric| overlay(metric, &cells, along, &others, identities)).collect();
    if others.is_empty() {
        charts.extend(by_operation(&cells, along, identities));
    }
    charts
}

/// The keys that vary: those the study names, else the parameters that differ between cells.
fn axes(study: &Study, cells: &[&Cell]) -> Vec<Axis> {
    let mut keys: Vec<String> = study.varied.iter().map(|varied| varied.key.clone()).collect();
    if keys.is_empty() {
        keys = cells.iter().flat_map(|cell| cell.params.keys()).cloned().collect::<BTreeSet<_>>().into_iter().collect();
        // A search tries rates of its own; it has a chart of its own.
        keys.retain(|key| study.rate_search.is_empty() || key != "rate");
    }
    let axis = |key: String| {
        let mut values: Vec<String> = Vec::new();
        for value in cells.iter().filter_map(|cell| value_of(cell, &key)) {
            if !values.iter().any(|it| it == value) {
                values.push(value.to_owned());
            }
        }
        if values.iter().all(|value| number(value).is_some()) {
            values.sort_by(|a, b| number(a).unwrap_or_default().total_cmp(&number(b).unwrap_or_default()));
        }
        Axis { key, values }
    };
    keys.into_iter().map(axis).filter(|axis| axis.values.len() > 1).collect()
}

fn value_of<'a>(cell: &'a Cell, key: &str) -> Option<&'a str> {
    cell.varied.get(key).or_else(|| cell.params.get(key)).map(String::as_str)
}

/// `64`, `1.5`, `64KiB`: numbers with a unit of bytes are numbers too.
fn number(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    digits.parse::<f64>().ok().filter(|it| it.is_finite()).map(|it| it * unit)
}

/// The store's spec without the options that vary, so that its cells are one line.
fn line_name(cell: &Cell) -> String {
    let kept = |option: &&str| option.split_once('=').is_none_or(|(key, _)| !cell.varied.contains_key(key));
    let name = cell.store.split(',').filter(kept).collect::<Vec<_>>().join(",");
    match study_label(cell) {
        Some(study) => format!("{name} · {study}"),
        None => name,
    }
}

fn line_names(cells: &[&Cell]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in cells.iter().map(|cell| line_name(cell)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A metric against the values: one picture for each combination of the other parameters, a line for each store.
fn overlay(metric: Metric, cells: &[&Cell], along: &Axis, others: &[&Axis], identities: &Identities) -> Option<Chart> {
    let mut combinations: Vec<String> = Vec::new();
    for cell in cells {
        let name = combination(cell, others);
        if !combinations.contains(&name) {
            combinations.push(name);
        }
    }
    let all = combinations.len();
    combinations.truncate(MOST_COMBINATIONS);
    let figure = |cell: &Cell| metric.of_cell(cell).filter(|_| cell.verdict.is_ranked());
    let mut facets = Facets::new(along, metric.unit());
    let mut table = DataTable::new(["Store", &along.key, "Others", "Median", "Interval"]);
    for title in &combinations {
        facets.begin(title, "all");
        for name in line_names(cells) {
            let own: Vec<&Cell> = cells
                .iter()
                .copied()
                .filter(|cell| line_name(cell) == name && combination(cell, others) == *title)
                .collect();
            let Some(first) = own.first() else { continue };
            let points: Vec<Point> = own
                .iter()
                .filter_map(|cell| {
                    let it = figure(cell)?;
                    Some(Point {
                        value: value_of(cell, &along.key)?,
                        figure: it.value,
                        interval: (it.level > 0.0).then_some((it.low, it.high)),
                    })
                })
                .collect();
            facets.line(&name, identities.line(first), points);
            for cell in own {
                let it = figure(cell);
                table.rows.push(vec![
                    name.clone(),
                    value_of(cell, &along.key).unwrap_or("–").to_owned(),
                    title.clone(),
                    it.map_or(cell.verdict.status.to_string(), |it| figures::value(it.value, metric.unit())),
                    it.map_or("–".into(), |it| figures::interval(&it, metric.unit())),
                ]);
            }
        }
    }
    let drawn = if all > MOST_COMBINATIONS {
        format!(" {MOST_COMBINATIONS} of {all} combinations are drawn; all are in the table of cells.")
    } else {
        String::new()
    };
    facets.chart(
        format!("{} against {}", figures::title(metric), along.key),
        format!("A line for each store, medians with their intervals. Void cells are left out.{drawn}"),
        table,
    )
}

fn combination(cell: &Cell, others: &[&Axis]) -> String {
    let each = others.iter().filter_map(|axis| Some(format!("{}={}", axis.key, value_of(cell, &axis.key)?)));
    each.collect::<Vec<_>>().join(" ")
}

/// A grid of pictures, operations (or phases) down, stores across: rate of each timed phase where there are several, else the 99th
/// percentile of each kind of operation. The pictures of one operation have one scale.
fn by_operation(cells: &[&Cell], along: &Axis, identities: &Identities) -> Option<Chart> {
    let phases = timed_phases(cells);
    let (names, unit, what): (Vec<String>, Unit, &str) = if phases.len() > 1 {
        (phases, Unit::PerSecond, "Operations per second of each phase")
    } else {
        let operations: BTreeSet<&String> = cells.iter().flat_map(|cell| cell.latency_ns.by_operation.keys()).collect();
        (operations.into_iter().cloned().collect(), Unit::Nanoseconds, "99th percentile of response time by operation")
    };
    let stores = line_names(cells);
    if names.len() < 2 || names.len() * stores.len() > MOST_FACETS {
        return None;
    }
    let figure = |cell: &Cell, name: &str| match unit {
        Unit::PerSecond => phase_rate(cell, name),
        _ => cell.latency_ns.by_operation.get(name).filter(|it| it.n > 0).map(|it| it.p99 as f64),
    };
    let mut facets = Facets::new(along, unit);
    facets.columns = stores.len();
    let mut table = DataTable::new(["Store", "Operation", &along.key, "Median"]);
    for name in &names {
        for store in &stores {
            facets.begin(&format!("{name} · {store}"), name);
            let own: Vec<&Cell> =
                cells.iter().copied().filter(|cell| line_name(cell) == *store && cell.verdict.is_ranked()).collect();
            let Some(first) = own.first() else { continue };
            let points: Vec<Point> = own
                .iter()
                .filter_map(|cell| {
                    Some(Point { value: value_of(cell, &along.key)?, figure: figure(cell, name)?, interval: None })
                })
                .collect();
            table.rows.extend(
                points
                    .iter()
                    .map(|it| vec![store.clone(), name.clone(), it.value.to_owned(), figures::value(it.figure, unit)]),
            );
            facets.line(store, identities.line(first), points);
        }
    }
    facets.legend = false;
    facets.chart(
        format!("{what}, against {}", along.key),
        "Operations down, stores across; the pictures of one operation have one scale.".into(),
        table,
    )
}

fn timed_phases(cells: &[&Cell]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for phase in cells.iter().flat_map(|cell| cell.counted()).flat_map(|trial| &trial.phases) {
        if phase.timed && phase.operations > 0 && !names.contains(&phase.name) {
            names.push(phase.name.clone());
        }
    }
    names
}

/// Median over trials of a phase's rate.
fn phase_rate(cell: &Cell, name: &str) -> Option<f64> {
    let of_phase = |trial: &study::TrialRecord| {
        let phase = trial.phases.iter().find(|phase| phase.name == name && phase.elapsed_s > 0.0)?;
        Some(phase.operations as f64 / phase.elapsed_s)
    };
    stats::median(&cell.counted().filter_map(of_phase).collect::<Vec<f64>>())
}

struct Point<'a> {
    value: &'a str,
    figure: f64,
    interval: Option<(f64, f64)>,
}

/// Pictures with the same axis along; `assets/chart.js` places them by the width there is.
struct Facets<'a> {
    along: &'a Axis,
    unit: Unit,
    columns: usize,
    legend: bool,
    titles: Vec<String>,
    /// Pictures of one scale.
    scales: Vec<String>,
    series: Vec<Value>,
    tops: Vec<f64>,
    least: f64,
    words: Vec<String>,
}

impl<'a> Facets<'a> {
    fn new(along: &'a Axis, unit: Unit) -> Facets<'a> {
        Facets {
            along,
            unit,
            columns: 3,
            legend: true,
            titles: Vec::new(),
            scales: Vec::new(),
            series: Vec::new(),
            tops: Vec::new(),
            least: f64::INFINITY,
            words: Vec::new(),
        }
    }

    fn begin(&mut self, title: &str, scale: &str) {
        self.titles.push(title.to_owned());
        self.scales.push(scale.to_owned());
        self.tops.push(0.0);
    }

    fn line(&mut self, name: &str, mut line: Value, points: Vec<Point<'_>>) {
        let at = self.titles.len() - 1;
        let numbers = self.along.numbers().is_some();
        let x = |value: &str| if numbers { number(value).map_or(json!(value), |it| json!(it)) } else { json!(value) };
        let mut sorted: Vec<&Point<'_>> = points.iter().filter(|it| it.figure > 0.0).collect();
        sorted.sort_by_key(|point| self.along.values.iter().position(|value| value == point.value));
        for point in &sorted {
            self.tops[at] = self.tops[at].max(point.interval.map_or(point.figure, |it| it.1.max(point.figure)));
            self.least = self.least.min(point.figure);
        }
        if let (Some(first), Some(last)) = (sorted.first(), sorted.last()) {
            let value = |point: &Point<'_>| figures::value(point.figure, self.unit);
            self.words.push(format!(
                "{name}{}{}: {} at {}, {} at {}",
                if self.titles[at].is_empty() { "" } else { ", " },
                self.titles[at],
                value(first),
                first.value,
                value(last),
                last.value
            ));
        }
        line["name"] = name.into();
        line["xAxisIndex"] = at.into();
        line["yAxisIndex"] = at.into();
        line["data"] = sorted.iter().map(|it| json!([x(it.value), it.figure])).collect();
        let colour = line["itemStyle"]["color"].clone();
        self.series.push(line);
        let whiskers: Vec<Value> = sorted
            .iter()
            .filter_map(|it| it.interval.map(|(low, high)| json!([x(it.value), it.figure, low, high])))
            .collect();
        if !whiskers.is_empty() {
            self.series.push(
                json!({ "type": "custom", "renderItem": "@whisker.y", "name": name, "data": whiskers, "silent": true,
                "encode": { "x": 0, "y": [2, 3] }, "xAxisIndex": at, "yAxisIndex": at, "itemStyle": { "color": colour },
                "tooltip": { "show": false } }),
            );
        }
    }

    fn chart(self, title: String, note: String, table: DataTable) -> Option<Chart> {
        if self.series.is_empty() || self.tops.iter().all(|top| *top <= 0.0) {
            return None;
        }
        let top_of = |at: usize| {
            let same = self.scales.iter().zip(&self.tops).filter(|(scale, _)| **scale == self.scales[at]);
            same.map(|(_, top)| *top).fold(0.0, f64::max)
        };
        let most = self.tops.iter().copied().fold(0.0, f64::max);
        // Lines that differ a hundredfold would lie on the ground.
        let logarithmic = most > 60.0 * self.least;
        let unit = figures::chart_unit(self.unit);
        let x = |at: usize| {
            let axis = match self.along.numbers() {
                Some(numbers) => {
                    let (least, most) =
                        numbers.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &it| (low.min(it), high.max(it)));
                    let geometric = least > 0.0 && most >= 8.0 * least;
                    json!({ "type": if geometric { "log" } else { "value" }, "logBase": 2, "min": least, "max": most,
                            "axisLabel": { "formatter": "@number.axis" }, "scale": true })
                }
                None => json!({ "type": "category", "data": self.along.values }),
            };
            let mut axis = axis;
            axis["gridIndex"] = at.into();
            axis["name"] = self.along.key.as_str().into();
            axis["nameLocation"] = "middle".into();
            axis["nameGap"] = 24.into();
            axis
        };
        let y = |at: usize| {
            let mut axis = json!({ "type": if logarithmic { "log" } else { "value" }, "gridIndex": at, "splitNumber": 4,
                                   "axisLabel": { "formatter": format!("@{unit}.axis") } });
            if !logarithmic {
                axis["min"] = 0.into();
                axis["max"] = rounded_up(top_of(at)).into();
            }
            axis
        };
        let n = self.titles.len();
        let mut words = self.words;
        words.truncate(10);
        Some(Chart {
            id: slug(&title),
            note,
            description: format!("{title}. {}.", words.join("; ")),
            height: 320,
            option: json!({
                "facets": { "columns": if n == 1 { 1 } else { self.columns }, "titles": self.titles, "legend": self.legend },
                "grid": (0..n).map(|_| json!({})).collect::<Vec<_>>(),
                "xAxis": (0..n).map(x).collect::<Vec<_>>(),
                "yAxis": (0..n).map(y).collect::<Vec<_>>(),
                "legend": { "show": self.legend, "top": 4, "left": 8, "right": 8 },
                "tooltip": { "trigger": "axis", "valueFormatter": format!("@{unit}.value") },
                "series": self.series,
            }),
            title,
            table,
        })
    }
}

/// The next of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten.
fn rounded_up(top: f64) -> f64 {
    if top <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(top.log10().floor());
    let step =
        [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0].into_iter().find(|step| step * power >= top * 0.9999);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::{number, rounded_up};

    #[test]
    fn sizes_are_numbers_and_words_are_not() {
        assert_eq!(
            [number("64"), number("2KiB"), number("1.5"), number("os"), number("")],
            [Some(64.0), Some(2048.0), Some(1.5), None, None]
        );
    }

    #[test]
    fn scales_end_at_a_round_number_above_the_highest_point() {
        assert_eq!(
            [rounded_up(7.3), rounded_up(1234.0), rounded_up(0.0), rounded_up(100.0)],
            [8.0, 1500.0, 1.0, 100.0]
        );
    }
}
