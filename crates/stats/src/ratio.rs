//! How many times one group is another.

use crate::bootstrap::{Bootstrap, centred};
use crate::distribution::DiscreteDistribution;
use crate::interval::Estimate;
use crate::median;
use crate::medians::{medians_without_one, resampled_medians};
use crate::order::{median_of_sorted, sorted};
use crate::random::Random;

/// Pairs of medians that are counted rather than drawn: 20 against 20 samples have 44,100, of odd numbers far fewer.
const MOST_ATOMS: usize = 50_000;

/// Returns the ratio of the medians of two independent groups, `a / b`, with its BCa bootstrap interval.
///
/// 1 inside the interval means that no difference was shown. Method: as [`Bootstrap::interval_of_two`], on the logarithm of the ratio
/// (BCa does not depend on such a change of scale, but the acceleration is better estimated on it), so `median_ratio(b, a)` is
/// the reciprocal up to resampling noise.
///
/// The level claimed is never above 1 - 2 / C(n + m, n), what the widest interval there is, from `min a / max b` to
/// `max a / min b`, covers when the groups differ by a factor alone: 0.9 for 3 and 3, as no rank test of 3 and 3 comes below 0.1.
/// Measured coverage: `tests/coverage.rs`.
///
/// Returns `None` when a group is empty or has a number that is not finite and positive: ratios of such are meaningless. With a
/// group of one there is no interval and `level` is 0.
/// Nothing is resampled: of the medians of all resamples the probabilities are known, and of their pairs all are counted (up to 20 and 20
/// samples, of odd numbers far more) or `resamples` drawn. Cost: 4 µs for 5 and 5, 0.1 ms for 10 and 10, 3 ms for 20 and 20 and for more.
///
/// ```
/// let ratio = stats::median_ratio(&[4.0, 4.1, 4.2, 4.1, 3.9], &[2.0, 2.1, 2.0, 1.9, 2.05], stats::Bootstrap::default()).unwrap();
/// assert_eq!(ratio.value, 4.1 / 2.0);
/// assert!(ratio.low > 1.8 && ratio.high < 2.3);
/// ```
pub fn median_ratio(a: &[f64], b: &[f64], bootstrap: Bootstrap) -> Option<Estimate> {
    if bootstrap.resamples == 0 || a.iter().chain(b).any(|value| *value <= 0.0) {
        return None;
    }
    let value = median(a)? / median(b)?;
    let n = a.len().min(b.len());
    if n == 1 {
        return Some(Estimate::bare(value, n));
    }
    let (a, b) = (sorted(a)?, sorted(b)?);
    let log = bootstrap.estimate(distribution(&a, &b, bootstrap), log_ratio(&a, &b), &influence(&a, &b), n)?;
    let level = bootstrap.level.min(reachable_level(a.len(), b.len()));
    Some(Estimate { value, level, low: log.low.exp().min(value), high: log.high.exp().max(value), n })
}

/// Estimates how many times one group is the other, by ranks: the median of all ratios `a / b` of one trial by another, with the interval
/// of the ratios that the two-sided rank [`permutation_test`](crate::permutation_test) does not refute. So 1 lies outside the interval
/// just when that test finds a difference at `1 - level`.
///
/// Method: Hodges & Lehmann, *Estimates of Location Based on Rank Tests*, Ann. Math. Statist. 34 (1963); the ends are order statistics of the
/// ratios at the critical value of Mann and Whitney. Exact when the groups differ by a factor alone. With too few trials for `level` the
/// interval is from the smallest to the largest ratio, and its level what that covers: 1 - 2 / C(n + m, n).
///
/// Returns `None` as [`median_ratio`] does; with a group of one there is no interval and `level` is 0. Cost: a sort of n · m ratios.
///
/// ```
/// let ratio = stats::rank_ratio(&[4.0, 4.2, 4.4, 4.6, 4.8], &[2.0, 2.1, 2.2, 2.3, 2.4], 0.95).unwrap();
/// assert!(ratio.low > 1.7 && (ratio.value - 2.0).abs() < 1e-12 && ratio.high < 2.3);
/// ```
pub fn rank_ratio(a: &[f64], b: &[f64], level: f64) -> Option<Estimate> {
    if !(level > 0.0 && level < 1.0) || a.iter().chain(b).any(|value| *value <= 0.0) {
        return None;
    }
    let (a, b) = (sorted(a)?, sorted(b)?);
    let ratios = sorted(&a.iter().flat_map(|a| b.iter().map(move |b| a / b)).collect::<Vec<_>>())?;
    let (value, n) = (median_of_sorted(&ratios), a.len().min(b.len()));
    if n == 1 {
        return Some(Estimate::bare(value, n));
    }
    let most = ratios.len();
    // The least number of wins that refutes a ratio leaves as many ratios outside at either end.
    let (outside, level) = match critical_wins(a.len(), b.len(), 1.0 - level) {
        Some(critical) => (most - critical, level),
        None => (0, reachable_level(a.len(), b.len())),
    };
    Some(Estimate { value, low: ratios[outside].min(value), high: ratios[most - 1 - outside].max(value), level, n })
}

