//! A number that carries its uncertainty.

use serde::{Deserialize, Serialize};

/// A measured value with its interval. The unit is in the name of the field that holds it (`makespan_s`, `disk_bytes`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// The estimate: a median over trials.
    pub value: f64,
    /// Lower end of the interval. Equals `value` when `n` is 1.
    pub low: f64,
    /// Upper end of the interval. Equals `value` when `n` is 1.
    pub high: f64,
    /// Nominal coverage of the interval, 0.95 unless asked otherwise; 0 when `n` is 1 and there is no interval.
    pub level: f64,
    /// Number of independent trials behind the estimate.
    pub n: u32,
}

impl Quantity {
    /// One observation: a value without an interval, and it says so.
    pub fn single(value: f64) -> Quantity {
        Quantity { value, low: value, high: value, level: 0.0, n: 1 }
    }
}
