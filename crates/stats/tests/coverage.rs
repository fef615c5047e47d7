//! Do the intervals cover the truth as often as they claim? Thousands of simulated studies with noise as machines make it,
//! where the truth is known.

#![allow(clippy::unwrap_used)]

mod noise;

use noise::{Noise, makespan_median};
use stats::{
    Bootstrap, Estimate, Permutations, Statistic, effective_sample_size, median_interval, median_ratio,
    permutation_test,
};

/// A source of trials: its name, one trial, and the true median.
type Source = (&'static str, fn(&mut Noise) -> f64, f64);

fn sources() -> [Source; 3] {
    [
        ("lognormal 10 %", |noise| (0.1 * noise.normal()).exp(), 1.0),
        ("lognormal 50 %", |noise| (0.5 * noise.normal()).exp(), 1.0),
        ("makespans", Noise::makespan, makespan_median()),
    ]
}

/// Runs the studies and compares how often the truth was inside with the level the intervals state: 93 to 97 % for
/// 95 %, and three standard errors of the simulation for the lower levels of few trials.
fn assert_covers(name: &str, studies: u32, mut study: impl FnMut(u64) -> (Estimate, f64)) {
    let (mut covered, mut claimed) = (0, 0.0);
    for seed in 0..u64::from(studies) {
        let (estimate, truth) = study(seed);
        covered += u32::from(estimate.low <= truth && truth <= estimate.high);
        claimed = estimate.level;
    }
    let coverage = f64::from(covered) / f64::from(studies);
    println!("{name}: claimed {claimed:.4}, covered {coverage:.4}");
    let wander = 3.0 * (claimed * (1.0 - claimed) / f64::from(studies)).sqrt();
    assert!((coverage - claimed).abs() <= wander.max(0.02), "{name}: claimed {claimed}, covered {coverage}");
}

#[test]
fn median_intervals_cover_the_truth_as_often_as_they_claim() {
    let mut noise = Noise::new(2009);
    for (name, draw, truth) in sources() {
        for n in [2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 30, 60] {
            let mut trials = || (0..n).map(|_| draw(&mut noise)).collect::<Vec<f64>>();
            assert_covers(&format!("{name}, n = {n:2}"), 4000, |_| (median_interval(&trials(), 0.95).unwrap(), truth));
        }
    }
}

#[test]
fn ratio_intervals_cover_the_true_ratio_as_often_as_they_claim() {
    let mut noise = Noise::new(2011);
    for (name, draw, _) in sources() {
        for n in [3, 5, 10, 30] {
            let mut trials = |factor: f64| (0..n).map(|_| factor * draw(&mut noise)).collect::<Vec<f64>>();
            assert_covers(&format!("{name}, ratio, n = {n:2}"), 2000, |seed| {
                let bootstrap = Bootstrap { resamples: 500, seed, ..Bootstrap::default() };
                (median_ratio(&trials(1.5), &trials(1.0), bootstrap).unwrap(), 1.5)
            });
        }
    }
}

/// What disturbs a whole study: the machine of trial `i` of `n` is slower by this factor.
type Drift = fn(&mut Noise, usize) -> Vec<f64>;

fn drifts() -> [(&'static str, Drift); 2] {
    [
        ("a machine that gets 30 % slower", |_, n| (0..n).map(|i| 1.0 + 0.3 * i as f64 / n as f64).collect()),
        ("a machine that wanders", |noise, n| {
            noise.autoregression(n, 0.7).iter().map(|wander| (0.1 * wander).exp()).collect()
        }),
    ]
}

/// Trials of two stores, the first slower by `factor`, on a drifting machine in the order given by `seats`: which of the 2n
/// positions are the first store's.
fn two_stores(noise: &mut Noise, drift: Drift, n: usize, factor: f64, order: Order) -> (Vec<f64>, Vec<f64>) {
    let machine = drift(noise, 2 * n);
    let mut first = vec![false; 2 * n];
    match order {
        Order::Random => noise.order(2 * n)[..n].iter().for_each(|&seat| first[seat] = true),
        Order::Balanced => (0..n).for_each(|round| first[2 * round + usize::from(noise.uniform() < 0.5)] = true),
        Order::OneAfterTheOther => first[..n].fill(true),
    }
    let mut groups = (Vec::new(), Vec::new());
    for (slowness, first) in machine.iter().zip(first) {
        let trial = slowness * (0.05 * noise.normal()).exp();
        if first { groups.0.push(factor * trial) } else { groups.1.push(trial) }
    }
    groups
}

#[derive(Clone, Copy)]
enum Order {
    Random,
    Balanced,
    OneAfterTheOther,
}

#[test]
fn in_random_order_ratios_are_right_on_a_drifting_machine() {
    let mut noise = Noise::new(2012);
    for (name, drift) in drifts() {
        for n in [5, 10, 30] {
            assert_covers(&format!("{name}, n = {n}"), 2000, |seed| {
                let (slow, fast) = two_stores(&mut noise, drift, n, 1.5, Order::Random);
                let bootstrap = Bootstrap { resamples: 500, seed, ..Bootstrap::default() };
                (median_ratio(&slow, &fast, bootstrap).unwrap(), 1.5)
            });
        }
    }
}

#[test]
fn order_decides_about_false_alarms_on_a_drifting_machine() {
    let mut noise = Noise::new(2013);
    let mut rate = |drift: Drift, order: Order| {
        let studies = 2000;
        let alarms = (0..studies)
            .filter(|_| {
                let (a, b) = two_stores(&mut noise, drift, 8, 1.0, order);
                permutation_test(&a, &b, Statistic::Rank, Permutations::default()).unwrap() < 0.05
            })
            .count();
        alarms as f64 / f64::from(studies)
    };
    for (name, drift) in drifts() {
        let rates = [Order::Random, Order::Balanced, Order::OneAfterTheOther].map(|order| rate(drift, order));
        println!("{name}: random {:.3}, balanced {:.3}, one after the other {:.3}", rates[0], rates[1], rates[2]);
        assert!((0.035..=0.065).contains(&rates[0]) && rates[1] <= 0.065, "{name}: {rates:?}");
        assert!(rates[2] > 0.15, "{name}: measuring one store after the other is a known trap: {rates:?}");
    }
}

#[test]
fn equal_stores_are_called_different_no_more_often_than_promised() {
    let mut noise = Noise::new(2016);
    for statistic in [Statistic::Rank, Statistic::Mean] {
        for n in [4, 5, 8] {
            let studies = 2000;
            let mut trials = || (0..n).map(|_| noise.makespan()).collect::<Vec<f64>>();
            let alarms = (0..studies)
                .filter(|_| permutation_test(&trials(), &trials(), statistic, Permutations::default()).unwrap() < 0.05)
                .count();
            let rate = alarms as f64 / f64::from(studies);
            println!("{statistic:?}, n = {n}: {rate:.4} false alarms");
            assert!(rate < 0.05 + 0.015, "{statistic:?}, n = {n}: {rate}");
        }
    }
}

#[test]
fn the_effective_sample_size_of_an_autoregression_is_what_theory_says() {
    let mut noise = Noise::new(2017);
    for coefficient in [0.0, 0.3, 0.7, 0.9] {
        let n = 4000;
        let truth = n as f64 * (1.0 - coefficient) / (1.0 + coefficient);
        let sizes: Vec<f64> =
            (0..20).map(|_| effective_sample_size(&noise.autoregression(n, coefficient)).unwrap()).collect();
        let typical = stats::median(&sizes).unwrap();
        println!("coefficient {coefficient}: {typical:.0}, in theory {truth:.0}");
        assert!((typical / truth - 1.0).abs() < 0.15, "{coefficient}: {typical} for {truth}");
    }
}
