//! What each of several servers that together are one store used.

use serde::{Deserialize, Serialize};

/// Whom a node serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Clients: its endpoint is one of those the store connects to.
    #[default]
    Clients,
    /// The other nodes only.
    Nodes,
}

/// What one node used during the timed phases of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeUse {
    /// Its name.
    pub name: String,
    /// Whom it serves.
    pub role: Role,
    /// User and system CPU seconds of all its lives.
    pub cpu_s: f64,
    /// Peak resident set.
    pub peak_rss_bytes: u64,
    /// Bytes on disk after the job, below its own directory, without logs.
    pub disk_bytes: u64,
}
