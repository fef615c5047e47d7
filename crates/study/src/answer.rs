//! What a job computed, and its digest.

use crate::visible;
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

impl Answer {
    /// Returns the same with every character of its facts to be seen: titles and words in them come from data.
    pub fn seen(mut self) -> Answer {
        self.facts.values_mut().for_each(show);
        self
    }
}

fn show(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::String(text) => *text = visible(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(show),
        Value::Object(fields) => fields.values_mut().for_each(show),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
