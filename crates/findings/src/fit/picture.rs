//! Lines and steps over a number: what pictures of a trace have in common.

use crate::chart::{Chart, DataTable};
use serde_json::{Value, json};

/// Points of a line: more than a picture can show.
const MOST_POINTS: usize = 400;
/// The height of a picture in CSS pixels.
const HEIGHT: u32 = 300;

/// How an axis is divided.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    Logarithmic,
}

/// An axis.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub(super) name: &'static str,
    /// The unit, as `assets/chart.js` has it.
    pub(super) unit: &'static str,
    pub(super) scale: Scale,
}

/// The way from one point to the next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Straight,
    /// As before, until the next point: a share of the values.
    Steps,
}

/// A line.
pub(super) struct FitLine {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// A picture before it is made.
pub(super) struct Picture {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) note: &'static str,
    pub(super) description: String,
    pub(super) axes: [Axis; 2],
    pub(super) lines: Vec<FitLine>,
    pub(super) way: Way,
    /// Ranges of the first axis that are marked.
    pub(super) marks: Vec<[f64; 2]>,
    pub(super) table: DataTable,
}

/// Returns no more points than can be seen: the first, the last, and some between.
pub(super) fn thin(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let count = points.len();
    match count <= MOST_POINTS {
        true => points,
        false => (0..MOST_POINTS).map(|at| points[at * (count - 1) / (MOST_POINTS - 1)]).collect(),
    }
}

/// Returns the share of the values up to each, in percent: the values are in order.
pub(super) fn shares<T: Copy + PartialEq>(sorted: &[T], number: impl Fn(T) -> f64) -> Vec<(f64, f64)> {
    let all = sorted.len().max(1) as f64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (at, &value) in sorted.iter().enumerate() {
        if sorted.get(at + 1) != Some(&value) {
            points.push((number(value), 100.0 * (at + 1) as f64 / all));
        }
    }
    thin(points)
}

impl Axis {
    fn option(self, side: &str) -> Value {
        let kind = if self.scale == Scale::Logarithmic { "log" } else { "value" };
        let gap = if side == "x" { 26 } else { 44 };
        json!({
            "type": kind, "name": self.name, "nameLocation": "middle", "nameGap": gap, "min": if kind == "log" { Value::Null } else { json!(0) },
            "axisLabel": { "formatter": format!("@{}.axis", self.unit) },
        })
    }
}

impl Picture {
    /// Makes the chart.
    pub(super) fn chart(self) -> Chart {
        let [x, y] = self.axes;
        let is_drawn = |&(at, value): &(f64, f64)| {
            (x.scale == Scale::Linear || at > 0.0) && (y.scale == Scale::Linear || value > 0.0)
        };
        let lines = self.lines.into_iter().enumerate().map(|(at, line)| {
            let data: Vec<Value> = line.points.into_iter().filter(is_drawn).map(|(x, y)| json!([x, y])).collect();
            let mut series = json!({
                "type": "line", "name": line.name, "showSymbol": data.len() < 2, "data": data,
                "lineStyle": { "width": 2, "type": if at == 0 { "solid" } else { "dashed" } }, "itemStyle": { "color": format!("$c{at}") },
            });
            if self.way == Way::Steps {
                series["step"] = "end".into();
            }
            if at == 0 && !self.marks.is_empty() {
                let areas: Vec<Value> = self.marks.iter().map(|[from, to]| json!([{ "xAxis": from }, { "xAxis": to }])).collect();
                series["markArea"] = json!({ "silent": true, "itemStyle": { "color": "$stall" }, "data": areas });
            }
            series
        });
        let series: Vec<Value> = lines.collect();
        let legend = if series.len() > 1 { json!({ "top": 4, "left": 8, "right": 8 }) } else { Value::Null };
        let mut option = json!({
            "grid": { "left": 30, "right": 28, "top": if series.len() > 1 { 40 } else { 16 }, "bottom": 44, "containLabel": true },
            "xAxis": x.option("x"), "yAxis": y.option("y"),
            "tooltip": { "trigger": "axis", "valueFormatter": format!("@{}.value", y.unit) },
            "series": series,
        });
        if !legend.is_null() {
            option["legend"] = legend;
        }
        crate::chart::shorten(&mut option);
        Chart {
            id: self.id.into(),
            title: self.title.into(),
            note: self.note.into(),
            description: self.description,
            height: HEIGHT,
            option,
            table: self.table,
        }
    }
}
