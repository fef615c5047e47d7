//! What is known of a key of which a write failed: nobody knows whether that write took effect, or when it still will.
//!
//! Such a write is like one in flight that never ends: its version may be answered at any time, until an operation that began after it was
//! seen has ended. All others are judged as before: what was finished when the operation that began last of all that have ended began is
//! out of date, but for that operation's own version. Here moments are counted key by key and each unfinished version is kept by its
//! number, so nothing is forgiven but what failed.
//!
//! Other jobs have [`jobkit::Doubts`], for keys that one client at a time writes and reads, and for sums. Here writes and reads of one key cross:
//! what may be answered depends on when each began. Keys in doubt are judged throughout the run, so failed versions are found by order.

use std::collections::{BTreeSet, VecDeque};

/// Versions of which it is kept when they finished; of those before them only that it was earlier.
const KEPT: usize = 128;

/// A key of which a write failed.
#[derive(Clone, Debug, Default)]
pub struct UncertainKey {
    /// Moments so far: each operation begins in one of its own.
    moments: u32,
    /// Versions whose writes are in flight or have failed, and that nobody has read.
    unfinished: BTreeSet<u32>,
    /// Those of them that have failed.
    failed: BTreeSet<u32>,
    /// Versions whose writes failed and that were read all the same.
    seen: u64,
    /// Versions that have finished since the key is in doubt, and when; what is not here has finished at `before` or earlier.
    finished: VecDeque<(u32, u32)>,
    before: u32,
    last: Option<LastOperation>,
}

/// The operation that began last of all that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastOperation {
    /// The version it wrote or read.
    pub version: u32,
    /// The moment in which it began.
    pub began: u32,
}

impl UncertainKey {
    /// Makes a key of which these versions are unfinished.
    pub fn new(unfinished: BTreeSet<u32>) -> UncertainKey {
        UncertainKey { unfinished, ..UncertainKey::default() }
    }

    /// Begins an operation; returns its moment.
    pub fn begin(&mut self) -> u32 {
        self.moments = self.moments.saturating_add(1);
        self.moments
    }

    /// Begins a write of this version; returns its moment.
    pub fn begin_write(&mut self, version: u32) -> u32 {
        self.unfinished.insert(version);
        self.begin()
    }

    /// Notes that the write of this version failed.
    pub fn fail(&mut self, version: u32) {
        if self.unfinished.insert(version) {
            self.finished.retain(|(known, _)| *known != version);
        }
        self.failed.insert(version);
    }

    /// Notes that this version has taken effect: its write was acknowledged, or it was read.
    pub fn finish(&mut self, version: u32) {
        if !self.unfinished.remove(&version) {
            return;
        }
        self.seen += u64::from(self.failed.remove(&version));
        self.finished.push_back((version, self.moments));
        if self.finished.len() > KEPT
            && let Some((_, moment)) = self.finished.pop_front()
        {
            self.before = self.before.max(moment);
        }
    }

    /// Notes that an operation has ended that wrote or read this version and began in that moment.
    pub fn ended(&mut self, version: u32, began: u32) {
        if self.last.is_none_or(|last| began > last.began) {
            self.last = Some(LastOperation { version, began });
        }
    }

    /// Returns the operation that began last of all that have ended, since the key is in doubt.
    pub fn last(&self) -> Option<LastOperation> {
        self.last
    }

    /// Returns whether a read that was sent when `last` was the last operation may not answer this version.
    pub fn is_outdated(&self, last: LastOperation, version: u32) -> bool {
        if version == last.version || self.unfinished.contains(&version) {
            return false;
        }
        let finished = self.finished.iter().rev().find(|(known, _)| *known == version);
        finished.map_or(self.before, |(_, moment)| *moment) < last.began
    }

    /// Versions whose writes failed: those nobody has seen, and those that were read.
    pub fn failed(&self) -> (u64, u64) {
        (self.failed.len() as u64, self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::UncertainKey;

    #[test]
    fn a_failed_version_may_be_answered_until_something_later_was_and_what_was_acknowledged_may_not_go_back() {
        let mut doubt = UncertainKey::new([6].into());
        doubt.fail(6);
        let began = doubt.begin_write(7);
        doubt.finish(7);
        doubt.ended(7, began);
        let last = doubt.last().unwrap_or_else(|| unreachable!());
        assert!(doubt.is_outdated(last, 5) && !doubt.is_outdated(last, 6) && !doubt.is_outdated(last, 7));
        // It is read: from then on nothing else may be.
        let began = doubt.begin();
        doubt.finish(6);
        doubt.ended(6, began);
        let last = doubt.last().unwrap_or_else(|| unreachable!());
        assert!(doubt.is_outdated(last, 7) && !doubt.is_outdated(last, 6));
        assert_eq!(doubt.failed(), (0, 1));
    }

    #[test]
    fn what_finished_too_long_ago_to_be_known_is_not_blamed_by_a_read_sent_before() {
        let mut doubt = UncertainKey::new([1].into());
        doubt.fail(1);
        let mut early = None;
        for version in 2..1000 {
            let began = doubt.begin_write(version);
            doubt.finish(version);
            doubt.ended(version, began);
            if version == 10 {
                early = doubt.last();
            }
        }
        let (early, last) = (early.unwrap_or_else(|| unreachable!()), doubt.last().unwrap_or_else(|| unreachable!()));
        assert!((11..1000).all(|version| !doubt.is_outdated(early, version)));
        assert!((2..999).all(|version| doubt.is_outdated(last, version)) && !doubt.is_outdated(last, 1));
    }
}
