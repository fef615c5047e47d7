//! What a comparison of so many trials can show, and how many trials it takes to show a difference.

use crate::order::{median_of_sorted, quantile_of_sorted, sorted};
use crate::random::Random;
use std::fmt;

/// More repeats than this are not counted: nobody runs them.
pub const MOST_REPEATS: usize = 1000;

/// The question: which difference will be found, how surely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detection {
    /// A difference counts as found when its p-value is below this. Of `k` comparisons corrected together, `0.05 / k`.
    pub alpha: f64,
    /// How often the difference is to be found.
    pub power: f64,
    /// Simulated studies; the power is known to about 1 part in the square root of it.
    pub draws: usize,
    /// Equal seeds give equal answers.
    pub seed: u64,
}

impl Default for Detection {
    /// 5 %, found 9 times in 10, 2,000 simulated studies, seed 1.
    fn default() -> Detection {
        Detection { alpha: 0.05, power: 0.9, draws: 2000, seed: 1 }
    }
}

/// The smallest difference a comparison would have found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detectable {
    /// One group this many times the other; at least 1.
    Ratio(f64),
    /// None, however large: with so few trials not even complete separation is rare enough.
    Nothing {
        /// Trials a group that can show a difference, if it is large.
        least_repeats: usize,
    },
}

impl fmt::Display for Detectable {
    /// `smallest detectable 4.1 %`, or what to do when nothing can be detected.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detectable::Ratio(ratio) => {
                let percent = 100.0 * (ratio - 1.0);
                let digits = if percent < 9.95 { 1 } else { 0 };
                write!(f, "smallest detectable {percent:.digits$} %")
            }
            Detectable::Nothing { least_repeats } => {
                write!(f, "no difference can be shown by so few repeats; {least_repeats} are needed at least")
            }
        }
    }
}

/// The least number of trials in each of two equal groups with which the exact rank or permutation test can give a p-value
/// below `alpha`: complete separation has p = 2 / C(2n, n). 4 for 0.05; 3 against 3 never come below 0.1.
///
/// ```
/// assert_eq!(stats::least_repeats(0.05), 4);
/// assert_eq!(stats::least_repeats(0.01), 5);
/// ```
pub fn least_repeats(alpha: f64) -> usize {
    let mut arrangements = 1.0;
    for n in 1..=MOST_REPEATS {
        arrangements *= (4 * n - 2) as f64 / n as f64; // C(2n, n) from C(2n - 2, n - 1)
        if 2.0 / arrangements < alpha {
            return n;
        }
    }
    MOST_REPEATS
}

impl Detection {
    /// The smallest ratio between two groups that the rank [`permutation_test`](crate::permutation_test) would find, given as
    /// many trials as these and their spread.
    ///
    /// Method: the study is repeated in simulation. Noise is drawn from the trials' own, logarithms less the median of their
    /// group (so the difference that is there does not count as noise), pooled and smoothed with Silverman's bandwidth (Silverman
    /// & Young, *The Bootstrap: To Smooth or Not to Smooth?*, Biometrika 74, 1987); one group is multiplied by the ratio; each
    /// study is tested with the critical value of the exact distribution (Mann & Whitney, Ann. Math. Statist. 18, 1947). So the
    /// answer holds for this noise, skewed or not, and this test. It is itself an estimate, as good as the spread is known: where 0.9 is
    /// promised, 0.88 was kept on average with 5 and 5 trials, 0.91 with 15 and 15; with one trial in ten badly disturbed, which 5
    /// trials may not show, 0.75 (`tests/detection.rs`).
    ///
    /// Invariant: at least 1; larger for more power, smaller alpha, fewer trials, more spread; the same for both orders of the
    /// groups up to simulation noise; 1 when all trials of a group are equal. Cost: about draws · (n + m) · 5
    /// steps: 0.5 ms for 5 and 5, 1.5 ms for 10 and 10.
    ///
    /// Returns `None` when a group has fewer than two trials (nothing is known of the spread) or a number is not finite and
    /// positive.
    ///
    /// ```
    /// use stats::{Detectable, Detection};
    /// let (a, b) = ([1.93, 1.90, 1.97, 1.92, 1.95], [2.03, 2.01, 2.05, 2.00, 2.08]);
    /// let Some(Detectable::Ratio(ratio)) = Detection::default().smallest(&a, &b) else { panic!() };
    /// assert!(ratio > 1.01 && ratio < 1.12);
    /// assert!(matches!(Detection::default().smallest(&a[..3], &b[..3]), Some(Detectable::Nothing { least_repeats: 4 })));
    /// ```
    pub fn smallest(&self, a: &[f64], b: &[f64]) -> Option<Detectable> {
        let noise = Noise::of(&[a, b])?;
        let Some(critical) = critical_wins(a.len(), b.len(), self.alpha) else {
            return Some(Detectable::Nothing { least_repeats: least_repeats(self.alpha) });
        };
        // Halving in; a study that is decided for all shifts still in question is not looked at again.
        let studies = self.studies(&noise, a.len(), b.len());
        let enough = (self.power * studies.len() as f64).ceil() as usize;
        let shows = |shift: f64| move |study: &&(Vec<f64>, Vec<f64>)| wins(&study.0, &study.1, shift) >= critical;
        let (shown, mut open): (Vec<_>, Vec<_>) = studies.iter().partition(shows(0.0));
        let mut shown = shown.len();
        if shown >= enough {
            return Some(Detectable::Ratio(1.0));
        }
        let (mut low, mut high) = (0.0, noise.range().max(f64::MIN_POSITIVE));
        for _ in 0..50 {
            let middle = low + (high - low) / 2.0;
            let (show, hide): (Vec<_>, Vec<_>) = open.into_iter().partition(shows(middle));
            if shown + show.len() >= enough {
                (high, open) = (middle, show);
            } else {
                shown += show.len();
                (low, open) = (middle, hide);
            }
        }
        Some(Detectable::Ratio(high.exp()))
    }