/// The least number of wins, of all pairs of a trial of one group and one of the other, for which twice the upper tail of the Mann-Whitney
/// distribution is below `alpha`; `None` when not even all wins are.
fn critical_wins(n: usize, m: usize, alpha: f64) -> Option<usize> {
    // Arrangements by wins: the coefficients of the Gaussian binomial, the product of (1 - q^(m+i)) / (1 - q^i).
    let mut arrangements = vec![0.0f64; n * m + 1];
    arrangements[0] = 1.0;
    for i in 1..=n {
        for wins in (m + i..=n * m).rev() {
            arrangements[wins] -= arrangements[wins - m - i];
        }
        for wins in i..=n * m {
            arrangements[wins] += arrangements[wins - i];
        }
    }
    let all: f64 = arrangements.iter().sum();
    let mut tail = 0.0;
    let refutes = |(wins, count): (usize, &f64)| {
        tail += count / all;
        (2.0 * tail < alpha).then_some(wins)
    };
    arrangements.iter().enumerate().rev().map_while(refutes).last()
}

/// How the logarithm of the ratio is distributed over resamples: every pair of medians with its probability, or pairs drawn from them
/// where there are too many.
fn distribution(a: &[f64], b: &[f64], bootstrap: Bootstrap) -> DiscreteDistribution {
    let logs = |sorted: &[f64]| -> Vec<(f64, f64)> {
        resampled_medians(sorted).into_iter().map(|(median, share)| (median.ln(), share)).collect()
    };
    let (of_a, of_b) = (logs(a), logs(b));
    if of_a.len().saturating_mul(of_b.len()) <= MOST_ATOMS {
        let pairs = |(log, share): &(f64, f64)| {
            let (log, share) = (*log, *share);
            of_b.iter().map(move |(other, of_other)| (log - other, share * of_other))
        };
        return DiscreteDistribution::of_atoms(of_a.iter().flat_map(pairs).collect());
    }
    let mut random = Random::new(bootstrap.seed);
    let (of_a, of_b) = (Drawn::of(&of_a), Drawn::of(&of_b));
    DiscreteDistribution::of_draws(
        (0..bootstrap.resamples).map(|_| of_a.draw(&mut random) - of_b.draw(&mut random)).collect(),
    )
}

/// Values to be drawn with their probabilities.
struct Drawn(Vec<(f64, f64)>);

impl Drawn {
    fn of(atoms: &[(f64, f64)]) -> Drawn {
        let mut up_to = 0.0;
        let cumulative = |&(value, share): &(f64, f64)| {
            up_to += share;
            (value, up_to)
        };
        Drawn(atoms.iter().map(cumulative).collect())
    }

    fn draw(&self, random: &mut Random) -> f64 {
        let all = self.0.last().map_or(0.0, |last| last.1);
        let wanted = random.unit() * all;
        let at = self.0.partition_point(|atom| atom.1 <= wanted);
        self.0[at.min(self.0.len() - 1)].0
    }
}

fn log_ratio(a: &[f64], b: &[f64]) -> f64 {
    median_of_sorted(a).ln() - median_of_sorted(b).ln()
}

/// What each sample does to the logarithm of the ratio, for the acceleration.
fn influence(a: &[f64], b: &[f64]) -> Vec<f64> {
    let (log_a, log_b) = (median_of_sorted(a).ln(), median_of_sorted(b).ln());
    let logs = |sorted: &[f64]| medians_without_one(sorted).into_iter().map(f64::ln);
    let mut influence = centred(logs(a).map(|log| log - log_b).collect());
    influence.extend(centred(logs(b).map(|log| log_a - log).collect()));
    influence
}

/// 1 - 2 / C(n + m, n): how often neither group lies wholly above the other when both are alike.
fn reachable_level(n: usize, m: usize) -> f64 {
    let arrangements: f64 = (1..=n).map(|i| (m + i) as f64 / i as f64).product();
    1.0 - 2.0 / arrangements
}
