//! What a comparison of n trials can show, and how many trials it takes to show a difference.

use crate::order::{median_of_sorted, quantile_of_sorted, sorted};
use crate::random::Random;
use crate::separation::{Centre, FEWEST_TRIALS, error_of_pair, freedom};
use crate::student;
use std::fmt;

/// More repeats than this are not counted: nobody runs them.
pub const MOST_REPEATS: usize = 1000;

/// The question: which difference will be found, how surely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detection {
    /// A difference counts as found when its p-value is below this. Of `k` comparisons corrected together, `0.05 / k`.
    pub alpha: f64,
    /// The share of studies in which the difference is to be found.
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
    /// One group is this many times the other; at least 1.
    Ratio(f64),
    /// None, however large: of these few trials the spread is not known.
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
                write!(f, "too few repeats to show a difference; {least_repeats} are the least")
            }
        }
    }
}

/// Returns the least number of trials in each of two equal groups with which the exact rank or permutation test can give a p-value below
/// `alpha`: complete separation has p = 2 / C(2n, n). 4 for 0.05; 3 against 3 never come below 0.1.
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
    /// Returns the smallest ratio between two groups that [`separations`](crate::separations) would find, given as many trials as these
    /// and their spread.
    ///
    /// Method: the study is repeated in simulation. Noise is drawn from the trials' own, logarithms less the median of their
    /// group (so the difference that is there does not count as noise), pooled and smoothed with Silverman's bandwidth (Silverman
    /// & Young, *The Bootstrap: To Smooth or Not to Smooth?*, Biometrika 74, 1987); of each study it is known by which ratio one group
    /// must be multiplied to be found, and the answer is the ratio enough of them are content with. So it
    /// holds for this noise, skewed or not, and this test. It is itself an estimate, as good as the spread is known: where 0.9 is
    /// promised, 0.86 to 0.94 was kept on average; with one trial in ten badly disturbed, which few trials may not show, 0.59 with 3
    /// and 3 trials, 0.67 with 5 and 5, 0.82 with 8 and 8, 0.88 with more (`tests/detection.rs`).
    ///
    /// Invariant: at least 1; larger for more power, smaller alpha, fewer trials, more spread; the same for both orders of the
    /// groups up to simulation noise; 1 when all trials of a group are equal. Cost: about draws · (n + m) · 5
    /// steps: 1 ms for 5 and 5, 2 ms for 10 and 10.
    ///
    /// Returns `None` when a group has fewer than two trials (nothing is known of the spread) or a number is not finite and
    /// positive.
    ///
    /// ```
    /// use stats::{Detectable, Detection};
    /// let (a, b) = ([1.93, 1.90, 1.97, 1.92, 1.95], [2.03, 2.01, 2.05, 2.00, 2.08]);
    /// let Some(Detectable::Ratio(ratio)) = Detection::default().smallest(&a, &b) else { panic!() };
    /// assert!(ratio > 1.01 && ratio < 1.12);
    /// assert!(matches!(Detection::default().smallest(&a[..2], &b[..2]), Some(Detectable::Nothing { least_repeats: 3 })));
    /// ```
    pub fn smallest(&self, a: &[f64], b: &[f64]) -> Option<Detectable> {
        let noise = Noise::of(&[a, b])?;
        if a.len().min(b.len()) < FEWEST_TRIALS {
            return Some(Detectable::Nothing { least_repeats: FEWEST_TRIALS });
        }
        let mut shifts = self.shifts(&noise, a.len(), b.len());
        shifts.sort_unstable_by(f64::total_cmp);
        let enough = (self.power * shifts.len() as f64).ceil() as usize;
        let shift = shifts.get(enough.clamp(1, shifts.len().max(1)) - 1).copied().unwrap_or_default();
        Some(Detectable::Ratio(shift.max(0.0).exp()))
    }

    /// Returns how many trials each group needs so that a true ratio (1.05 or 1 / 1.05: 5 %) is found as surely as asked, given the spread of these
    /// trials. Never below [`FEWEST_TRIALS`].
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
            let shifts = self.shifts(&noise, n, n);
            let found = shifts.iter().filter(|needed| **needed <= shift).count();
            found as f64 >= self.power * shifts.len() as f64
        };
        // At the first power of two that is enough, look between it and the one before.
        let mut high = FEWEST_TRIALS;
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

    /// Of studies of pure noise: the shift of the second group's logarithms by which it would be separated from the first.
    fn shifts(&self, noise: &Noise, n: usize, m: usize) -> Vec<f64> {
        let mut random = Random::new(self.seed);
        let critical =
            Critical::of(self.alpha, Centre::freedom_of(n.min(m)), Centre::freedom_of(n) + Centre::freedom_of(m));
        let mut group = |size: usize| {
            let mut group: Vec<f64> = (0..size).map(|_| noise.draw(&mut random)).collect();
            group.sort_unstable_by(f64::total_cmp);
            Centre::of_sorted(&group)
        };
        let mut shift = || {
            let (a, b) = (group(n), group(m));
            critical.at(freedom(&a, &b)) * error_of_pair(&a, &b) - (b.log - a.log)
        };
        (0..self.draws).map(|_| shift()).collect()
    }
}

/// Critical values of Student's t, looked up: a study's degrees of freedom are no whole number.
struct Critical {
    /// Logarithms, by steps of 1 / df from the first.
    ln_t: Vec<f64>,
    first: usize,
}

impl Critical {
    /// Steps of 2 / df, from 0 to 1.
    const STEPS: f64 = 48.0;

    /// For degrees of freedom from `least` (2 or more) to `most`.
    fn of(alpha: f64, least: f64, most: f64) -> Critical {
        let first = (2.0 / most * Self::STEPS) as usize;
        let last = (2.0 / least * Self::STEPS).ceil() as usize + 1;
        let ln_t = |step: usize| student::critical(alpha, 2.0 * Self::STEPS / (step as f64).max(1e-3)).ln();
        Critical { ln_t: (first..=last).map(ln_t).collect(), first }
    }

    fn at(&self, df: f64) -> f64 {
        let at = (2.0 / df * Self::STEPS - self.first as f64).clamp(0.0, (self.ln_t.len() - 1) as f64);
        let below = (at as usize).min(self.ln_t.len() - 2);
        (self.ln_t[below] + (at - below as f64) * (self.ln_t[below + 1] - self.ln_t[below])).exp()
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
}

#[cfg(test)]
mod tests {
    use super::{Critical, student};

    #[test]
    fn critical_values_looked_up_are_those_computed() {
        for alpha in [0.05, 0.05 / 45.0, 0.05 / 500.0] {
            for df in [2.0f64, 2.1, 2.9, 4.5, 8.0, 19.3, 200.0] {
                let critical = Critical::of(alpha, df.min(4.0), df + 7.0);
                let (found, exact) = (critical.at(df), student::critical(alpha, df));
                assert!((found / exact - 1.0).abs() < 2e-3, "alpha {alpha}, df {df}: {found} for {exact}");
            }
        }
    }
}