    /// Trials each group needs so that a true ratio (1.05 or 1 / 1.05: 5 %) is found as surely as asked, given the spread of
    /// these trials. Never below [`least_repeats`].
    ///
    /// Method and invariants as [`Detection::smallest`]. Cost: a simulation for each of about 15 numbers of trials; 10 to 500 ms.
    ///
    /// Returns `None` when more than [`MOST_REPEATS`] would be needed, when a group has fewer than two trials, or when the ratio
    /// or a number is not finite and positive, or the ratio is 1.
    ///
    /// ```
    /// use stats::Detection;
    /// let a = [1.93, 1.90, 1.97, 1.92, 1.95];
    /// let (few, many) = (Detection::default().repeats_needed(&a, &a, 1.10), Detection::default().repeats_needed(&a, &a, 1.02));
    /// assert!(few.unwrap() < many.unwrap());
    /// ```
    pub fn repeats_needed(&self, a: &[f64], b: &[f64], ratio: f64) -> Option<usize> {
        let noise = Noise::of(&[a, b])?;
        let shift = Some(ratio.ln().abs()).filter(|shift| shift.is_finite() && *shift > 0.0)?;
        let enough = |n: usize| {
            critical_wins(n, n, self.alpha)
                .is_some_and(|critical| share_found(&self.studies(&noise, n, n), shift, critical) >= self.power)
        };
        // At the first power of two that is enough, look between it and the one before.
        let mut high = least_repeats(self.alpha);
        let mut low = high - 1;
        while !enough(high) {
            if high >= MOST_REPEATS {
                return None;
            }
            low = high;
            high = (2 * high).min(MOST_REPEATS);
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if enough(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// Studies of pure noise: both groups sorted.
    fn studies(&self, noise: &Noise, n: usize, m: usize) -> Vec<(Vec<f64>, Vec<f64>)> {
        let mut random = Random::new(self.seed);
        let mut group = |size: usize| {
            let mut group: Vec<f64> = (0..size).map(|_| noise.draw(&mut random)).collect();
            group.sort_unstable_by(f64::total_cmp);
            group
        };
        (0..self.draws).map(|_| (group(n), group(m))).collect()
    }
}

/// The spread of trials around the median of their group, in logarithms.
struct Noise {
    residuals: Vec<f64>,
    bandwidth: f64,
}

impl Noise {
    fn of(groups: &[&[f64]]) -> Option<Noise> {
        let mut residuals = Vec::new();
        for group in groups {
            if group.len() < 2 || group.iter().any(|value| *value <= 0.0) {
                return None;
            }
            let logs = sorted(&group.iter().map(|value| value.ln()).collect::<Vec<_>>())?;
            let centre = median_of_sorted(&logs);
            // Trials lie closer to their own median than to the true one.
            let widening = (logs.len() as f64 / (logs.len() - 1) as f64).sqrt();
            residuals.extend(logs.iter().map(|log| (log - centre) * widening));
        }
        residuals.sort_unstable_by(f64::total_cmp);
        let n = residuals.len() as f64;
        let mean = residuals.iter().sum::<f64>() / n;
        let deviation = (residuals.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let quartiles = quantile_of_sorted(&residuals, 0.75) - quantile_of_sorted(&residuals, 0.25);
        let spread = if quartiles > 0.0 { deviation.min(quartiles / 1.34) } else { deviation };
        Some(Noise { residuals, bandwidth: 0.9 * spread * n.powf(-0.2) })
    }

    /// A residual, moved by a triangular kernel of variance `bandwidth`².
    fn draw(&self, random: &mut Random) -> f64 {
        let kernel = (random.unit() + random.unit() - 1.0) * 6f64.sqrt();
        self.residuals[random.below(self.residuals.len())] + self.bandwidth * kernel
    }

    /// A shift by this separates any two groups.
    fn range(&self) -> f64 {
        let last = self.residuals.len() - 1;
        self.residuals[last] - self.residuals[0] + 2.0 * 6f64.sqrt() * self.bandwidth + f64::EPSILON
    }
}

/// Share of the studies in which the second group, shifted up, wins often enough against the first.
fn share_found(studies: &[(Vec<f64>, Vec<f64>)], shift: f64, critical: f64) -> f64 {
    let found = studies.iter().filter(|(first, second)| wins(first, second, shift) >= critical).count();
    found as f64 / studies.len().max(1) as f64
}

/// Pairs in which the second group's value, shifted, is the larger; ties count half. Both are sorted.
fn wins(first: &[f64], second: &[f64], shift: f64) -> f64 {
    let (mut below, mut not_above, mut twice) = (0, 0, 0);
    for value in second {
        let value = value + shift;
        while below < first.len() && first[below] < value {
            below += 1;
        }
        not_above = not_above.max(below);
        while not_above < first.len() && first[not_above] <= value {
            not_above += 1;
        }
        twice += below + not_above;
    }
    twice as f64 / 2.0
}

/// The least number of wins for which twice the upper tail of the Mann-Whitney distribution is below `alpha`; `None` when not
/// even all wins are.
fn critical_wins(n: usize, m: usize, alpha: f64) -> Option<f64> {
    /// Beyond this many trials in all the normal approximation is as good.
    const EXACT: usize = 60;
    if n + m > EXACT {
        let (n, m) = (n as f64, m as f64);
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        return Some(n * m / 2.0 + 0.5 - crate::normal::quantile(alpha / 2.0) * deviation);
    }
    let arrangements = mann_whitney(n, m);
    let all: f64 = arrangements.iter().sum();
    let mut tail = 0.0;
    let mut critical = None;
    for (wins, count) in arrangements.iter().enumerate().rev() {
        tail += count / all;
        if 2.0 * tail >= alpha {
            break;
        }
        critical = Some(wins as f64);
    }
    critical
}

/// Number of arrangements of n and m trials with each number of wins, 0 to n·m, by adding one trial of the second group at a
/// time: the coefficients of the Gaussian binomial.
fn mann_whitney(n: usize, m: usize) -> Vec<f64> {
    let mut counts = vec![0.0; n * m + 1];
    counts[0] = 1.0;
    for i in 1..=m {
        // Times (1 - q^(n+i)), then by (1 - q^i); whole numbers below 2^53 or, beyond, relative errors of 1e-13.
        for wins in (n + i..=n * m).rev() {
            counts[wins] -= counts[wins - n - i];
        }
        for wins in i..=n * m {
            counts[wins] += counts[wins - i];
        }
    }
    counts
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{critical_wins, mann_whitney, wins};

    #[test]
    fn arrangements_are_counted_as_mann_and_whitney_did() {
        assert_eq!(mann_whitney(3, 3), [1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 2.0, 1.0, 1.0]);
        assert_eq!(mann_whitney(5, 5).iter().sum::<f64>(), 252.0);
        assert!((mann_whitney(30, 30).iter().sum::<f64>() / 118_264_581_564_861_424.0 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn critical_values_are_those_of_the_tables() {
        // Milton, J. Am. Statist. Assoc. 59 (1964), two-sided 5 %, as wins of the larger side: n·m - U.
        for (n, m, u) in
            [(4, 4, 0.0), (5, 5, 2.0), (6, 6, 5.0), (7, 7, 8.0), (10, 10, 23.0), (5, 8, 6.0), (20, 20, 127.0)]
        {
            assert_eq!(critical_wins(n, m, 0.05), Some((n * m) as f64 - u), "{n} and {m}");
        }
        assert_eq!(critical_wins(3, 3, 0.05), None);
        let (exact, approximate) = (critical_wins(30, 30, 0.05).unwrap(), critical_wins(30, 31, 0.05).unwrap() - 15.0);
        assert!((exact - approximate).abs() < 8.0, "{exact} {approximate}");
    }

    #[test]
    fn wins_count_ties_half() {
        assert_eq!(wins(&[1.0, 2.0, 3.0], &[2.0, 4.0], 0.0), 1.5 + 3.0);
        assert_eq!(wins(&[1.0, 2.0, 3.0], &[2.0, 4.0], 1.0), 2.5 + 3.0);
    }
}
