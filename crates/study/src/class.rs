//! Stores that may be compared with each other.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Comparison classes: numbers of different classes are not ranked together unless asked. In the order of every table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A baseline: shows the cost of operations without a store, such as `null`, `ram` and `echo`.
    Baseline,
    /// A data structure of a library in kvtrial's own memory.
    Library,
    /// A library in this process.
    #[default]
    Embedded,
    /// A store of one server process.
    Network,
    /// Several server processes.
    Distributed,
}

impl Class {
    /// All classes, in the order of every table.
    pub const ALL: [Class; 5] = [Class::Baseline, Class::Library, Class::Embedded, Class::Network, Class::Distributed];

    /// Returns the word used in reports and `study.json`.
    pub fn name(self) -> &'static str {
        match self {
            Class::Baseline => "baseline",
            Class::Library => "library",
            Class::Embedded => "embedded",
            Class::Network => "network",
            Class::Distributed => "distributed",
        }
    }

    /// Returns whether the class's stores are servers.
    pub fn has_servers(self) -> bool {
        matches!(self, Class::Network | Class::Distributed)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
