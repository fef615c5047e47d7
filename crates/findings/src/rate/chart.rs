//! The hockey stick: offered rate against response time, for each store whose highest rate was looked for.

use crate::chart::{Chart, DataTable, slug};
use crate::draw::bars::WIDEST_LINEAR;
use crate::figures;
use analysis::Unit;
use serde_json::{Value, json};
use study::{RateSearch, Study};

/// Returns one chart per search.
pub(crate) fn charts(study: &Study) -> Vec<Chart> {
    study.rate_search.iter().filter(|search| !search.points.is_empty()).map(chart).collect()
}

fn chart(search: &RateSearch) -> Chart {
    let sentence = super::sentences::sentence(search);
    let line = |name: &str, colour: &str, dash: &str, figure: fn(&study::RatePoint) -> f64| {
        let data: Vec<Value> = search
            .points
            .iter()
            .filter(|point| figure(point) > 0.0)
            .map(|point| json!([point.offered_ops_per_s, figure(point)]))
            .collect();
        json!({ "type": "line", "name": name, "data": data, "symbolSize": 6, "itemStyle": { "color": colour },
                "lineStyle": { "type": dash, "width": 2 } })
    };
    let mut series = vec![
        line("50 %", "$c2", "dotted", |point| point.p50_ns),
        line("99 %", "$c0", "solid", |point| point.p99_ns),
        line("99.9 %", "$c1", "dashed", |point| point.p99_9_ns),
    ];
    if let Some(rate) = search.rate {
        let name = format!("highest rate: {}", figures::value(rate.value, Unit::PerSecond));
        series[1]["markLine"] = json!({ "silent": true, "symbol": "none", "lineStyle": { "color": "$ink", "type": "dashed" },
            "label": { "formatter": name, "color": "$ink", "position": "insideStartTop" }, "data": [{ "xAxis": rate.value }] });
    }
    // A search that begins far below the edge would crowd its first steps at 0.
    let offered = search.points.iter().map(|point| point.offered_ops_per_s);
    let (least, most) = offered.fold((f64::INFINITY, 0.0f64), |(low, high), it| (low.min(it), high.max(it)));
    let wide = most > WIDEST_LINEAR * least;
    let mut table = DataTable::new(["Offered", "Achieved", "50 %", "99 %", "99.9 %", "Within the bound"]);
    for point in &search.points {
        let ns = |ns: f64| figures::value(ns, Unit::Nanoseconds);
        table.rows.push(vec![
            figures::value(point.offered_ops_per_s, Unit::PerSecond),
            figures::value(point.achieved_ops_per_s, Unit::PerSecond),
            ns(point.p50_ns),
            ns(point.p99_ns),
            ns(point.p99_9_ns),
            format!("{} of {}", point.within, point.n),
        ]);
    }
    Chart {
        id: slug(&format!("rate search {}", super::sentences::label(search))),
        title: format!("{}: response time against offered rate", super::sentences::label(search)),
        note: sentence.clone(),
        description: sentence,
        height: 340,
        option: json!({
            "grid": { "left": 8, "right": 28, "top": 40, "bottom": 44, "containLabel": true },
            "legend": { "top": 4, "left": 8 },
            "xAxis": { "type": if wide { "log" } else { "value" }, "min": if wide { Value::Null } else { json!(0) }, "name": format!("{} due per second", search.counts.noun()), "nameLocation": "middle", "nameGap": 26,
                       "axisLabel": { "formatter": "@rate.axis" } },
            "yAxis": { "type": "log", "axisLabel": { "formatter": "@ns.axis" } },
            "tooltip": { "trigger": "axis", "valueFormatter": "@ns.value" },
            "series": series,
        }),
        table,
    }
}
