//! What became of the writes of a trial.

use serde::{Deserialize, Serialize};

/// The fate of a trial's writes. Only a lost acknowledged write speaks against the store: whether a failed write took effect is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WriteAccount {
    /// Acknowledged, and not there when it was read later. Of a job that writes its keys again and again: keys to which that happened.
    pub lost: u64,
    /// Failed, and never seen.
    pub failed_absent: u64,
    /// Failed, and there all the same.
    pub failed_present: u64,
}

impl WriteAccount {
    /// Writes that failed.
    pub fn failed(self) -> u64 {
        self.failed_absent + self.failed_present
    }

    /// Adds another part of the same trial.
    pub fn merge(&mut self, other: WriteAccount) {
        self.lost += other.lost;
        self.failed_absent += other.failed_absent;
        self.failed_present += other.failed_present;
    }
}
