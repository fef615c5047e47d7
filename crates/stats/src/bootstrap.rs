//! The bootstrap of any statistic, by seeded resampling.

use crate::distribution::{DiscreteDistribution, acceleration};
use crate::interval::{Estimate, reachable_level};
use crate::random::Random;

/// The plan of a bootstrap: level, resamples, seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Coverage wanted, e.g. 0.95.
    pub level: f64,
    /// Number of resamples; the ends of the interval wander by about one part in the square root of it.
    pub resamples: usize,
    /// Equal seeds give equal intervals.
    pub seed: u64,
}

impl Default for Bootstrap {
    /// 95 %, 10,000 resamples, seed 1.
    fn default() -> Bootstrap {
        Bootstrap { level: 0.95, resamples: 10_000, seed: 1 }
    }
}

impl Bootstrap {
    /// Returns a statistic of the samples with its BCa interval (Efron 1987; acceleration from the jackknife).
    ///
    /// For the median use [`median_interval`](crate::median_interval), which needs no resampling and treats small samples better.
    /// With one sample there is no interval; the level claimed is never above what n samples can give, 1 − 2^(1−n). Returns
    /// `None` without samples, or when a sample or the statistic is not finite.
    ///
    /// Invariant: `low ≤ value ≤ high`; the same for samples in any order only up to resampling noise. Cost: `resamples + n`
    /// calls of the statistic.
    pub fn interval(&self, samples: &[f64], statistic: impl Fn(&[f64]) -> f64) -> Option<Estimate> {
        let n = samples.len();
        let value = self.checked(samples).then(|| statistic(samples)).filter(|value| value.is_finite())?;
        if n == 1 {
            return Some(Estimate::bare(value, n));
        }
        let mut random = Random::new(self.seed);
        let mut drawn = samples.to_vec();
        let draws = (0..self.resamples)
            .map(|_| {
                drawn.fill_with(|| samples[random.below(n)]);
                statistic(&drawn)
            })
            .collect();
        let (low, high) = self.ends(draws, value, &without_one(samples, &statistic))?;
        Some(Estimate { value, low, high, level: self.level.min(reachable_level(n)), n })
    }

    /// Returns a statistic of two independent groups with its BCa interval; each group is resampled by itself.
    ///
    /// Same rules as [`Bootstrap::interval`]; `n` of the result is the size of the smaller group, and with a group of one there
    /// is no interval. Cost: `resamples + n + m` calls of the statistic.
    pub fn interval_of_two(&self, a: &[f64], b: &[f64], statistic: impl Fn(&[f64], &[f64]) -> f64) -> Option<Estimate> {
        let n = a.len().min(b.len());
        let value = (self.checked(a) && self.checked(b)).then(|| statistic(a, b)).filter(|value| value.is_finite())?;
        if n == 1 {
            return Some(Estimate::bare(value, n));
        }
        let mut random = Random::new(self.seed);
        let (mut drawn_a, mut drawn_b) = (a.to_vec(), b.to_vec());
        let draws = (0..self.resamples)
            .map(|_| {
                drawn_a.fill_with(|| a[random.below(a.len())]);
                drawn_b.fill_with(|| b[random.below(b.len())]);
                statistic(&drawn_a, &drawn_b)
            })
            .collect();
        // Each group's influence is centred by itself, then both are pooled (Efron & Tibshirani 1993, section 14.3, two samples).
        let mut influence = centred(without_one(a, |rest| statistic(rest, b)));
        influence.extend(centred(without_one(b, |rest| statistic(a, rest))));
        let (low, high) = self.ends(draws, value, &influence)?;
        Some(Estimate { value, low, high, level: self.level.min(reachable_level(n)), n })
    }

    fn checked(&self, samples: &[f64]) -> bool {
        self.level > 0.0
            && self.level < 1.0
            && self.resamples > 0
            && !samples.is_empty()
            && samples.iter().all(|sample| sample.is_finite())
    }

    /// Returns the interval of a statistic whose resampled distribution is known. `None` when a number is not finite.
    pub(crate) fn estimate(
        &self,
        all: DiscreteDistribution,
        value: f64,
        influence: &[f64],
        n: usize,
    ) -> Option<Estimate> {
        let usable = self.level > 0.0 && self.level < 1.0;
        if !usable || !value.is_finite() || !all.is_finite() || influence.iter().any(|one| !one.is_finite()) {
            return None;
        }
        let (low, high) = all.bca(value, acceleration(influence), self.level);
        Some(Estimate {
            value,
            low: low.min(value),
            high: high.max(value),
            level: self.level.min(reachable_level(n)),
            n,
        })
    }

    fn ends(&self, draws: Vec<f64>, value: f64, leave_one_out: &[f64]) -> Option<(f64, f64)> {
        if draws.iter().chain(leave_one_out).any(|draw| !draw.is_finite()) {
            return None;
        }
        let (low, high) = DiscreteDistribution::of_draws(draws).bca(value, acceleration(leave_one_out), self.level);
        Some((low.min(value), high.max(value)))
    }
}

/// The statistic of all samples but one, for each one.
fn without_one(samples: &[f64], statistic: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let mut rest = samples[1..].to_vec();
    let mut values = vec![statistic(&rest)];
    for left_out in 1..samples.len() {
        rest[left_out - 1] = samples[left_out - 1];
        values.push(statistic(&rest));
    }
    values
}

/// Returns leave-one-out values as influences of their group: (n − 1) times the distance from their mean, over n.
pub(crate) fn centred(mut values: Vec<f64>) -> Vec<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    for value in &mut values {
        *value = (*value - mean) * (n - 1.0) / n;
    }
    values
}
