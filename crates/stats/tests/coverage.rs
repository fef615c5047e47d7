//! Do the intervals cover the truth as often as they claim? Thousands of simulated studies with skewed noise, where the true
//! median is known.

#![allow(clippy::unwrap_used)]

use stats::{Bootstrap, Permutations, Statistic, median_interval, median_ratio, permutation_test};

/// A small generator of its own, so that the simulation does not share the random source under test (SplitMix64).
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A makespan as machines make them: a floor, an exponential tail above it, and one trial in ten disturbed badly.
    /// The density of the mixture is known, and so is its median, [`TRUE_MEDIAN`].
    fn makespan(&mut self) -> f64 {
        let tail = if self.uniform() < 0.1 { 1.0 } else { 0.05 };
        1.0 - tail * (1.0 - self.uniform()).ln()
    }

    fn makespans(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.makespan()).collect()
    }
}

/// Solves 0.9 exp(−x/0.05) + 0.1 exp(−x) = 0.5, plus the floor of 1.
fn true_median() -> f64 {
    let (mut low, mut high) = (0.0f64, 1.0f64);
    for _ in 0..100 {
        let x = (low + high) / 2.0;
        if 0.9 * (-x / 0.05).exp() + 0.1 * (-x).exp() > 0.5 { low = x } else { high = x }
    }
    1.0 + low
}

#[test]
fn median_intervals_cover_the_truth_as_often_as_they_claim() {
    let truth = true_median();
    let studies = 4000;
    let mut noise = Noise(2009);
    for n in [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 20, 25, 30, 60] {
        let mut covered = 0;
        let mut claimed = 0.0;
        for _ in 0..studies {
            let estimate = median_interval(&noise.makespans(n), 0.95).unwrap();
            covered += u32::from(estimate.low <= truth && truth <= estimate.high);
            claimed = estimate.level;
        }
        let coverage = f64::from(covered) / f64::from(studies);
        println!("n = {n:2}: claimed {claimed:.4}, covered {coverage:.4}");
        // Three standard errors of 4,000 studies.
        let slack = 3.0 * (claimed * (1.0 - claimed) / f64::from(studies)).sqrt();
        assert!(coverage > claimed - slack, "n = {n}: claimed {claimed}, covered {coverage}");
    }
}

#[test]
fn ratio_intervals_cover_the_true_ratio() {
    let mut noise = Noise(2011);
    let bootstrap = Bootstrap { resamples: 1000, ..Bootstrap::default() };
    for n in [5, 7, 10, 20] {
        let studies = 2000;
        let mut covered = 0;
        let mut claimed = 0.0;
        for seed in 0..studies as u64 {
            let slower: Vec<f64> = noise.makespans(n).iter().map(|time| time * 1.5).collect();
            let ratio = median_ratio(&slower, &noise.makespans(n), Bootstrap { seed, ..bootstrap }).unwrap();
            covered += u32::from(ratio.low <= 1.5 && 1.5 <= ratio.high);
            claimed = ratio.level;
        }
        let coverage = f64::from(covered) / f64::from(studies);
        println!("n = {n:2}: claimed {claimed:.4}, covered {coverage:.4}");
        assert!(coverage > claimed - 0.03, "n = {n}: claimed {claimed}, covered {coverage}");
    }
}

#[test]
fn equal_stores_are_called_different_no_more_often_than_promised() {
    let mut noise = Noise(2016);
    for statistic in [Statistic::Rank, Statistic::Mean] {
        for n in [4, 5, 7] {
            let studies = 2000;
            let false_alarms = (0..studies)
                .filter(|_| {
                    let (a, b) = (noise.makespans(n), noise.makespans(n));
                    permutation_test(&a, &b, statistic, Permutations::default()).unwrap() < 0.05
                })
                .count();
            let rate = false_alarms as f64 / f64::from(studies);
            println!("{statistic:?}, n = {n}: {rate:.4} false alarms");
            assert!(rate < 0.05 + 0.015, "{statistic:?}, n = {n}: {rate}");
        }
    }
}

#[test]
fn a_real_difference_is_found() {
    let mut noise = Noise(42);
    let found = (0..500)
        .filter(|_| {
            let slower: Vec<f64> = noise.makespans(7).iter().map(|time| time * 1.2).collect();
            permutation_test(&slower, &noise.makespans(7), Statistic::Rank, Permutations::default()).unwrap() < 0.05
        })
        .count();
    assert!(found > 350, "20 % slower was found in only {found} of 500 studies");
}
