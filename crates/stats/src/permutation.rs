//! Could the difference be chance?

use crate::random::Random;

/// Trials in all up to which regroupings of ranks are counted: whole numbers of them fit a float, and it is done in a millisecond.
const COUNTED_RANKS: usize = 40;

/// The statistic that is compared between the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The mean. Sees any shift, but one extreme trial can hide it.
    Mean,
    /// The mean rank, ties sharing theirs: the test of Wilcoxon, Mann and Whitney, exact also with ties. Extreme trials count
    /// as what they are, the last in order; the right choice for times.
    Rank,
}

/// The number of regroupings to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permutations {
    /// Up to this many possible regroupings all are looked at, and the result is exact. Those of ranks are counted instead of looked
    /// at, up to 40 trials in all.
    pub exact_up_to: u64,
    /// Otherwise this many are drawn.
    pub draws: u32,
    /// Equal seeds give equal results.
    pub seed: u64,
}

impl Default for Permutations {
    /// Exact up to 200,000 regroupings (10 against 10 trials; of ranks 20 against 20), else 20,000 drawn, seed 1.
    fn default() -> Permutations {
        Permutations { exact_up_to: 200_000, draws: 20_000, seed: 1 }
    }
}

/// Returns the two-sided permutation test: the probability that groups formed at random from the same numbers differ, either way, at least
/// as much as these do. Small means that the difference is hardly chance.
///
/// Method: Fisher, *The Design of Experiments* (1935); when regroupings are drawn, the observed one is counted among them, so the
/// result is never 0 and the test never too bold: Phipson & Smyth, *Permutation P-values Should Never Be Zero*, Stat. Appl. Genet.
/// Mol. Biol. 9 (2010).
///
/// Invariant: the result is above 0, at most 1, and at least 2 / C(n+m, n) for groups of equal size: with 3 against 3 trials it is
/// never below 0.1, so three repeats can never show a difference at 5 %; 4 against 4 can (0.029). Cost: of ranks 2 µs for 5 against
/// 5, 50 µs for 10 against 10; of means 5 ns a regrouping.
///
/// Returns `None` when a group is empty or a number is not finite.
///
/// ```
/// use stats::{Permutations, Statistic, permutation_test};
/// let p = permutation_test(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], Statistic::Rank, Permutations::default()).unwrap();
/// assert!((p - 2.0 / 70.0).abs() < 1e-12);
/// ```
pub fn permutation_test(a: &[f64], b: &[f64], statistic: Statistic, plan: Permutations) -> Option<f64> {
    if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|value| !value.is_finite()) {
        return None;
    }
    let mut pool: Vec<f64> = a.iter().chain(b).copied().collect();
    match statistic {
        Statistic::Rank => pool = doubled_ranks(&pool),
        Statistic::Mean => {
            // Centred and scaled, so that equal sums in another order differ by far less than the tolerance below.
            let centre = pool.iter().sum::<f64>() / pool.len() as f64;
            let scale = pool.iter().map(|value| (value - centre).abs()).fold(0.0, f64::max);
            pool.iter_mut().for_each(|value| *value = if scale > 0.0 { (*value - centre) / scale } else { 0.0 });
        }
    }
    // The group sum decides: the rest of the pool follows from it.
    let n = a.len();
    let expected = pool.iter().sum::<f64>() * n as f64 / pool.len() as f64;
    let observed = (pool[..n].iter().sum::<f64>() - expected).abs();
    let as_extreme = |sum: f64| (sum - expected).abs() >= observed - 1e-9;

    if statistic == Statistic::Rank && pool.len() <= COUNTED_RANKS {
        return Some(share_of_sums(&pool, n, as_extreme));
    }
    if combinations(pool.len(), n).is_some_and(|count| count <= plan.exact_up_to) {
        let (mut extreme, mut all) = (0u64, 0u64);
        for_each_choice_sum(&pool, n, &mut |sum| {
            all += 1;
            extreme += u64::from(as_extreme(sum));
        });
        return Some(extreme as f64 / all as f64);
    }
    let mut random = Random::new(plan.seed);
    let mut extreme = 1u64;
    for _ in 0..plan.draws {
        let mut sum = 0.0;
        for place in 0..n {
            let other = place + random.below(pool.len() - place);
            pool.swap(place, other);
            sum += pool[place];
        }
        extreme += u64::from(as_extreme(sum));
    }
    Some(extreme as f64 / (f64::from(plan.draws) + 1.0))
}

