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

/// A record of what was done to a node while a trial ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultRecord {
    /// The fault as it was asked for: `at 5s kill 2`, `at 5s add`.
    pub planned: String,
    /// The node's name; empty for the only one.
    pub node: String,
    /// The planned time, seconds since the first timed phase began.
    pub planned_at_s: f64,
    /// The time the fault was begun; `None`: the trial was over before.
    pub at_s: Option<f64>,
    /// The time a frozen node went on, a cut or a moved clock was over, a node that was started again was ready, or an added node had its share of
    /// the keys.
    pub until_s: Option<f64>,
    /// For a node that was started again: the time it had all that the others have. `None`: the store does not report this, or the node
    /// had not caught up by the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caught_up_s: Option<f64>,
    /// For a node that led: which node led in its place, and from when on. `None`: no node did by the end, or the store does not report
    /// who leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_over: Option<Takeover>,
    /// Longest time without a good reply between this fault and the next, or the end of the timed phases, as its series shows.
    pub longest_gap_s: Option<f64>,
    /// The resolution of that gap: the longest interval of the series.
    pub resolution_s: Option<f64>,
    /// Longest time in which a part of the key space had no answers; `None`: it was not watched, or the fault never happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_dark_s: Option<f64>,
    /// Largest share of the keys that had no answers at the same time, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dark_share: Option<f64>,
    /// Operations in that time that failed or were answered wrongly.
    pub failed_operations: u64,
    /// 99th percentile of response time in the 10 s before it, as far as those are not of another fault; `None`: no reply came, or the study is
    /// of an earlier build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_before_ns: Option<u64>,
    /// The same in the 10 s after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_after_ns: Option<u64>,
    /// Why it could not be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Another node in the place of one that was struck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Takeover {
    /// The name of the node that leads now.
    pub by: String,
    /// The time that node was first seen to lead, seconds since the first timed phase began; exact to some 30 ms.
    pub at_s: f64,
}

/// A time in which a part of the key space had no answers, though something was asked there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DarkTime {
    /// The part: the keys that one node answered for at first, from 0; of a store that is one to its clients, all keys.
    pub part: u32,
    /// The part's share of all keys, 0 to 1.
    pub share: f64,
    /// The start of the dark time, seconds since the first timed phase began.
    pub from_s: f64,
    /// The end of the dark time: a good answer, or the end of the phase.
    pub until_s: f64,
}

/// The resources one node used during the timed phases of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeUse {
    /// The name of the node.
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
