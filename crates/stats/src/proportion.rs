//! How often something happens, and whether it happens more often here than there.

use crate::interval::Estimate;
use crate::normal;

/// Returns the share of `successes` among `n` independent trials, with its score interval: Wilson, *Probable Inference, the Law of
/// Succession, and Statistical Inference*, JASA 22 (1927).
///
/// Covers close to `level` also for few trials and shares near 0 and 1, where the textbook interval fails (Brown, Cai & DasGupta,
/// Statist. Sci. 16, 2001). Invariant: `0 ≤ low ≤ value ≤ high ≤ 1`. Cost: O(1).
///
/// Returns `None` without trials, with more successes than trials, or with a level outside 0 to 1.
///
/// ```
/// let alarms = stats::proportion(10, 200, 0.95).unwrap();
/// assert_eq!(alarms.value, 0.05);
/// assert!(alarms.low > 0.027 && alarms.high < 0.09);
/// ```
pub fn proportion(successes: usize, n: usize, level: f64) -> Option<Estimate> {
    if n == 0 || successes > n || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let (count, value) = (n as f64, successes as f64 / n as f64);
    let z = normal::quantile((1.0 + level) / 2.0);
    let shrink = 1.0 + z * z / count;
    let centre = (value + z * z / (2.0 * count)) / shrink;
    let half = z / shrink * (value * (1.0 - value) / count + z * z / (4.0 * count * count)).sqrt();
    Some(Estimate { value, low: (centre - half).clamp(0.0, value), high: (centre + half).clamp(value, 1.0), level, n })
}

/// Returns the p-value of Fisher's exact test, two-sided: how often chance alone would deal `a.0 + b.0` events to the `a.1` trials of one
/// group and the `b.1` of another as unevenly as here, or more so. *The Design of Experiments* (1935).
///
/// Exact for any number of trials, however few. Invariant: the result is above 0 and at most 1, and 1 without any event. Cost: one
/// logarithm per trial.
///
/// Returns `None` when a group has no trial, or more events than trials.
///
/// ```
/// let p = stats::fisher_exact((0, 20), (3, 20)).unwrap();
/// assert!((p - 0.2308).abs() < 1e-4);
/// ```
pub fn fisher_exact(a: (usize, usize), b: (usize, usize)) -> Option<f64> {
    if a.1 == 0 || b.1 == 0 || a.0 > a.1 || b.0 > b.1 {
        return None;
    }
    let (trials, events) = (a.1 + b.1, a.0 + b.0);
    let mut ln_factorials = vec![0.0; trials + 1];
    for n in 1..=trials {
        ln_factorials[n] = ln_factorials[n - 1] + (n as f64).ln();
    }
    let ln_choices = |n: usize, k: usize| ln_factorials[n] - ln_factorials[k] - ln_factorials[n - k];
    let share =
        |of_a: usize| (ln_choices(a.1, of_a) + ln_choices(b.1, events - of_a) - ln_choices(trials, events)).exp();
    let observed = share(a.0);
    let possible = events.saturating_sub(b.1)..=events.min(a.1);
    // Shares that are equal on paper differ in their last digits.
    let as_uneven = possible.map(share).filter(|it| *it <= observed * (1.0 + 1e-7));
    Some(as_uneven.sum::<f64>().min(1.0))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::fisher_exact;

    /// The p-values were counted with whole numbers, by another program; the fourth is Fisher's own example of twins.
    #[test]
    fn it_says_what_counting_all_tables_says() {
        for (a, b, p) in [
            ((0, 20), (3, 20), 0.230_769),
            ((0, 20), (6, 20), 0.020_197),
            ((3, 4), (1, 4), 0.485_714),
            ((2, 12), (15, 18), 0.000_536_7),
            ((5, 5), (5, 5), 1.0),
        ] {
            let found = fisher_exact(a, b).unwrap();
            assert!((found - p).abs() < 2e-6, "{a:?} {b:?}: {found}");
            assert!((found - fisher_exact(b, a).unwrap()).abs() < 1e-12);
        }
    }

    #[test]
    fn without_events_there_is_no_difference_and_without_trials_no_answer() {
        assert_eq!(fisher_exact((0, 20), (0, 100)), Some(1.0));
        assert_eq!([fisher_exact((0, 0), (1, 2)), fisher_exact((3, 2), (0, 2))], [None, None]);
    }
}