/// Returns the one-sided rank test: the probability that groups formed at random from the same numbers have `a` as far above `b` as it is
/// here, or farther. Small means that `a` lies above `b`, and hardly by chance.
///
/// Method, exactness and cost: as [`permutation_test`] of ranks. Beyond 40 trials in all it is half of the two-sided result.
///
/// Invariant: above 0, at most 1, and at least 1 / C(n+m, n). Returns `None` when a group is empty or a number is not finite.
///
/// ```
/// let p = stats::rank_test_above(&[5.0, 6.0, 7.0, 8.0], &[1.0, 2.0, 3.0, 4.0]).unwrap();
/// assert!((p - 1.0 / 70.0).abs() < 1e-12);
/// assert_eq!(stats::rank_test_above(&[1.0, 2.0], &[3.0, 4.0]), Some(1.0));
/// ```
pub fn rank_test_above(a: &[f64], b: &[f64]) -> Option<f64> {
    let two_sided = permutation_test(a, b, Statistic::Rank, Permutations::default())?;
    let pool: Vec<f64> = doubled_ranks(&a.iter().chain(b).copied().collect::<Vec<_>>());
    let observed: f64 = pool[..a.len()].iter().sum();
    if pool.len() <= COUNTED_RANKS {
        return Some(share_of_sums(&pool, a.len(), |sum| sum >= observed - 1e-9));
    }
    let expected = pool.iter().sum::<f64>() * a.len() as f64 / pool.len() as f64;
    Some(if observed > expected { two_sided / 2.0 } else { 1.0 - two_sided / 2.0 })
}

/// Returns the one-sided sign test: the probability that a median at `bound` has as many of these values above it as there are, or more.
/// Small means that the median lies above the bound, and hardly by chance. A value that equals the bound counts as not above it.
///
/// Method: Arbuthnott (1710), the binomial distribution with one half; whatever the distribution of the values. Invariant: above 0, at
/// most 1, at least 2^-n. Returns `None` without values or with a number that is not finite.
///
/// ```
/// let near = |p: Option<f64>, known: f64| (p.unwrap() - known).abs() < 1e-12;
/// assert!(near(stats::sign_test_above(&[3.0, 4.0, 5.0], 2.0), 0.125));
/// assert!(near(stats::sign_test_above(&[1.0, 4.0, 5.0], 2.0), 0.5));
/// ```
pub fn sign_test_above(values: &[f64], bound: f64) -> Option<f64> {
    if values.is_empty() || !bound.is_finite() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let n = values.len();
    let above = values.iter().filter(|value| **value > bound).count();
    // ln of C(n, k) / 2^n, one after the other.
    let mut log_share = -(n as f64) * std::f64::consts::LN_2;
    let mut p = 0.0;
    for k in 0..=n {
        if k >= above {
            p += log_share.exp();
        }
        log_share += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    Some(p.clamp(f64::MIN_POSITIVE, 1.0))
}

/// The share of all choices of `k` of these whole numbers whose sum is as asked: choices are counted by their sum, not made one by
/// one.
fn share_of_sums(doubled_ranks: &[f64], k: usize, wanted: impl Fn(f64) -> bool) -> f64 {
    let most: usize = doubled_ranks.iter().map(|rank| *rank as usize).sum();
    // ways[chosen][sum]
    let mut ways = vec![vec![0.0f64; most + 1]; k + 1];
    ways[0][0] = 1.0;
    let mut reached = 0;
    for (seen, rank) in doubled_ranks.iter().map(|rank| *rank as usize).enumerate() {
        for chosen in (1..=k.min(seen + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(chosen);
            let (fewer, more) = (&fewer[chosen - 1], &mut more[0]);
            for sum in 0..=reached {
                more[sum + rank] += fewer[sum];
            }
        }
        reached += rank;
    }
    let all: f64 = ways[k].iter().sum();
    let extreme: f64 = ways[k].iter().enumerate().filter(|(sum, _)| wanted(*sum as f64)).map(|(_, ways)| ways).sum();
    extreme / all
}

/// Twice the rank of each value, from 2; equal values share the mean of their ranks. Doubled they are whole numbers.
fn doubled_ranks(values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .map(|value| {
            let below = values.iter().filter(|other| *other < value).count();
            let equal = values.iter().filter(|other| *other == value).count();
            (2 * below + equal + 1) as f64
        })
        .collect()
}

/// C(n, k), when it fits.
fn combinations(n: usize, k: usize) -> Option<u64> {
    (0..k as u64).try_fold(1u64, |ways, i| ways.checked_mul(n as u64 - i).map(|product| product / (i + 1)))
}

/// Calls `visit` with the sum of every choice of `k` values.
fn for_each_choice_sum(values: &[f64], k: usize, visit: &mut impl FnMut(f64)) {
    fn descend(values: &[f64], k: usize, sum: f64, visit: &mut impl FnMut(f64)) {
        if k == 0 {
            return visit(sum);
        }
        for first in 0..=values.len() - k {
            descend(&values[first + 1..], k - 1, sum + values[first], visit);
        }
    }
    descend(values, k, 0.0, visit);
}
