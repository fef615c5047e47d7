//! Order statistics.

/// Returns the samples in ascending order, or `None` when there are none or one is not a finite number.
pub(crate) fn sorted(samples: &[f64]) -> Option<Vec<f64>> {
    if samples.is_empty() || samples.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(sorted)
}

/// Returns the quantile of sorted, non-empty samples: linear interpolation between order statistics, type 7 of Hyndman & Fan, *Sample
/// Quantiles in Statistical Packages*, The American Statistician 50 (1996), the default of R and NumPy.
pub(crate) fn quantile_of_sorted(sorted: &[f64], probability: f64) -> f64 {
    let position = probability.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// Returns the median of sorted, non-empty samples: the middle one, or halfway between the two middle ones.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { halfway(sorted[middle - 1], sorted[middle]) }
}

/// Returns the number halfway between two numbers, without overflow.
pub(crate) fn halfway(low: f64, high: f64) -> f64 {
    low + (high - low) / 2.0
}

/// Returns the median: half of the samples are at most this, half at least. `None` without samples or with one that is not finite.
///
/// Invariant: lies between the smallest and the largest sample. Cost: one sort, O(n log n).
///
/// ```
/// assert_eq!(stats::median(&[3.0, 1.0, 2.0]), Some(2.0));
/// assert_eq!(stats::median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
/// assert_eq!(stats::median(&[]), None);
/// ```
pub fn median(samples: &[f64]) -> Option<f64> {
    sorted(samples).map(|sorted| median_of_sorted(&sorted))
}

/// Returns the quantile at `probability` (0 to 1, clamped): linear interpolation between order statistics (type 7 of Hyndman & Fan 1996,
/// as R and NumPy do by default). `None` without samples or with one that is not finite.
///
/// Invariant: non-decreasing in `probability`; 0 gives the minimum and 1 the maximum. Cost: one sort, O(n log n).
///
/// ```
/// assert_eq!(stats::quantile(&[10.0, 20.0, 30.0, 40.0, 50.0], 0.9), Some(46.0));
/// ```
pub fn quantile(samples: &[f64], probability: f64) -> Option<f64> {
    if probability.is_nan() {
        return None;
    }
    sorted(samples).map(|sorted| quantile_of_sorted(&sorted, probability))
}
