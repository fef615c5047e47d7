//! The bootstrap distribution of a median, without drawing: every resample of a group is counted at once.

use crate::order::halfway;

/// What is less likely than this is left out: all of it together is far below what 10,000 draws could show.
const NEGLIGIBLE: f64 = 1e-15;

/// Returns every value the median of a resample can have, with its probability, in ascending order of the samples they are made of. Values
/// may repeat.
///
/// Method: of n draws with replacement from sorted samples, those at most the i-th sample are binomial (n, i / n). Odd n: the
/// median is the (n + 1)/2-th smallest draw. Even n = 2k: it lies between the k-th and the (k + 1)-th smallest; for i < j these are
/// the i-th and j-th samples with probability C(n, k) · ((i/n)^k - ((i - 1)/n)^k) · ((1 - (j - 1)/n)^k - (1 - j/n)^k) (Maritz & Jarrett, *A
/// Note on Estimating the Variance of the Sample Median*, JASA 73, 1978, for odd n; the joint law of two order statistics for even).
///
/// Invariant: probabilities sum to 1, but for less than 1e-9 that is left out. Cost: n² steps; at most n atoms, for even n n (n + 1)/2: 55
/// for 10, 210 for 20, 3,300 for 200.
pub(crate) fn resampled_medians(sorted: &[f64]) -> Vec<(f64, f64)> {
    let n = sorted.len();
    let logs = log_factorials(n);
    let rank = n.div_ceil(2);
    // The chance that the rank-th smallest draw is at most sample i (1-based), and that it is sample i.
    let at_most: Vec<f64> = (0..=n).map(|i| at_least(n, rank, i as f64 / n as f64, &logs)).collect();
    let exactly = |i: usize| (at_most[i] - at_most[i - 1]).max(0.0);
    if n % 2 == 1 {
        return (1..=n).map(|i| (sorted[i - 1], exactly(i))).filter(|atom| atom.1 > NEGLIGIBLE).collect();
    }
    let k = n / 2;
    let ways = (logs[n] - 2.0 * logs[k]).exp();
    let power = |share: f64| share.powi(k as i32);
    let mut atoms = Vec::new();
    for i in (1..=n).filter(|i| exactly(*i) > NEGLIGIBLE) {
        let lower = power(i as f64 / n as f64) - power((i - 1) as f64 / n as f64);
        let mut left = exactly(i);
        for j in i + 1..=n {
            let upper = power((n - j + 1) as f64 / n as f64) - power((n - j) as f64 / n as f64);
            let both = ways * lower * upper;
            // Further away it is less likely still.
            if both < NEGLIGIBLE {
                break;
            }
            left -= both;
            atoms.push((halfway(sorted[i - 1], sorted[j - 1]), both));
        }
        atoms.push((sorted[i - 1], left.max(0.0)));
    }
    atoms
}

/// Returns the median of each group of all samples but one.
pub(crate) fn medians_without_one(sorted: &[f64]) -> Vec<f64> {
    let rest = sorted.len() - 1;
    let without = |left_out: usize| {
        let at = |rank: usize| sorted[rank + usize::from(rank >= left_out)];
        if rest % 2 == 1 { at(rest / 2) } else { halfway(at(rest / 2 - 1), at(rest / 2)) }
    };
    (0..sorted.len()).map(without).collect()
}

/// P(Bin(n, share) ≥ least).
fn at_least(n: usize, least: usize, share: f64, logs: &[f64]) -> f64 {
    if share <= 0.0 || share >= 1.0 {
        return share;
    }
    let (hit, miss) = (share.ln(), (1.0 - share).ln());
    let term = |hits: usize| {
        let misses = n - hits;
        (logs[n] - logs[hits] - logs[misses] + hits as f64 * hit + misses as f64 * miss).exp()
    };
    (least..=n).map(term).sum()
}

/// ln 0! to ln n!.
fn log_factorials(n: usize) -> Vec<f64> {
    let mut logs = vec![0.0];
    for i in 1..=n {
        logs.push(logs[i - 1] + (i as f64).ln());
    }
    logs
}

#[cfg(test)]
mod tests {
    use super::{medians_without_one, resampled_medians};
    use crate::order::median_of_sorted;
    use std::collections::BTreeMap;

    /// Every one of the n^n resamples, one by one.
    fn enumerated(sorted: &[f64]) -> BTreeMap<u64, f64> {
        let n = sorted.len();
        let all = n.pow(n as u32);
        let mut counts = BTreeMap::new();
        for mut number in 0..all {
            let mut drawn: Vec<f64> = (0..n)
                .map(|_| {
                    let at = number % n;
                    number /= n;
                    sorted[at]
                })
                .collect();
            drawn.sort_unstable_by(f64::total_cmp);
            *counts.entry(median_of_sorted(&drawn).to_bits()).or_insert(0.0) += 1.0 / all as f64;
        }
        counts
    }

    #[test]
    fn every_median_is_as_likely_as_counting_all_resamples_says() {
        for samples in [
            &[3.0][..],
            &[1.0, 4.0],
            &[1.0, 2.0, 7.0],
            &[1.0, 2.0, 4.0, 9.0],
            &[1.0, 1.0, 4.0, 9.0, 25.0],
            &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0],
        ] {
            let mut found = BTreeMap::new();
            for (value, probability) in resampled_medians(samples) {
                *found.entry(value.to_bits()).or_insert(0.0) += probability;
            }
            let expected = enumerated(samples);
            assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
            for (value, probability) in expected {
                assert!((found[&value] - probability).abs() < 1e-12, "{} of {samples:?}", f64::from_bits(value));
            }
        }
    }

    #[test]
    fn a_group_without_one_sample_has_the_median_of_the_rest() {
        for n in 2..9 {
            let samples: Vec<f64> = (0..n).map(|i| f64::from(i * i)).collect();
            for (left_out, found) in medians_without_one(&samples).into_iter().enumerate() {
                let mut rest = samples.clone();
                rest.remove(left_out);
                assert_eq!(found, median_of_sorted(&rest));
            }
        }
    }

    #[test]
    fn probabilities_sum_to_one_at_any_size() {
        for n in [1, 2, 7, 10, 20, 51, 200, 223, 1000] {
            let samples: Vec<f64> = (0..n).map(f64::from).collect();
            let atoms = resampled_medians(&samples);
            let sum: f64 = atoms.iter().map(|atom| atom.1).sum();
            assert!((sum - 1.0).abs() < 1e-9 && atoms.iter().all(|atom| atom.1 >= 0.0), "n = {n}: {sum}");
        }
    }
}
