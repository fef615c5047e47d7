//! What a run left in a store of the user's.

use serde::{Deserialize, Serialize};

/// The keys and tables that a run left in one of the user's own stores. kvtrial removes none of them unless the user says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Left {
    /// The store's spec without secrets and options.
    pub store: String,
    /// Keys of the job.
    pub keys: u64,
    /// How sure that number is.
    pub count: LeftCount,
    /// Tables, collections and databases that kvtrial has made there if they were not there before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<String>,
}

/// The meaning of the number of keys left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftCount {
    /// Exactly that many: the last trial was finished.
    #[default]
    Exact,
    /// At most as many as said: the last trial was not finished, or its job cannot count them.
    AtMost,
    /// An unknown number: the last trial was not finished, and its job inserts as long as there is time. The number covers the keys known
    /// before.
    Unknown,
}
