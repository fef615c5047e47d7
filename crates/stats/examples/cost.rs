//! What the statistics cost: `cargo run --release -p kvtrial-stats --example cost`.

use stats::{Bootstrap, ChangePlan, Detection, Permutations, Statistic};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let trials = |n: u64, seed: u64| -> Vec<f64> {
        (0..n).map(|i| 1.0 + ((i + seed) * 7919 % 1009) as f64 / 10_000.0).collect()
    };
    for n in [5, 10, 30] {
        let (a, b) = (trials(n, 1), trials(n, 500));
        let detection = Detection::default();
        cost(&format!("median interval, {n}"), || _ = black_box(stats::median_interval(&a, 0.95)));
        cost(&format!("ratio, {n} and {n}"), || _ = black_box(stats::median_ratio(&a, &b, Bootstrap::default())));
        cost(&format!("permutation test, {n} and {n}"), || {
            black_box(stats::permutation_test(&a, &b, Statistic::Rank, Permutations::default()));
        });
        cost(&format!("smallest detectable, {n} and {n}"), || _ = black_box(detection.smallest(&a, &b)));
        cost(&format!("repeats needed for 2 %, {n} and {n}"), || {
            black_box(detection.repeats_needed(&a, &b, 1.02));
        });
    }
    let curve = trials(600, 3);
    cost("change points, 600 values", || _ = black_box(stats::change_points(&curve, ChangePlan::default())));
}

/// The shortest of some calls: anything else on the machine only adds.
fn cost(what: &str, call: impl Fn()) {
    let once = || {
        let start = Instant::now();
        call();
        start.elapsed()
    };
    let shortest = std::iter::repeat_with(once).take(7).min().unwrap_or_default();
    println!("{what:40} {shortest:.1?}");
}
