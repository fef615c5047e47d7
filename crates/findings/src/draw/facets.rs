//! A grid of pictures with the same parameter along: what a sweep is drawn as.

use crate::chart::{Chart, DataTable, slug};
use crate::figures;
use analysis::Unit;
use serde_json::{Value, json};

/// Lines of one picture drawn with their points and intervals.
pub(crate) const MOST_MARKED_LINES: usize = 16;

/// A parameter with several values in the study.
pub(crate) struct FacetAxis {
    pub key: String,
    pub values: Vec<String>,
}

impl FacetAxis {
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.values.iter().map(|value| number(value)).collect()
    }
}

/// Returns `64`, `1.5`, `64KiB`: numbers with a unit of bytes are numbers too.
pub(crate) fn number(text: &str) -> Option<f64> {
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

/// A figure at one value.
pub(crate) struct Point<'a> {
    pub value: &'a str,
    pub figure: f64,
    pub interval: Option<(f64, f64)>,
}

/// Pictures with the same horizontal axis; `assets/chart.js` places them by the width there is.
pub(crate) struct Facets<'a> {
    along: &'a FacetAxis,
    unit: Unit,
    pub columns: usize,
    pub legend: bool,
    titles: Vec<String>,
    /// Pictures with the same word have one scale.
    scales: Vec<String>,
    series: Vec<Value>,
    tops: Vec<f64>,
    /// Lowest figure of each picture.
    floors: Vec<f64>,
    words: Vec<String>,
}

impl<'a> Facets<'a> {
    pub fn new(along: &'a FacetAxis, unit: Unit) -> Facets<'a> {
        Facets {
            along,
            unit,
            columns: 3,
            legend: true,
            titles: Vec::new(),
            scales: Vec::new(),
            series: Vec::new(),
            tops: Vec::new(),
            floors: Vec::new(),
            words: Vec::new(),
        }
    }

    pub fn begin(&mut self, title: &str, scale: &str) {
        self.titles.push(title.to_owned());
        self.scales.push(scale.to_owned());
        self.tops.push(0.0);
        self.floors.push(f64::INFINITY);
    }

    pub fn line(&mut self, name: &str, mut line: Value, points: Vec<Point<'_>>) {
        let at = self.titles.len() - 1;
        let numbers = self.along.numbers().is_some();
        let x = |value: &str| if numbers { number(value).map_or(json!(value), |it| json!(it)) } else { json!(value) };
        let mut sorted: Vec<&Point<'_>> = points.iter().filter(|it| it.figure > 0.0).collect();
        sorted.sort_by_key(|point| self.along.values.iter().position(|value| value == point.value));
        for point in &sorted {
            self.tops[at] = self.tops[at].max(point.interval.map_or(point.figure, |it| it.1.max(point.figure)));
            self.floors[at] = self.floors[at].min(point.interval.map_or(point.figure, |it| it.0.min(point.figure)));
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

    /// Whether a picture has more lines than points can distinguish.
    fn crowded(&self) -> bool {
        let lines = |at: usize| self.series.iter().filter(|it| it["type"] == "line" && it["xAxisIndex"] == at).count();
        (0..self.titles.len()).any(|at| lines(at) > MOST_MARKED_LINES)
    }

    pub fn chart(mut self, title: String, mut note: String, table: DataTable) -> Option<Chart> {
        if self.series.is_empty() || self.tops.iter().all(|top| *top <= 0.0) {
            return None;
        }
        if self.crowded() {
            self.series.retain(|series| series["type"] == "line");
            self.series.iter_mut().for_each(|line| line["showSymbol"] = false.into());
            note += " Points and intervals are not drawn: they would hide this many lines. The figures have both.";
        }
        // Pictures that share a scale have the same ends, whatever kind of axis it is.
        let ends_of = |at: usize| {
            let same = (0..self.titles.len()).filter(|other| self.scales[*other] == self.scales[at]);
            same.fold((f64::INFINITY, 0.0f64), |(low, high), it| (low.min(self.floors[it]), high.max(self.tops[it])))
        };
        let most = self.tops.iter().copied().fold(0.0, f64::max);
        let least = self.floors.iter().copied().filter(|floor| *floor > 0.0).fold(f64::INFINITY, f64::min);
        // On a linear axis the lower of two lines that differ a hundredfold would lie on the axis itself.
        let logarithmic = most > 60.0 * least;
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
            let (low, high) = ends_of(at);
            match logarithmic {
                true if high > 0.0 => {
                    let floor = power_below(if low > 0.0 { low } else { least });
                    axis["min"] = floor.into();
                    axis["max"] = (10.0 * power_below(high.next_down()).max(floor)).into();
                }
                true => {}
                false => {
                    axis["min"] = 0.into();
                    axis["max"] = rounded_up(high).into();
                }
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

/// The power of ten at or below a positive number.
fn power_below(number: f64) -> f64 {
    10f64.powf(number.log10().floor())
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
    use super::{FacetAxis, Facets, Point, number, rounded_up};
    use crate::chart::DataTable;
    use analysis::Unit;
    use serde_json::json;

    /// Four pictures, two of each operation, with these figures.
    fn ends(figures: [f64; 4]) -> Vec<(String, serde_json::Value, serde_json::Value)> {
        let along = FacetAxis { key: "clients".into(), values: vec!["1".into(), "2".into()] };
        let mut facets = Facets::new(&along, Unit::Nanoseconds);
        for (at, figure) in figures.into_iter().enumerate() {
            facets.begin(&at.to_string(), if at < 2 { "get" } else { "put" });
            let point = |value| Point { value, figure, interval: None };
            facets.line("redis", json!({ "type": "line" }), vec![point("1"), point("2")]);
        }
        let option = facets.chart("t".into(), "n".into(), DataTable::default()).map(|chart| chart.option);
        let axes = option.unwrap_or_default()["yAxis"].as_array().cloned().unwrap_or_default();
        axes.iter().map(|y| (y["type"].to_string(), y["min"].clone(), y["max"].clone())).collect()
    }

    #[test]
    fn pictures_of_one_operation_have_one_scale_on_either_kind_of_axis() {
        for (figures, kind) in [([100.0, 700.0, 20.0, 30.0], "\"value\""), ([100.0, 70_000.0, 20.0, 3e6], "\"log\"")] {
            let ends = ends(figures);
            assert_eq!(ends.len(), 4);
            assert!(ends.iter().all(|end| end.0 == kind && end.1.is_number() && end.2.is_number()), "{ends:?}");
            assert!(ends[0] == ends[1] && ends[2] == ends[3] && ends[0] != ends[2], "{ends:?}");
            for (figure, (_, least, most)) in figures.iter().zip(&ends) {
                assert!(
                    least.as_f64() <= Some(*figure) && Some(*figure) <= most.as_f64(),
                    "{figure} of {least} to {most}"
                );
            }
        }
    }

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
