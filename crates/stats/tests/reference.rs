//! Agreement with SciPy and NumPy on the cases of `data/reference.csv`, which `data/reference.py` wrote.

#![allow(clippy::unwrap_used)]

use stats::{
    Bootstrap, Permutations, Statistic, autocorrelation, holm, median, median_interval, median_ratio,
    modified_z_scores, permutation_test, proportion, quantile,
};
use std::collections::BTreeMap;

struct Case<'a> {
    line: &'a str,
    function: &'a str,
    a: Vec<f64>,
    b: Vec<f64>,
    parameter: &'a str,
    expected: Vec<f64>,
}

impl Case<'_> {
    fn agree(&self, got: &[f64], tolerance: f64) {
        assert_eq!(got.len(), self.expected.len(), "{}", self.line);
        for (got, expected) in got.iter().zip(&self.expected) {
            assert!((got - expected).abs() <= tolerance * expected.abs().max(1.0), "got {got} for {}", self.line);
        }
    }

    fn level(&self) -> f64 {
        self.parameter.parse().unwrap()
    }
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

#[test]
fn every_function_agrees_with_scipy() {
    let mut seen = BTreeMap::<&str, u32>::new();
    for line in include_str!("data/reference.csv").lines().skip(1) {
        let [function, a, b, parameter, expected] = line.split(',').collect::<Vec<_>>().try_into().unwrap();
        let case = Case { line, function, a: numbers(a), b: numbers(b), parameter, expected: numbers(expected) };
        check(&case);
        *seen.entry(function).or_default() += 1;
    }
    assert_eq!(seen.len(), 13, "{seen:?}");
    assert!(seen.values().all(|&cases| cases > 0) && seen["quantile"] == 42, "{seen:?}");
}

fn check(case: &Case<'_>) {
    let (a, b) = (&case.a, &case.b);
    let exact = |statistic| permutation_test(a, b, statistic, Permutations::default()).unwrap();
    match case.function {
        "median" => case.agree(&[median(a).unwrap()], 0.0),
        "quantile" => case.agree(&[quantile(a, case.level()).unwrap()], 1e-15),
        "modified_z_scores" => case.agree(&modified_z_scores(a), 1e-12),
        // Both sides resample, so the ends agree as far as 40,000 and 200,000 resamples allow.
        "bca_mean" | "bca_median" => {
            let bootstrap = Bootstrap { level: case.level(), resamples: 40_000, seed: 3 };
            let statistic = |samples: &[f64]| match case.function {
                "bca_mean" => samples.iter().sum::<f64>() / samples.len() as f64,
                _ => median(samples).unwrap(),
            };
            let got = bootstrap.interval(a, statistic).unwrap();
            case.agree(&[got.low, got.high], 0.004);
        }
        "median_interval" => {
            let got = median_interval(a, case.level()).unwrap();
            case.agree(&[got.value, got.low, got.high, got.level], 1e-12);
        }
        "median_ratio" => {
            let got = median_ratio(a, b, Bootstrap { level: case.level(), resamples: 40_000, seed: 3 }).unwrap();
            case.agree(&[got.value, got.low, got.high], 0.01);
        }
        "permutation_mean" => case.agree(&[exact(Statistic::Mean)], 1e-12),
        "permutation_rank" => case.agree(&[exact(Statistic::Rank)], 1e-12),
        "permutation_drawn" => case.agree(&[exact(Statistic::Rank)], 0.005),
        "autocorrelation" => {
            case.agree(&[autocorrelation(a, case.parameter.parse().unwrap()).unwrap()], 1e-12);
        }
        "proportion" => {
            let got = proportion(a[0] as usize, a[1] as usize, case.level()).unwrap();
            case.agree(&[got.value, got.low, got.high], 1e-12);
        }
        "holm" => case.agree(&holm(a), 1e-12),
        other => panic!("no such function: {other}"),
    }
}
