//! The median with its interval.

use crate::normal::{probability_below, quantile};
use crate::order::{median_of_sorted, sorted};

/// A number with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate itself.
    pub value: f64,
    /// Lower end; equals `value` when there is no interval.
    pub low: f64,
    /// Upper end; equals `value` when there is no interval.
    pub high: f64,
    /// Coverage the interval can claim, 0 to 1; 0 when there is no interval.
    pub level: f64,
    /// Number of samples behind the estimate (for a ratio: in the smaller group).
    pub n: usize,
}

impl Estimate {
    /// Returns a value without an interval.
    pub(crate) fn bare(value: f64, n: usize) -> Estimate {
        Estimate { value, low: value, high: value, level: 0.0, n }
    }
}

/// Returns the highest coverage any interval with its ends among `n` samples can have for a median: 1 − 2^(1−n), the chance that not all
/// samples lie on one side of it.
pub(crate) fn reachable_level(n: usize) -> f64 {
    1.0 - 0.5f64.powi(n.saturating_sub(1).min(1000) as i32)
}

/// Returns the median and its distribution-free interval; `level` is the coverage wanted, e.g. 0.95.
///
/// Method: Hettmansperger & Sheather, *Confidence Intervals Based on Interpolated Order Statistics*, Statist. Probab. Lett. 4 (1986).
/// The interval from the k-th smallest to the k-th largest sample covers the median as often as a binomial variable says, whatever
/// the distribution (Thompson, Ann. Math. Statist. 7, 1936), but only at a few levels; between two of them the ends are
/// interpolated. No bootstrap comes as close: BCa was measured to cover 87 to 94 % at 6 to 20 samples of skewed noise, this 94 to
/// 96 % (`tests/coverage.rs`).
///
/// | n | interval at `level` 0.95 | `level` |
/// |---|---|---|
/// | 0 | `None` is returned | |
/// | 1 | none: `low = high = value` | 0 |
/// | 2, 3, 4, 5 | smallest to largest sample, the most they can give | 0.5, 0.75, 0.875, 0.9375: exact |
/// | 6 and more | interpolated order statistics | 0.95 |
///
/// Invariant: `min ≤ low ≤ value ≤ high ≤ max`. Cost: one sort, O(n log n): 0.1 µs for 5 samples, 20 µs for 1,000.
///
/// Returns `None` without samples, with one that is not finite, or with a level outside 0 to 1.
///
/// ```
/// let estimate = stats::median_interval(&[1.93, 1.90, 1.97, 1.92, 1.95], 0.95).unwrap();
/// assert_eq!((estimate.low, estimate.value, estimate.high), (1.90, 1.93, 1.97));
/// assert_eq!(estimate.level, 0.9375);
/// ```
pub fn median_interval(samples: &[f64], level: f64) -> Option<Estimate> {
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let sorted = sorted(samples)?;
    let n = sorted.len();
    let value = median_of_sorted(&sorted);
    if n == 1 {
        return Some(Estimate::bare(value, n));
    }
    let ends = |rank: usize| (sorted[rank], sorted[n - 1 - rank]);
    let (rank, outer, inner) = ranks_around(n, level);
    let ((low, high), level) = match inner {
        // Too few samples for more, or no narrower interval to interpolate to: the level is what this one has.
        _ if outer <= level => (ends(rank), outer),
        None => (ends(rank), outer),
        Some(inner) => {
            let share = (outer - level) / (outer - inner);
            let (n, from_end) = (n as f64, (rank + 1) as f64);
            let weight = (n - from_end) * share / (from_end + (n - 2.0 * from_end) * share);
            let ((low, high), (inner_low, inner_high)) = (ends(rank), ends(rank + 1));
            ((low + weight * (inner_low - low), high + weight * (inner_high - high)), level)
        }
    };
    Some(Estimate { value, low: low.min(value), high: high.max(value), level, n })
}

/// The narrowest order-statistic interval that covers the median at least as often as `level`, or the widest there is: the index
/// of its lower end, its coverage 1 - 2 P(Bin(n, ½) ≤ index), and the coverage of the next narrower one.
fn ranks_around(n: usize, level: f64) -> (usize, f64, Option<f64>) {
    let mut probability = 0.5f64.powi(n as i32);
    if probability == 0.0 {
        return ranks_of_many(n, level);
    }
    let mut coverage = 1.0 - 2.0 * probability;
    for rank in 0..n / 2 {
        probability *= (n - rank) as f64 / (rank + 1) as f64;
        let inner = coverage - 2.0 * probability;
        let last = rank + 1 >= n.div_ceil(2);
        if last {
            return (rank, coverage, None);
        }
        if inner < level {
            return (rank, coverage, Some(inner));
        }
        coverage = inner;
    }
    (0, coverage, None)
}

/// The same for more samples than 2^-n can be written for, by the normal approximation; its error is below 0.0001 there.
fn ranks_of_many(n: usize, level: f64) -> (usize, f64, Option<f64>) {
    let (middle, deviation) = (n as f64 / 2.0, (n as f64).sqrt() / 2.0);
    let coverage = |rank: f64| 1.0 - 2.0 * probability_below((rank + 0.5 - middle) / deviation);
    let rank = (middle - 0.5 + deviation * quantile((1.0 - level) / 2.0)).floor();
    (rank as usize, coverage(rank), Some(coverage(rank + 1.0)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{median_interval, ranks_around, ranks_of_many};

    #[test]
    fn thousands_of_samples_neither_overflow_nor_underflow() {
        for n in [999, 1000, 2500, 100_000] {
            let samples: Vec<f64> = (0..n).map(f64::from).collect();
            let estimate = median_interval(&samples, 0.95).unwrap();
            let half_width = 0.98 * f64::from(n).sqrt();
            assert!((estimate.value - estimate.low - half_width).abs() < 1.5, "n = {n}: {estimate:?}");
            assert!((estimate.high - estimate.value - half_width).abs() < 1.5, "n = {n}: {estimate:?}");
        }
        let (exact, approximate) = (ranks_around(1000, 0.95), ranks_of_many(1000, 0.95));
        assert_eq!(exact.0, approximate.0);
        assert!((exact.1 - approximate.1).abs() < 1e-4, "{exact:?} {approximate:?}");
    }

    #[test]
    fn order_statistic_ranks_are_those_of_the_tables() {
        // Conover, Practical Nonparametric Statistics, table A3: 95 % intervals of the median.
        for (n, rank) in [(6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (15, 3), (20, 5)] {
            assert_eq!(ranks_around(n, 0.95).0, rank, "n = {n}");
        }
    }

    #[test]
    fn every_level_and_size_keeps_the_median_inside() {
        for n in 1..40 {
            let samples: Vec<f64> = (0..n).map(|i| f64::from(i * i)).collect();
            let mut width = f64::INFINITY;
            for level in [0.99, 0.95, 0.9, 0.8, 0.5, 0.2, 0.01] {
                let found = median_interval(&samples, level).unwrap();
                assert!(found.low <= found.value && found.value <= found.high, "{n} {level}: {found:?}");
                assert!(found.high - found.low <= width, "{n} {level}: {found:?}");
                width = found.high - found.low;
            }
        }
    }
}
