//! A number that carries its uncertainty.

use serde::{Deserialize, Deserializer, Serialize};

/// A measured value with its interval. The unit is in the name of the field that holds it (`makespan_s`, `disk_bytes`).
///
/// A percentile that was not reached, because too many operations failed, is infinite; JSON has `null` there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// The estimate: a median over trials; of a percentile or a share that of all trials together.
    #[serde(deserialize_with = "or_infinite")]
    pub value: f64,
    /// Lower end of the interval. Equals `value` when `n` is 1.
    #[serde(deserialize_with = "or_infinite")]
    pub low: f64,
    /// Upper end of the interval. Equals `value` when `n` is 1.
    #[serde(deserialize_with = "or_infinite")]
    pub high: f64,
    /// Nominal coverage of the interval, 0.95 unless asked otherwise; 0 when `n` is 1 and there is no interval.
    pub level: f64,
    /// Number of independent trials behind the estimate.
    pub n: u32,
}

fn or_infinite<'de, D: Deserializer<'de>>(number: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(number)?.unwrap_or(f64::INFINITY))
}

impl Quantity {
    /// Makes a quantity of one observation: a value without an interval, with a level of 0.
    pub fn single(value: f64) -> Quantity {
        Quantity { value, low: value, high: value, level: 0.0, n: 1 }
    }

    /// Returns whether the quantity is a percentile that was not reached, because too many operations failed.
    pub fn is_not_reached(&self) -> bool {
        self.value == f64::INFINITY
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Quantity;

    #[test]
    fn what_was_not_reached_is_null_in_json_and_read_back() {
        let quantity = Quantity { value: f64::INFINITY, low: 5.0, high: f64::INFINITY, level: 0.9375, n: 5 };
        let json = serde_json::to_string(&quantity).unwrap();
        assert_eq!(json, r#"{"value":null,"low":5.0,"high":null,"level":0.9375,"n":5}"#);
        let read: Quantity = serde_json::from_str(&json).unwrap();
        assert_eq!((read, read.is_not_reached()), (quantity, true));
        assert!(serde_json::from_str::<Quantity>(r#"{"value":1,"low":1,"high":1,"n":1}"#).is_err(), "level is missing");
    }
}
