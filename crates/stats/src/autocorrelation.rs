//! Numbers that depend on those before them.

use crate::order::sorted;

/// Returns the autocorrelation at `lag`: the covariance of values so far apart over the variance, -1 to 1. Positive at small lags means
/// drift: neighbours are alike, and the numbers are worth fewer than their count.
///
/// Method: the usual estimator (Box & Jenkins, *Time Series Analysis*, 1970), divided by n at every lag, as R's `acf`.
/// Invariant: 1 at lag 0; does not change when values are shifted or scaled. Cost: O(n).
///
/// `None` when there are not more than `lag` values, all are equal, or one is not finite.
///
/// ```
/// let drift: Vec<f64> = (0..10).map(f64::from).collect();
/// assert!((stats::autocorrelation(&drift, 1).unwrap() - 0.7).abs() < 1e-12);
/// ```
pub fn autocorrelation(values: &[f64], lag: usize) -> Option<f64> {
    Centred::of(values)?.correlation(lag)
}

/// Returns how many independent values would give the mean as precisely as these: n for independent ones, fewer when neighbours are alike.
///
/// Method: n / (1 + 2 Σ ρ(k)), summed as far as sums of two neighbouring autocorrelations stay positive and do not rise:
/// the initial monotone sequence of Geyer, *Practical Markov Chain Monte Carlo*, Statist. Sci. 7 (1992). For an autoregression
/// of coefficient φ it estimates n (1 - φ) / (1 + φ).
///
/// Invariant: between 1 and n; alternating values, which tell the mean better than independent ones, count as n. Cost: O(n) a
/// lag, as many lags as the dependence reaches.
///
/// `None` for fewer than two values or one that is not finite. Equal values count as n.
///
/// ```
/// let drift: Vec<f64> = (0..100).map(f64::from).collect();
/// assert!(stats::effective_sample_size(&drift).unwrap() < 5.0);
/// ```
pub fn effective_sample_size(values: &[f64]) -> Option<f64> {
    if values.len() < 2 || sorted(values)?.first() == sorted(values)?.last() {
        return (values.len() >= 2 && values[0].is_finite()).then_some(values.len() as f64);
    }
    let n = values.len();
    let centred = Centred::of(values)?;
    let (mut sum, mut least) = (0.0, f64::INFINITY);
    for pair in 0..n / 2 {
        let rho = |lag| centred.correlation(lag).unwrap_or(0.0);
        let both = rho(2 * pair) + rho(2 * pair + 1);
        if both <= 0.0 {
            break;
        }
        least = both.min(least);
        sum += least;
    }
    Some((n as f64 / (2.0 * sum - 1.0).max(1.0)).max(1.0))
}

/// Values less their mean, and the sum of their squares.
struct Centred {
    values: Vec<f64>,
    squares: f64,
}

impl Centred {
    fn of(values: &[f64]) -> Option<Centred> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let values: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let squares = values.iter().map(|value| value * value).sum::<f64>();
        (squares.is_finite() && squares > 0.0).then_some(Centred { values, squares })
    }

    fn correlation(&self, lag: usize) -> Option<f64> {
        let later = self.values.get(lag..).filter(|later| !later.is_empty())?;
        Some(self.values.iter().zip(later).map(|(one, other)| one * other).sum::<f64>() / self.squares)
    }
}
