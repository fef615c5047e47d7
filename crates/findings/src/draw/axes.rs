//! Axes, and what charts of lines share.

use serde_json::{Value, json};

/// Returns the least and the most of some figures; of none, what any figure would replace.
pub(crate) fn extent(figures: impl IntoIterator<Item = f64>) -> (f64, f64) {
    figures.into_iter().fold((f64::INFINITY, 0.0), |(low, high), it| (low.min(it), high.max(it)))
}

/// Returns the axis of figures in this unit of `assets/chart.js`: from 0, or logarithmic.
pub(crate) fn scale(logarithmic: bool, unit: &str) -> Value {
    json!({ "type": if logarithmic { "log" } else { "value" }, "min": if logarithmic { Value::Null } else { json!(0) },
            "axisLabel": { "formatter": format!("@{unit}.axis") } })
}

/// Returns an axis with its name below it.
pub(crate) fn named(mut axis: Value, name: impl Into<Value>) -> Value {
    axis["name"] = name.into();
    axis["nameLocation"] = "middle".into();
    axis["nameGap"] = 26.into();
    axis
}

/// Returns the axis of rows with these names, the first at the top.
pub(crate) fn rows(names: impl Into<Value>) -> Value {
    json!({ "type": "category", "inverse": true, "data": names.into(), "axisTick": { "show": false } })
}

/// Returns the chart of these series, which have a legend, over a horizontal axis with a name.
pub(crate) fn chart(x: Value, y: Value, tooltip: Value, series: Vec<Value>) -> Value {
    json!({
        "grid": { "left": 8, "right": 28, "top": 40, "bottom": if x["name"].is_null() { 30 } else { 44 }, "containLabel": true },
        "legend": { "top": 4, "left": 8, "right": 8 },
        "xAxis": x, "yAxis": y, "tooltip": tooltip, "series": series,
    })
}

/// Returns the tooltip of all lines at a place, with figures in this unit.
pub(crate) fn tooltip(unit: &str) -> Value {
    json!({ "trigger": "axis", "valueFormatter": format!("@{unit}.value") })
}

/// Returns the chart of rows, each with what the series draw in it.
pub(crate) fn chart_of_rows(x: Value, names: impl Into<Value>, tooltip: Value, series: Vec<Value>) -> Value {
    json!({
        "grid": { "left": 8, "right": 24, "top": 6, "bottom": 30, "containLabel": true },
        "xAxis": x, "yAxis": rows(names), "tooltip": tooltip, "series": series,
    })
}

/// Returns marks on the rows of such a chart: a figure and a row each.
pub(crate) fn marks(symbol: &str, data: Vec<Value>) -> Value {
    json!({ "type": "scatter", "symbol": symbol, "symbolSize": 11, "data": data, "encode": { "x": 0, "y": 1 }, "silent": true,
            "itemStyle": { "color": "$paper", "borderColor": "$ink", "borderWidth": 1.5 }, "z": 7 })
}

/// Returns whiskers on its rows: a figure, a row, and the ends of the interval each.
pub(crate) fn whiskers(data: Vec<Value>) -> Value {
    json!({ "type": "custom", "renderItem": "@whisker.x", "data": data, "encode": { "x": [2, 3], "y": 1 }, "silent": true,
            "itemStyle": { "color": "$ink" }, "z": 5 })
}

/// Returns the part of each stacked bar that has this name.
pub(crate) fn stack(name: &str, data: Value, colour: &str) -> Value {
    json!({ "type": "bar", "stack": "parts", "name": name, "data": data, "barWidth": "58%", "barMaxWidth": 20,
            "itemStyle": { "color": colour, "borderColor": "$paper", "borderWidth": 1 } })
}

/// Returns the chart of stacked bars; with a legend where these are several names.
pub(crate) fn stacked(rows: Vec<String>, unit: &str, most: Option<u32>, names: &[String], series: Vec<Value>) -> Value {
    let mut x = scale(false, unit);
    x["max"] = json!(most);
    let mut tooltip = tooltip(unit);
    tooltip["axisPointer"] = json!({ "type": "shadow" });
    let mut chart = chart_of_rows(x, rows, tooltip, series);
    if names.len() > 1 {
        chart["grid"]["top"] = 34.into();
        chart["legend"] = json!({ "top": 4, "left": 8, "right": 8, "data": names });
    }
    chart
}
