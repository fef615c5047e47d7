//! The hockey stick: offered rate against response time, for each store whose highest rate was looked for.

use crate::chart::{Chart, DataTable, slug};
use crate::draw::axes::{self, extent, named, scale, tooltip};
use crate::draw::bars::WIDEST_LINEAR;
use crate::figures;
use analysis::Unit;
use serde_json::{Value, json};
use study::{RatePoint, RateSearch, Study};

/// Returns one chart per search.
pub(crate) fn charts(study: &Study) -> Vec<Chart> {
    study.rate_search.iter().filter(|search| !search.points.is_empty()).map(chart).collect()
}

fn chart(search: &RateSearch) -> Chart {
    let sentence = super::sentences::sentence(search);
    let line = |name: &str, colour: &str, dash: &str, figure: fn(&RatePoint) -> f64| {
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
    let (least, most) = extent(search.points.iter().map(|point| point.offered_ops_per_s));
    let offered = scale(most > WIDEST_LINEAR * least, "rate");
    let row = |point: &RatePoint| {
        let [offered, achieved] =
            [point.offered_ops_per_s, point.achieved_ops_per_s].map(|it| figures::value(it, Unit::PerSecond));
        let [p50, p99, p99_9] =
            [point.p50_ns, point.p99_ns, point.p99_9_ns].map(|it| figures::value(it, Unit::Nanoseconds));
        [offered, achieved, p50, p99, p99_9, format!("{} of {}", point.within, point.n)]
    };
    let columns = ["Offered", "Achieved", "50 %", "99 %", "99.9 %", "Within the bound"];
    Chart {
        id: slug(&format!("rate search {}", super::sentences::label(search))),
        title: format!("{}: response time against offered rate", super::sentences::label(search)),
        note: sentence.clone(),
        description: sentence,
        height: 340,
        option: axes::chart(
            named(offered, format!("{} due per second", search.counts.noun())),
            scale(true, "ns"),
            tooltip("ns"),
            series,
        ),
        table: DataTable::of(columns, search.points.iter().map(row)),
    }
}
