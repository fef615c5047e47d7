//! What clients saw, key by key, and whether one copy of the data could have shown them that.

use serde::{Deserialize, Serialize};

/// The history of a trial. All times are seconds from the begin of the first timed phase; what was before it is negative.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct History {
    /// Why it was not checked; empty where it was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub problem: String,
    /// Operations that were recorded: reads and writes of one key.
    pub operations: u64,
    /// Those of them without an answer, so that they may have happened or not.
    pub unknown: u64,
    /// The keys.
    pub keys: u64,
    /// The keys that are not linearizable.
    pub contradicted_keys: u64,
    /// Reads that were answered.
    pub reads: u64,
    /// Reads of a version although a newer one had been acknowledged before the read was sent.
    pub stale_reads: u64,
    /// The longest time for which that newer version had been acknowledged; `None`: no read was stale.
    pub oldest_stale_s: Option<f64>,
    /// Reads of a version older than one the same client had read.
    pub backward_reads: u64,
    /// Reads of a version older than one the same client had written.
    pub own_writes_missed: u64,
    /// What is wrong with the smallest contradiction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flaw: Option<HistoryFlaw>,
    /// The operations of the smallest contradiction, by the time they were sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub smallest: Vec<HistoryOperation>,
    /// The file that the history was written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// What makes a history contradict itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryFlaw {
    /// A version was read that nobody had written.
    NeverWritten,
    /// A read was over before its version was sent.
    BeforeItsWrite,
    /// Each of two versions must have been there before the other.
    #[default]
    OutOfOrder,
}

/// What an operation of a contradiction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryAct {
    /// It read a version.
    #[default]
    Read,
    /// It read, and found nothing.
    Miss,
    /// It wrote a version.
    Write,
    /// It deleted the key.
    Delete,
    /// It increased a counter, to this number.
    Increase,
}

impl HistoryAct {
    /// Returns whether it left something, or nothing, for others to read.
    pub fn writes(self) -> bool {
        matches!(self, HistoryAct::Write | HistoryAct::Delete | HistoryAct::Increase)
    }
}

/// An operation of a contradiction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryOperation {
    /// The client, from 0; with a pipeline, the place in it.
    pub client: u32,
    /// The key's number.
    pub key: u64,
    /// What it did.
    pub act: HistoryAct,
    /// The version it wrote or read; 0: the key was not there. Of a read that found nothing, the delete that it saw.
    pub version: u64,
    /// When it was sent.
    pub sent_s: f64,
    /// When it was answered; `None`: never.
    pub answered_s: Option<f64>,
}
