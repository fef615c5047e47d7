//! How often something happens.

use crate::interval::Estimate;
use crate::normal;

/// The share of `successes` among `n` independent trials, with its score interval: Wilson, *Probable Inference, the Law of
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
