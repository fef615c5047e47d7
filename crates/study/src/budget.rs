//! Where the time per operation goes.

use crate::Quantity;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A layer of the cost of an operation, from the inside out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BudgetLayer {
    /// kvtrial's loop and the job, with nothing kept: the `null` cell.
    Generator,
    /// The job's work on kept values, and a map in the client's own process: what `ram` takes beyond `null`.
    Client,
    /// Client codec, system calls, socket and a minimal server's part of them: what `echo` takes beyond `ram`.
    Wire,
    /// The store itself: what its cell takes beyond the layers below.
    Store,
}

impl BudgetLayer {
    /// All layers, from the inside out.
    pub const ALL: [BudgetLayer; 4] =
        [BudgetLayer::Generator, BudgetLayer::Client, BudgetLayer::Wire, BudgetLayer::Store];

    /// Returns the word of `study.json` and of reports.
    pub fn name(self) -> &'static str {
        match self {
            BudgetLayer::Generator => "generator",
            BudgetLayer::Client => "client",
            BudgetLayer::Wire => "wire",
            BudgetLayer::Store => "store",
        }
    }
}

impl fmt::Display for BudgetLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A part of a budget: one layer, or several layers that no baseline splits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetPart {
    /// The layers of this part, e.g. `["wire", "store"]` where there was no echo baseline.
    pub layers: Vec<BudgetLayer>,
    /// The cell it ends at, and the one it begins at: `ram` beyond `null`. Without a beginning the whole time of the cell.
    pub of: String,
    /// See `of`.
    pub beyond: Option<String>,
    /// Time per operation, nanoseconds: the difference of the two cells, with its interval. Its value is never below zero.
    pub time_ns: Quantity,
    /// Whether the interval lies above zero. If not, these trials show no effect of this part.
    #[serde(alias = "told_apart")]
    pub separated: bool,
    /// Length of its bar, nanoseconds: never negative, and the bars of a budget add up to its time per operation.
    pub bar_ns: f64,
}

impl BudgetPart {
    /// Returns the name of the part: `client`, or `wire + store`.
    pub fn name(&self) -> String {
        self.layers.iter().map(|layer| layer.name()).collect::<Vec<_>>().join(" + ")
    }
}

/// A baseline that took longer for an operation than what stands above it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlowBaseline {
    /// The baseline's store: `echo-unix`.
    pub store: String,
    /// The baseline's makespan per operation, nanoseconds.
    pub time_per_operation_ns: Quantity,
}

/// The cost of an operation of a cell, split into layers. Time per operation is the makespan divided by the operations: with several in
/// flight at once it is shorter than any single operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Makespan by operations, nanoseconds.
    pub time_per_operation_ns: Quantity,
    /// The parts, from the inside out.
    pub parts: Vec<BudgetPart>,
    /// Baselines that took longer for an operation than what was to be measured by them: they split nothing, and the layers they stand for
    /// are in one part with the next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub too_slow: Vec<SlowBaseline>,
    /// Processor time of the client threads by operations, nanoseconds.
    pub client_cpu_per_operation_ns: Option<Quantity>,
    /// Processor time of a private server by operations, nanoseconds.
    pub server_cpu_per_operation_ns: Option<Quantity>,
}
