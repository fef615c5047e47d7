//! The top of `study.json`.

use crate::{
    Cell, Crash, HostFacts, Left, PresetRecord, RateSearch, Sampled, Selftest, StoreChoice, TrialOrder, Tune, Varied,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the schema this build writes. Since 1, `told_apart` is `separated` (read under both names); else fields are only ever added.
pub const SCHEMA: u32 = 2;

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
    /// The order in which trials run.
    #[serde(default)]
    pub order: TrialOrder,
    /// The keys that `--vary` varies; empty in a study of one combination.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub varied: Vec<Varied>,
    /// The combinations that were drawn, when not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// Facts of the job's input: name, bytes, digest, counts; in a study of several combinations the facts all of them share.
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
    /// The faults of every trial, as `--fault` asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// The longest time for an operation while nodes fail, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault_timeout_s: Option<f64>,
    /// The needs of the user, as `--need` says them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// The bound of the memory of each private server, by a control group, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_memory_bytes: Option<u64>,
    /// All cells, in the order they were named.
    pub cells: Vec<Cell>,
    /// The highest rates under a bound, of `--find-rate`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_search: Vec<RateSearch>,
    /// The keys and tables the run left in the user's own stores; `kvtrial clear` deletes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<Left>,
    /// The result of `kvtrial tune`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune: Option<Tune>,
    /// The decision of `kvtrial choose`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<StoreChoice>,
    /// The result of `kvtrial crash`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<Crash>,
    /// Anything a later version adds.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}
