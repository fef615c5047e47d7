//! The ratio by ranks: its interval and the test's p-value are one procedure.

#![allow(clippy::unwrap_used)]

mod noise;

use noise::Noise;
use stats::{Permutations, Statistic, permutation_test, rank_ratio};

#[test]
fn one_is_outside_the_interval_just_when_the_test_finds_a_difference() {
    let mut noise = Noise::new(13);
    let (mut found, mut all) = (0, 0);
    for n in [4, 5, 6, 8, 10, 15, 20] {
        for step in 0..60 {
            let factor = 1.0 + 0.005 * f64::from(step);
            let mut trials = |factor: f64| (0..n).map(|_| factor * (0.1 * noise.normal()).exp()).collect::<Vec<f64>>();
            let (a, b) = (trials(factor), trials(1.0));
            let ratio = rank_ratio(&a, &b, 0.95).unwrap();
            let p = permutation_test(&a, &b, Statistic::Rank, Permutations::default()).unwrap();
            assert!(ratio.low <= ratio.value && ratio.value <= ratio.high && ratio.level == 0.95, "{ratio:?}");
            assert_eq!(ratio.low > 1.0 || ratio.high < 1.0, p < 0.05, "{n} {factor}: {ratio:?} {p}");
            found += usize::from(p < 0.05);
            all += 1;
        }
    }
    assert!(found > 50 && found < all - 50, "{found} of {all}: both happen");
}

#[test]
fn intervals_hold_the_true_ratio_as_often_as_they_claim() {
    let mut noise = Noise::new(14);
    for n in [3, 4, 7, 20] {
        let (mut held, mut level) = (0, 0.0);
        for _ in 0..2000 {
            let mut trials = |factor: f64| (0..n).map(|_| factor * (0.3 * noise.normal()).exp()).collect::<Vec<f64>>();
            let ratio = rank_ratio(&trials(1.5), &trials(1.0), 0.95).unwrap();
            held += u32::from(ratio.low <= 1.5 && 1.5 <= ratio.high);
            level = ratio.level;
        }
        let share = f64::from(held) / 2000.0;
        // Ranks come in steps: it may cover more than it claims, by what the next step is away.
        assert!(share > level - 0.015 && share < level + 0.035, "{n}: {share} of {level}");
    }
}

#[test]
fn what_has_no_ratio_has_none() {
    assert_eq!(rank_ratio(&[], &[1.0], 0.95), None);
    assert_eq!(rank_ratio(&[1.0, 0.0], &[1.0, 2.0], 0.95), None);
    assert_eq!(rank_ratio(&[f64::NAN, 1.0], &[1.0, 2.0], 0.95), None);
    let single = rank_ratio(&[3.0], &[2.0], 0.95).unwrap();
    assert_eq!((single.value, single.level, single.n), (1.5, 0.0, 1));
    let few = rank_ratio(&[3.0, 3.1, 3.2], &[1.0, 1.1, 1.2], 0.95).unwrap();
    assert!((few.level - 0.9).abs() < 1e-12 && few.low == 3.0 / 1.2 && few.high == 3.2, "{few:?}");
}
