//! The standard normal distribution.

use std::f64::consts::TAU;

/// Returns Φ(x), the probability of a standard normal number at most `x`: Taylor series of Marsaglia, *Evaluating the Normal Distribution*,
/// Journal of Statistical Software 11 (2004); absolute error below 8e-16 for |x| < 8.
pub(crate) fn probability_below(x: f64) -> f64 {
    if x < -8.0 {
        return 0.0;
    }
    if x > 8.0 {
        return 1.0;
    }
    let (mut sum, mut term, mut odd) = (x, x, 1.0);
    loop {
        odd += 2.0;
        term *= x * x / odd;
        let next = sum + term;
        if next == sum {
            return 0.5 + sum * (-x * x / 2.0).exp() / TAU.sqrt();
        }
        sum = next;
    }
}

/// Returns Φ⁻¹(p), the inverse of [`probability_below`], by bisection and Newton steps on it: as exact as Φ itself, about 1 µs.
/// Probabilities of 0 and 1 give the ends of the range, ±8.
pub(crate) fn quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    let mut x = 0.0;
    for _ in 0..80 {
        let excess = probability_below(x) - probability;
        if excess == 0.0 {
            return x;
        }
        if excess > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let density = (-x * x / 2.0).exp() / TAU.sqrt();
        let newton = x - excess / density;
        let next = if newton > low && newton < high { newton } else { low + (high - low) / 2.0 };
        if (next - x).abs() < 1e-14 {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::{probability_below, quantile};

    #[test]
    fn known_points_of_the_normal_distribution_are_met() {
        for (x, expected) in [
            (0.0, 0.5),
            (1.0, 0.841344746068543),
            (-1.959963984540054, 0.025),
            (3.0, 0.998650101968370),
            (-6.0, 9.865876450376946e-10),
        ] {
            assert!((probability_below(x) - expected).abs() < 1e-14, "{x}");
        }
        assert!((quantile(0.975) - 1.959963984540054).abs() < 1e-12);
        assert!((quantile(0.001) + 3.090232306167813).abs() < 1e-12);
        assert_eq!(quantile(0.5), 0.0);
    }

    #[test]
    fn the_quantile_undoes_the_probability() {
        for step in 1..1000 {
            let probability = f64::from(step) / 1000.0;
            assert!((probability_below(quantile(probability)) - probability).abs() < 1e-14);
        }
    }
}
