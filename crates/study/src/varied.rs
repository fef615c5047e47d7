//! What a study varies, and in which order its trials run.

use serde::{Deserialize, Serialize};

/// A key of `--vary` with its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Varied {
    /// A parameter of the job, an option of the engine (`clients`, `pipeline`, `threads`, `rate`), or one of a store.
    pub key: String,
    /// The key's values, in the order they were given.
    pub values: Vec<String>,
    /// Stores that do not have it, or not all of its values: `null does not take it`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_taken: Vec<String>,
}

/// The order in which trials run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrialOrder {
    /// Random and balanced over all cells, so that no cell always runs first, last, or behind the same neighbour.
    #[default]
    Random,
    /// The order in which the cells are named, round after round: drift looks like an effect of the parameter. Only for demonstration.
    Rising,
}

impl TrialOrder {
    /// Returns the word of `--order` and `study.json`.
    pub fn name(self) -> &'static str {
        match self {
            TrialOrder::Random => "random",
            TrialOrder::Rising => "rising",
        }
    }
}

/// The part of all combinations that a study has, when it has not all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampled {
    /// Combinations drawn by the study's seed.
    pub combinations: u64,
    /// Combinations there are.
    pub of: u64,
}
