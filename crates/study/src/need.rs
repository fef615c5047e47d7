//! What users need of a store, and what a cell showed of it.

use crate::Quantity;
use serde::{Deserialize, Serialize};

/// The ruling on a need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meets {
    /// The cell was shown to meet it.
    Met,
    /// The cell was shown to miss it.
    Missed,
    /// Neither was shown.
    #[default]
    NotShown,
}

/// What a cell showed of one need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NeedShown {
    /// The need as it was written: `p99<5ms`.
    pub need: String,
    /// The ruling.
    pub meets: Meets,
    /// The figure that was held against it, in the unit of the fields of a cell: nanoseconds, operations per second, bytes; of `disk<5x`
    /// bytes on disk per byte of keys and values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<Quantity>,
    /// How many times better than the need the figure is: 2 is half the time allowed, or twice the rate; below 1 it is worse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// What the figure is of, or why nothing is shown; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub because: String,
}
