//! The original a study repeats, and the numbers then published.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The original a study was set up after (`--preset`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PresetRecord {
    /// The name of the preset: the year of the original.
    pub name: String,
    /// A sentence on what was run then, and on what machine.
    pub about: String,
    /// The author and place of publication.
    pub source: String,
    /// Size of this study as a multiple of the original's.
    pub scale: f64,
    /// The quantities that were made smaller or larger.
    pub scaled: Vec<Scaled>,
    /// Options with which the user changed the preset.
    pub overridden: Vec<String>,
    /// The numbers published. The first is what the others are compared with.
    pub originals: Vec<Original>,
    /// The differences from the original.
    pub differences: Vec<String>,
}

/// A size that differs from the original's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scaled {
    /// The quantity that is scaled, e.g. `keys`.
    pub what: String,
    /// The original's number.
    pub original: u64,
    /// This study's number.
    pub here: u64,
}

/// A number the original published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Original {
    /// The system as it was named then.
    pub system: String,
    /// The store of this study it corresponds to, when there is one.
    pub store: Option<String>,
    /// Parameters of the cell it corresponds to; all others may have any value.
    pub params: BTreeMap<String, String>,
    /// The number.
    pub value: f64,
    /// The measure of this number.
    pub measure: OriginalMeasure,
}

/// The measure of a published number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum OriginalMeasure {
    /// Time of the whole job, seconds.
    #[default]
    MakespanS,
    /// Operations per second of one phase; of all timed phases when empty.
    OpsPerS {
        /// The phase's name.
        phase: String,
    },
    /// Things of the input per second.
    InputPerS {
        /// The name of the items in the study's `input`.
        what: String,
    },
}
