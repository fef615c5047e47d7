//! What decides which cell is best.

use serde::{Deserialize, Serialize};

/// The figure a cell is ranked by, written as the name of the field that holds it. It follows from how the job was driven: a
/// figure that was fixed beforehand says nothing about a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Measure {
    /// The work was fixed: the time it took, less is better.
    #[default]
    #[serde(rename = "makespan_s")]
    Makespan,
    /// The time was fixed (`seconds=`): operations per second, more is better.
    #[serde(rename = "ops_per_s")]
    Rate,
    /// The schedule was fixed (open loop, `--rate`): the 99th percentile of response time, less is better.
    #[serde(rename = "p99_ns")]
    Latency,
}
