//! The top of `study.json`.

use crate::{Cell, HostFacts, PresetRecord, Selftest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the schema this build writes. Fields are only ever added.
pub const SCHEMA: u32 = 1;

/// Everything one invocation planned and found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Schema version.
    pub schema: u32,
    /// Version of kvtrial that wrote it.
    pub kvtrial: String,
    /// The command line, without secrets.
    pub command: Vec<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// RFC 3339, UTC.
    #[serde(default)]
    pub started_at: String,
    /// Number of counted trials each cell is to have.
    #[serde(default)]
    pub repeats: u32,
    /// Number of warm-up trials each cell is to have.
    #[serde(default)]
    pub warmups: u32,
    /// What the job read: name, bytes, digest, counts.
    #[serde(default)]
    pub input: BTreeMap<String, serde_json::Value>,
    /// The original it repeats, when `--preset` named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<PresetRecord>,
    /// The machine.
    pub host: HostFacts,
    /// The latest self-test of this build on this machine; `null` when there was none.
    #[serde(default)]
    pub selftest: Option<Selftest>,
    /// All cells, in the order they were named.
    pub cells: Vec<Cell>,
    /// Anything a later version adds.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}
