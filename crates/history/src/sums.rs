//! Counters: between which numbers each read must lie. Sound, but not the whole truth; the search says the rest.

use crate::act::{Act, ActKind};
use crate::contradiction::Impossibility;

/// Returns the read that lies furthest outside of what the additions allow, with what they do.
pub(crate) fn outside(operations: &[Act], start: i64) -> Option<(usize, Impossibility)> {
    let adds = |it: &&Act| it.counts() && matches!(it.kind, ActKind::Add { .. });
    let mut by_sent: Vec<(u64, i64)> = operations.iter().filter(adds).map(|it| (it.sent_ns, by(it))).collect();
    let mut by_answer: Vec<(u64, i64)> =
        operations.iter().filter(adds).filter(|it| it.is_answered()).map(|it| (it.answered_ns(), by(it))).collect();
    by_sent.sort_unstable();
    by_answer.sort_unstable();
    let (sent, answered) = (Sums::of(&by_sent), Sums::of(&by_answer));
    let mut worst: Option<(i64, usize, Impossibility)> = None;
    for (at, operation) in operations.iter().enumerate() {
        let ActKind::Sum(read) = operation.kind else { continue };
        if !operation.is_answered() {
            continue;
        }
        // Sent by the time of the answer: it may have happened. Answered before the read was sent: it must have.
        let may = by_sent.partition_point(|it| it.0 <= operation.answered_ns());
        let must = by_answer.partition_point(|it| it.0 < operation.sent_ns);
        let least = start + answered.up[must] + sent.down[may];
        let most = start + sent.up[may] + answered.down[must];
        let off = (least - read).max(read - most);
        if off > 0 && worst.as_ref().is_none_or(|it| off > it.0) {
            worst = Some((off, at, Impossibility::Sum { read, least, most }));
        }
    }
    worst.map(|(_, at, reason)| (at, reason))
}

/// Returns what an operation adds.
fn by(operation: &Act) -> i64 {
    match operation.kind {
        ActKind::Add { by, .. } => by,
        _ => 0,
    }
}

/// The sums of what was added and of what was taken away, up to each place.
struct Sums {
    up: Vec<i64>,
    down: Vec<i64>,
}

impl Sums {
    /// Sums up additions in their order.
    fn of(adds: &[(u64, i64)]) -> Self {
        let mut sums = Self { up: vec![0], down: vec![0] };
        let (mut up, mut down) = (0, 0);
        for (_, by) in adds {
            up += by.max(&0);
            down += by.min(&0);
            sums.up.push(up);
            sums.down.push(down);
        }
        sums
    }
}
