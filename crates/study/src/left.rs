//! What a run left in a store of the user's.

use serde::{Deserialize, Serialize};

/// What a run left in one store of the user's. Nothing of it is removed unless the user says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Left {
    /// The store's spec without secrets and options.
    pub store: String,
    /// Keys of the job.
    pub keys: u64,
    /// How many that is.
    pub count: LeftCount,
    /// Tables, collections and databases that kvtrial has made there if they were not there before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<String>,
}

/// How many keys were left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftCount {
    /// As many as said: the last trial was finished.
    #[default]
    Exact,
    /// At most as many as said: the last trial was not finished, or its job cannot count them.
    AtMost,
    /// It is not known: the last trial was not finished, and its job inserts as long as there is time. Said are those known before.
    Unknown,
}
