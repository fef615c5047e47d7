//! Popular keys against Zipf's law, by chi-square.

use crate::test::{Scope, Test};
use data::wyrand::WyRand;
use data::zipf::Zipf;
use study::Tolerance;

const RANKS: u64 = 100_000;
const THETA: f64 = 0.99;
/// The hottest ranks have a class each; behind them each doubling is one.
const HOTTEST: u64 = 100;
const CLASSES: usize = 110;

pub(crate) fn tests() -> [Test; 1] {
    [Test {
        name: "zipf_chi_square",
        claim: "draws of 100,000 keys follow Zipf's law of exponent 0.99: the deviation is below that of 1 in 10,000 honest draws",
        unit: "χ², 109 degrees of freedom",
        bound: Tolerance::at_most(critical(CLASSES as f64 - 1.0)),
        scope: Scope::Quick,
        attempts: 1,
        measure: Box::new(|scope, _| {
            let draws = if scope == Scope::Full { 10_000_000 } else { 500_000 };
            Ok(chi_square(draws))
        }),
    }]
}

/// The class of a rank, from 0.
fn class(rank: u64) -> usize {
    if rank < HOTTEST { rank as usize } else { (HOTTEST + u64::from((rank / HOTTEST).ilog2())) as usize }
}

fn chi_square(draws: u64) -> f64 {
    let (zipf, mut random) = (Zipf::new(RANKS, THETA), WyRand::new(2016, 0));
    let mut seen = [0u64; CLASSES];
    for _ in 0..draws {
        seen[class(zipf.draw(&mut random))] += 1;
    }
    let mut law = [0.0; CLASSES];
    (0..RANKS).for_each(|rank| law[class(rank)] += ((rank + 1) as f64).powf(-THETA));
    let sum: f64 = law.iter().sum();
    law.iter()
        .zip(seen)
        .map(|(share, seen)| {
            let expected = draws as f64 * share / sum;
            (seen as f64 - expected).powi(2) / expected
        })
        .sum()
}

/// χ² exceeded with probability 0.0001: Wilson & Hilferty, *The Distribution of Chi-Square*, PNAS 17 (1931).
const fn critical(degrees: f64) -> f64 {
    const Z: f64 = 3.719_016_485_455_68;
    // The square root of 2 / (9 · 109), written out: roots are not for constants.
    const ROOT: f64 = 0.045_152_364_1;
    let part = 1.0 - 2.0 / (9.0 * degrees) + Z * ROOT;
    degrees * part * part * part
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, RANKS, class, critical};

    #[test]
    fn every_rank_has_a_class_and_every_class_a_rank() {
        let classes: std::collections::BTreeSet<usize> = (0..RANKS).map(class).collect();
        assert_eq!(classes.len(), CLASSES);
        assert_eq!(class(RANKS - 1), CLASSES - 1);
    }

    #[test]
    fn the_critical_value_is_that_of_the_tables() {
        // scipy.stats.chi2.isf(1e-4, 109)
        assert!((critical(109.0) / 172.628_4 - 1.0).abs() < 0.001, "{}", critical(109.0));
    }
}
