//! Percentiles against the exact values behind them.

use crate::test::{Scope, Test};
use data::wyrand::WyRand;
use measure::Histogram;
use study::Tolerance;

pub(crate) fn tests() -> [Test; 1] {
    [Test {
        name: "histogram_error",
        claim: "latencies from 1 ns to 1 h and their percentiles are shown within 1 % of the exact values",
        unit: "%",
        bound: Tolerance::at_most(1.0),
        scope: Scope::Quick,
        attempts: 1,
        measure: Box::new(|_, _| Ok(100.0 * single_values().max(percentiles()))),
    }]
}

/// Largest relative error of a single value, over the whole range.
fn single_values() -> f64 {
    let (steps, hour_ns) = (2000, 3.6e12f64);
    (0..=steps)
        .map(|step| {
            let exact = (hour_ns.ln() * f64::from(step) / f64::from(steps)).exp().round() as u64;
            let mut histogram = Histogram::default();
            // A second, larger value, so that the percentile is read from a bucket and not from the exact maximum.
            histogram.record(exact);
            histogram.record(4_000_000_000_000);
            (histogram.quantile(0.5) as f64 / exact as f64 - 1.0).abs()
        })
        .fold(0.0, f64::max)
}

/// Largest relative error of percentiles of skewed values.
fn percentiles() -> f64 {
    let mut random = WyRand::new(2009, 0);
    let mut histogram = Histogram::default();
    let mut exact: Vec<u64> = (0..100_000)
        .map(|_| {
            let unit = (random.u64() >> 11) as f64 / (1u64 << 53) as f64;
            (50_000.0 / (1.0 - unit).powf(0.7)) as u64
        })
        .collect();
    exact.iter().for_each(|&ns| histogram.record(ns));
    exact.sort_unstable();
    [0.5, 0.9, 0.95, 0.99, 0.999]
        .map(|share| {
            let rank = (share * exact.len() as f64).ceil() as usize - 1;
            (histogram.quantile(share) as f64 / exact[rank] as f64 - 1.0).abs()
        })
        .into_iter()
        .fold(0.0, f64::max)
}
