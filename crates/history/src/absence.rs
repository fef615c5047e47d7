//! Reads that found nothing, where keys are deleted: of which delete each is.
//!
//! A read that finds a value says which write it saw; one that finds nothing does not. Where the writes of a key follow each other, as
//! those of one client do, it is enough to take the earliest delete that is possible: it rules out the least.

use crate::operation::{Deed, Encounter};
use std::collections::HashMap;

/// Says of each read that found nothing which delete it saw; the operations are those of one key. Where writes overlap, so that this is
/// open, the read counts as one without an answer. Returns whether there was anything to say.
pub(crate) fn settle(operations: &mut [Encounter]) -> bool {
    if !operations.iter().any(|it| matches!(it.action, Deed::Delete(_))) {
        return false;
    }
    let mut writes: Vec<Encounter> = operations.iter().filter(|it| it.writes()).copied().collect();
    writes.sort_unstable_by_key(|it| (it.begin_ns(), it.end_ns()));
    match writes.windows(2).all(|pair| pair[0].end_ns() < pair[1].begin_ns()) {
        true => in_turn(operations, &writes),
        false => where_only_one_can_be(operations, &writes),
    }
    true
}

fn is_missed(it: &Encounter) -> bool {
    matches!(it.action, Deed::Missed(_)) && it.answered_ns.is_some()
}

/// Of writes that follow each other. State 0 is the key before them, state n what the nth of them left.
fn in_turn(operations: &mut [Encounter], writes: &[Encounter]) {
    let states: HashMap<u64, usize> = (1..).zip(writes).map(|(state, it)| (it.version(), state)).collect();
    let absent: Vec<usize> =
        std::iter::once(0).chain((1..).zip(writes).filter(|(_, it)| deletes(it)).map(|(state, _)| state)).collect();
    let mut reads: Vec<usize> =
        (0..operations.len()).filter(|&at| !operations[at].writes() && operations[at].answered_ns.is_some()).collect();
    reads.sort_unstable_by_key(|&at| operations[at].end_ns());
    // Of the reads so far: when each ended, and the latest state that it or one before it has seen.
    let mut seen: Vec<(i64, usize)> = Vec::with_capacity(reads.len());
    for at in reads {
        let it = &mut operations[at];
        let ended = seen.partition_point(|&(end_ns, _)| end_ns < it.begin_ns());
        let known = ended.checked_sub(1).map_or(0, |last| seen[last].1);
        let done = writes.partition_point(|write| write.end_ns() < it.begin_ns());
        let state = match it.action {
            Deed::Missed(_) => {
                let first = absent.partition_point(|&state| state < known.max(done));
                let possible =
                    absent.get(first).filter(|&&state| state == 0 || writes[state - 1].begin_ns() <= it.end_ns());
                // None is possible: it is held against the last one before.
                let state = possible.copied().unwrap_or_else(|| absent[first.saturating_sub(1)]);
                it.action = Deed::Missed(state.checked_sub(1).map_or(0, |write| writes[write].version()));
                state
            }
            _ => states.get(&it.version()).copied().unwrap_or(0),
        };
        let latest = seen.last().map_or(0, |last| last.1).max(state);
        seen.push((it.end_ns(), latest));
    }
}

/// Of writes that overlap: where a single delete, or the key before them, was there by the time of the read, it is that.
fn where_only_one_can_be(operations: &mut [Encounter], writes: &[Encounter]) {
    for it in operations.iter_mut().filter(|it| is_missed(it)) {
        let is_over = |write: &&Encounter| write.end_ns() < it.begin_ns();
        let mut possible = writes.iter().filter(|write| deletes(write) && write.begin_ns() <= it.end_ns());
        match (possible.next(), possible.next()) {
            (None, _) => {}
            (Some(delete), None) if writes.iter().any(|write| is_over(&write)) => {
                it.action = Deed::Missed(delete.version());
            }
            _ => it.answered_ns = None,
        }
    }
}

fn deletes(it: &Encounter) -> bool {
    matches!(it.action, Deed::Delete(_))
}
