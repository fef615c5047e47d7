//! The operations of a key that name one version.

use crate::operation::{Deed, Encounter};
use std::ops::Range;

/// The time from which each key has its version 0.
pub(crate) const BEFORE_ALL: i64 = -1;

/// The write of a version and all reads of it.
#[derive(Clone, Debug)]
pub(crate) struct VersionZone {
    pub(crate) version: u64,
    /// Its operations among those of the key.
    pub(crate) operations: Range<usize>,
    /// The time at which the first of its operations was answered: from then on the version was there.
    pub(crate) first_answer_ns: i64,
    /// The time at which the last of its operations was sent: until then the version was not yet replaced.
    pub(crate) last_sent_ns: i64,
}

impl VersionZone {
    /// Returns the cluster of these operations, all of one version, the write first.
    pub(crate) fn of(all: &[Encounter], operations: Range<usize>) -> VersionZone {
        let version = all[operations.start].version();
        let (mut first_answer_ns, mut last_sent_ns) = (i64::MAX, BEFORE_ALL);
        if version == 0 {
            first_answer_ns = BEFORE_ALL;
        }
        for operation in &all[operations.clone()] {
            first_answer_ns = first_answer_ns.min(operation.end_ns());
            last_sent_ns = last_sent_ns.max(operation.begin_ns());
        }
        VersionZone { version, operations, first_answer_ns, last_sent_ns }
    }
}

/// Puts the operations of a key in order of versions, each write before its reads.
pub(crate) fn sort(operations: &mut [Encounter]) {
    operations.sort_unstable_by_key(|it| (it.version(), !it.writes(), it.sent_ns));
}

/// Leaves out what nobody can have noticed: reads that were not answered, and writes that were not and whose version nobody saw.
/// The operations are sorted, and stay so.
pub(crate) fn leave_out_unnoticed(operations: &mut Vec<Encounter>) {
    if operations.iter().all(|it| it.answered_ns.is_some()) {
        return;
    }
    operations.retain(|it| it.writes() || it.answered_ns.is_some());
    let mut noticed = vec![false; operations.len()];
    // A swap that was noticed has noticed the version it found.
    let mut seen: Vec<u64> = operations.iter().filter(|it| it.answered_ns.is_some()).map(Encounter::version).collect();
    seen.extend(operations.iter().filter(|it| it.answered_ns.is_some()).filter_map(found));
    seen.dedup();
    while let Some(version) = seen.pop() {
        let start = operations.partition_point(|it| it.version() < version);
        let of_it = operations[start..].iter().take_while(|it| it.version() == version).count();
        for at in start..start + of_it {
            if !std::mem::replace(&mut noticed[at], true) && operations[at].answered_ns.is_none() {
                seen.extend(found(&operations[at]));
            }
        }
    }
    let mut noticed = noticed.into_iter();
    operations.retain(|_| noticed.next().unwrap_or(true));
}

/// Returns the version that a swap took the place of.
pub(crate) fn found(operation: &Encounter) -> Option<u64> {
    match operation.action {
        Deed::Swap { from, .. } => Some(from),
        _ => None,
    }
}

/// Returns the clusters of sorted operations, by version.
pub(crate) fn clusters(operations: &[Encounter]) -> Vec<VersionZone> {
    let mut clusters = Vec::new();
    let mut start = 0;
    for at in 1..=operations.len() {
        if at == operations.len() || operations[at].version() != operations[start].version() {
            clusters.push(VersionZone::of(operations, start..at));
            start = at;
        }
    }
    clusters
}
