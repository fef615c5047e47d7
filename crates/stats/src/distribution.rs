//! Bootstrap distributions and the interval read off them.

use crate::normal;

/// A discrete distribution of a resampled statistic.
pub(crate) struct DiscreteDistribution {
    /// Values with their probabilities, in ascending order of value; probabilities sum to 1.
    atoms: Vec<(f64, f64)>,
}

impl DiscreteDistribution {
    /// Makes the distribution of equally likely values, in any order.
    pub(crate) fn of_draws(mut values: Vec<f64>) -> DiscreteDistribution {
        values.sort_unstable_by(f64::total_cmp);
        let weight = 1.0 / values.len() as f64;
        DiscreteDistribution { atoms: values.into_iter().map(|value| (value, weight)).collect() }
    }

    /// Makes the distribution of values with their probabilities, in any order.
    pub(crate) fn of_atoms(mut atoms: Vec<(f64, f64)>) -> DiscreteDistribution {
        atoms.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        DiscreteDistribution { atoms }
    }

    /// Returns whether every value is a number.
    pub(crate) fn is_finite(&self) -> bool {
        self.atoms.iter().all(|atom| atom.0.is_finite())
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

    /// Returns the bias-corrected and accelerated interval: Efron, *Better Bootstrap Confidence Intervals*, JASA 82 (1987). Ties with the
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
}

/// Returns the acceleration of BCa from leave-one-out values (Efron 1987, equation 6.6): a sixth of their skewness.
pub(crate) fn acceleration(leave_one_out: &[f64]) -> f64 {
    let mean = leave_one_out.iter().sum::<f64>() / leave_one_out.len() as f64;
    let (squares, cubes) = leave_one_out.iter().fold((0.0, 0.0), |(squares, cubes), value| {
        let off = mean - value;
        (squares + off * off, cubes + off * off * off)
    });
    if squares > 0.0 { cubes / (6.0 * f64::powf(squares, 1.5)) } else { 0.0 }
}
