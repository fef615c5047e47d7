//! Bootstrap distributions and the interval read off them.

use crate::normal;
use crate::order::halfway;

/// Atoms this improbable are left out; thousands of them move no end of an interval.
const NEGLIGIBLE: f64 = 1e-16;

/// A discrete distribution of a resampled statistic.
pub(crate) struct Distribution {
    /// Values with their probabilities, in ascending order of value; probabilities sum to 1.
    atoms: Vec<(f64, f64)>,
}

impl Distribution {
    /// Of equally likely values, in any order.
    pub(crate) fn of_draws(mut values: Vec<f64>) -> Distribution {
        values.sort_unstable_by(f64::total_cmp);
        let weight = 1.0 / values.len() as f64;
        Distribution { atoms: values.into_iter().map(|value| (value, weight)).collect() }
    }

    /// The exact distribution of the median of `n` draws with replacement from `n` sorted samples: what a bootstrap with
    /// infinitely many resamples would give. Maritz & Jarrett, *A Note on Estimating the Variance of the Sample Median*, JASA 73
    /// (1978), for odd n; for even n the joint distribution of the two middle order statistics. Cost: O(n) atoms for odd, O(n²)
    /// for even n.
    pub(crate) fn of_median(sorted: &[f64]) -> Distribution {
        let n = sorted.len();
        let middle = n / 2;
        let mut atoms = Vec::new();
        if n % 2 == 1 {
            let mut before = 0.0;
            for (index, &value) in sorted.iter().enumerate() {
                let below = at_least(n, (index + 1) as f64 / n as f64, middle + 1);
                atoms.push((value, below - before));
                before = below;
            }
        } else {
            // P(the lower middle is sample i and the upper is a later sample j): `middle` draws among the first i with the i-th
            // among them, `middle` draws from j on with the j-th among them, in C(n, middle) ways; in logarithms, so that
            // thousands of samples do not overflow. What is left of P(lower middle = i) has both equal.
            let log_ways: f64 = (0..middle).map(|k| ((n - k) as f64 / (k + 1) as f64).ln()).sum();
            let log_reach: Vec<f64> = (1..=n)
                .map(|count| {
                    let without = ((count - 1) as f64 / count as f64).powi(middle as i32);
                    middle as f64 * (count as f64 / n as f64).ln() + (-without).ln_1p()
                })
                .collect();
            let mut before = 0.0;
            for i in 0..n {
                let below = at_least(n, (i + 1) as f64 / n as f64, middle);
                let mut both = below - before;
                before = below;
                for j in i + 1..n {
                    let probability = (log_ways + log_reach[i] + log_reach[n - 1 - j]).exp();
                    if probability > NEGLIGIBLE {
                        both -= probability;
                        atoms.push((halfway(sorted[i], sorted[j]), probability));
                    }
                }
                if both > NEGLIGIBLE {
                    atoms.push((sorted[i], both));
                }
            }
            atoms.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
        Distribution { atoms }
    }

    /// The smallest value whose cumulative probability reaches `probability`.
    fn quantile(&self, probability: f64) -> f64 {
        let mut cumulative = 0.0;
        for &(value, weight) in &self.atoms {
            cumulative += weight;
            if cumulative >= probability - 1e-12 {
                return value;
            }
        }
        self.atoms[self.atoms.len() - 1].0
    }

    /// The bias-corrected and accelerated interval: Efron, *Better Bootstrap Confidence Intervals*, JASA 82 (1987). Ties with the
    /// estimate count half, as they must for a statistic as lumpy as a median.
    pub(crate) fn bca(&self, estimate: f64, acceleration: f64, level: f64) -> (f64, f64) {
        let below: f64 = self.atoms.iter().filter(|atom| atom.0 < estimate).map(|atom| atom.1).sum();
        let ties: f64 = self.atoms.iter().filter(|atom| atom.0 == estimate).map(|atom| atom.1).sum();
        let bias = normal::quantile(below + ties / 2.0);
        let end = |probability: f64| {
            let shifted = bias + normal::quantile(probability);
            self.quantile(normal::probability_below(bias + shifted / (1.0 - acceleration * shifted)))
        };
        (end((1.0 - level) / 2.0), end((1.0 + level) / 2.0))
    }

    #[cfg(test)]
    pub(crate) fn probability_at_most(&self, value: f64) -> f64 {
        self.atoms.iter().filter(|atom| atom.0 <= value).map(|atom| atom.1).sum()
    }
}

/// The acceleration of BCa from leave-one-out values (Efron 1987, equation 6.6): a sixth of their skewness.
pub(crate) fn acceleration(leave_one_out: &[f64]) -> f64 {
    let mean = leave_one_out.iter().sum::<f64>() / leave_one_out.len() as f64;
    let (squares, cubes) = leave_one_out.iter().fold((0.0, 0.0), |(squares, cubes), value| {
        let off = mean - value;
        (squares + off * off, cubes + off * off * off)
    });
    if squares > 0.0 { cubes / (6.0 * f64::powf(squares, 1.5)) } else { 0.0 }
}

/// P(at least `least` of `n` draws succeed), each with `probability`.
fn at_least(n: usize, probability: f64, least: usize) -> f64 {
    if probability >= 1.0 {
        return 1.0;
    }
    // In logarithms, so that a thousand trials do not underflow.
    let (success, failure) = (probability.ln(), (1.0 - probability).ln());
    let mut log_ways = 0.0;
    let mut sum = 0.0;
    for k in 0..=n {
        if k >= least {
            sum += (log_ways + k as f64 * success + (n - k) as f64 * failure).exp();
        }
        log_ways += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    sum.min(1.0)
}
