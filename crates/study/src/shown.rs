//! What crashes have shown of the level of durability a store promises.

use crate::{CrashMeans, Promise};
use serde::{Deserialize, Serialize};

/// Whose crashes they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownWhere {
    /// This user's, on this machine.
    #[default]
    Here,
    /// Those that came with the build, on another machine.
    Elsewhere,
}

/// What crashes came to of a level. Where there were none, its promise is only what the store says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShownPromise {
    /// Whose crashes.
    pub place: ShownWhere,
    /// `kept` or `broken`.
    pub promise: Promise,
    /// How they were made.
    pub means: CrashMeans,
    /// How many.
    pub cuts: u32,
    /// The day of the latest, e.g. `2026-11-25`.
    pub day: String,
}

impl ShownPromise {
    /// The same after more crashes of that level: what was broken once stays broken.
    pub fn after(self, earlier: &ShownPromise) -> ShownPromise {
        let promise = if earlier.promise == Promise::Broken { Promise::Broken } else { self.promise };
        ShownPromise { promise, cuts: self.cuts + earlier.cuts, ..self }
    }
}
