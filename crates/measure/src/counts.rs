//! How many operations, and what came of them.

use serde::{Deserialize, Serialize};
use store::{Failure, Fate, OperationKind, Reply};

/// Counts of one thread or phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Operations with a reply, good or bad.
    pub operations: u64,
    /// The operations of these that were answered after the time given was over.
    pub late: u64,
    /// Checks between them with a reply, good or bad: they are in no other figure but `errors`.
    pub checks: u64,
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// Operations that failed or were answered wrongly.
    pub errors: u64,
    /// Operations that failed: they have no response time.
    pub failed: u64,
    /// Operations and checks the store refused: they did not happen.
    pub refused: u64,
    /// Operations and checks that were never sent, for lack of a connection: they did not happen.
    pub not_connected: u64,
    /// Operations and checks that may have happened.
    pub unknown: u64,
    /// Compare-and-set operations that lost their race.
    pub conflicts: u64,
    /// Open loop: operations due within the time, or left of the job's own number, and never sent.
    pub not_sent: u64,
    /// Value bytes read.
    pub bytes_read: u64,
    /// Key and value bytes sent to be written.
    pub bytes_written: u64,
}

impl Counts {
    /// Counts one reply to an operation of this kind. Returns whether the operation failed.
    #[inline(always)]
    pub fn add(&mut self, kind: OperationKind, reply: &Reply<'_>) -> bool {
        self.operations += 1;
        match reply {
            Reply::Value(value) | Reply::Versioned { value, .. } => {
                self.hits += 1;
                self.bytes_read += value.len() as u64;
            }
            Reply::Missing if kind != OperationKind::Delete => self.misses += 1,
            Reply::Conflict => self.conflicts += 1,
            Reply::Rows(rows) => self.bytes_read += rows.bytes_len() as u64,
            Reply::Failed(failure) => {
                self.failed += 1;
                self.fail(*failure);
                return true;
            }
            _ => {}
        }
        false
    }

    /// Counts what is known of an operation or a check that failed. Inlined: a call with these counts would keep them out of registers in
    /// the loop of a store that answers at once.
    #[inline(always)]
    pub fn fail(&mut self, failure: Failure<'_>) {
        match failure.fate() {
            Fate::Refused => self.refused += 1,
            Fate::NotConnected => self.not_connected += 1,
            Fate::Unknown => self.unknown += 1,
        }
    }

    /// Returns the number of operations that were answered, in time or late.
    pub fn answered(&self) -> u64 {
        self.operations - self.failed
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Counts) {
        self.operations += other.operations;
        self.late += other.late;
        self.checks += other.checks;
        self.hits += other.hits;
        self.misses += other.misses;
        self.errors += other.errors;
        self.failed += other.failed;
        self.refused += other.refused;
        self.not_connected += other.not_connected;
        self.unknown += other.unknown;
        self.conflicts += other.conflicts;
        self.not_sent += other.not_sent;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
    }
}
