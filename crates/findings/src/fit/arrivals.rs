//! When requests come.

use super::picture::{Axis, FitLine, Picture, Scale, Way, thin};
use super::{TraceFit, finding};
use crate::block::Block;
use crate::chart::DataTable;
use crate::finding::Finding;
use study::whole;
use trace::fit;
use words::units;

/// Intervals of the picture.
const INTERVALS: usize = 120;

pub(super) fn find(fit: &TraceFit<'_>) -> Option<Finding> {
    let Some(it) = fit::arrivals(fit.trace) else {
        return finding("arrivals", "Arrivals", vec![Block::plain("the trace does not say when requests were made")]);
    };
    let bursts = match it.dispersion {
        Some(times) => format!("; the variance per second is {times:.1} times that of a Poisson process"),
        None => String::new(),
    };
    let [rate, most] = [it.per_s, it.most_in_a_second as f64].map(units::count);
    let text = format!("{rate} per second over {}, at most {most} in one{bursts}", units::duration(it.span_s));
    let interval_s = (it.span_s / INTERVALS as f64).max(1e-6);
    let mut counts = vec![0_u64; INTERVALS];
    for time_us in (0..fit.trace.ids().len()).filter_map(|request| fit.trace.time_us(request)) {
        counts[((time_us as f64 / 1e6 / interval_s) as usize).min(INTERVALS - 1)] += 1;
    }
    let rates: Vec<(f64, f64)> = (0..)
        .zip(&counts)
        .map(|(at, &count)| ((f64::from(at) + 0.5) * interval_s, count as f64 / interval_s))
        .collect();
    let rows = (0..).zip(&counts).map(|(at, &count)| [units::duration(f64::from(at) * interval_s), whole(count)]);
    let table = DataTable::of(["From", "Requests"], rows);
    let chart = Picture {
        id: "arrivals",
        title: "Arrivals",
        note: "Requests per second over the time of the trace.",
        description: format!("Arrivals: {text}."),
        axes: [
            Axis { name: "seconds since the first request", unit: "seconds", scale: Scale::Linear },
            Axis { name: "requests per second", unit: "count", scale: Scale::Linear },
        ],
        lines: vec![FitLine { name: "requests".into(), points: thin(rates) }],
        way: Way::Straight,
        marks: Vec::new(),
        table,
    };
    finding("arrivals", "Arrivals", vec![Block::plain(text), Block::Chart(chart.chart())])
}
