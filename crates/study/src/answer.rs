//! What a job computed, and its digest.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The answer of a job: equal digests on every store mean the stores did the same work and lost nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// `sha256:` and 64 hex digits, over lines ending in `\n`, in byte order. Empty when the store keeps nothing (null).
    pub digest: String,
    /// Named counts and sums a reader can check by hand, e.g. `pages`, `mentions`, `sha256_fans`.
    pub facts: BTreeMap<String, serde_json::Value>,
}
