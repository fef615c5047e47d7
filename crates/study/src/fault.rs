//! What a fault cost a store, over its trials.

use crate::Quantity;
use serde::{Deserialize, Serialize};

/// The cost of one fault of the plan: medians over the counted trials in which the fault was done. Figures that no trial shows are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultFigures {
    /// The fault as it was asked for: `at 5s kill 2`.
    pub planned: String,
    /// The node's name; empty for the only one.
    pub node: String,
    /// Counted trials in which it was done.
    pub trials: u32,
    /// The time of the fault, seconds since the first timed phase began.
    pub at_s: Option<Quantity>,
    /// Longest time in which a part of the key space had no answers; 0 where none of 50 ms was seen.
    pub longest_dark_s: Option<Quantity>,
    /// Share of the keys times the time they had no answers, summed: a third of the keys dark for 3 s is 1 s.
    pub dark_key_s: Option<Quantity>,
    /// Operations that failed, until the next fault.
    pub failed_operations: Option<Quantity>,
    /// Good answers per second in the 10 s before.
    pub before_per_s: Option<Quantity>,
    /// Good answers per second in the 10 s after.
    pub after_per_s: Option<Quantity>,
    /// 99th percentile of response time in the 10 s before.
    pub p99_before_ns: Option<Quantity>,
    /// The same in the 10 s after.
    pub p99_after_ns: Option<Quantity>,
    /// Time until good answers came at 95 % of the rate before again, over half a second; 0 where the rate did not fall. Of the trials in
    /// which it came back before the next fault or the end.
    pub back_s: Option<Quantity>,
    /// Trials in which it did not.
    pub not_back: u32,
    /// Time until a node started again was ready, one added had its share of the keys, or a frozen one went on; of a cut or a moved clock: until
    /// it was over.
    pub done_s: Option<Quantity>,
    /// Time until a node started again had all that the others have, where the store says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caught_up_s: Option<Quantity>,
    /// Time until another node led in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_over_s: Option<Quantity>,
}
