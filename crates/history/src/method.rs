//! Which method decides about a key.

use crate::act::{Act, ActKind};
use crate::bounds::Bounds;
use crate::contradiction::{BoundHit, Impossibility, KeyOutcome};
use crate::model::HeldValue;
use crate::search::{Explored, search};
use crate::smallest;
use crate::sums;
use crate::zones::{Zones, decide};

/// What is known of operations before a contradiction is made small.
pub(crate) enum Insight {
    /// An order exists.
    Ordered,
    /// None exists for these operations, by their place.
    Conflict(Vec<usize>, Impossibility),
    /// None exists for what was sent until the answer to this operation.
    Stuck(usize),
    /// A bound was hit.
    Undecided(BoundHit),
}

/// Says whether one order explains the operations, all of which are on one key.
pub fn judge(operations: &[Act], bounds: &Bounds) -> KeyOutcome {
    match know(operations, 0, bounds) {
        Insight::Ordered => KeyOutcome::Linearizable,
        Insight::Undecided(bound) => KeyOutcome::Undecided(bound),
        Insight::Conflict(at, _) => KeyOutcome::Contradicts(smallest::of(operations, &at, bounds)),
        Insight::Stuck(at) => KeyOutcome::Contradicts(smallest::until(operations, at, bounds)),
    }
}

/// Finds out whether one order explains operations on one key, whose counter held `start` before.
pub(crate) fn know(operations: &[Act], start: i64, bounds: &Bounds) -> Insight {
    match decide(operations) {
        Zones::Ordered => return Insight::Ordered,
        Zones::Conflict(at, reason) => return Insight::Conflict(at, reason),
        Zones::Unfit => {}
    }
    let counts = operations.iter().any(|it| matches!(it.kind, ActKind::Add { .. } | ActKind::Sum(_)));
    if counts && let Some((at, reason)) = sums::outside(operations, start) {
        return Insight::Conflict(vec![at], reason);
    }
    let from = if start == 0 { HeldValue::Missing } else { HeldValue::Sum(start) };
    match search(operations, from, bounds) {
        Explored::Ordered => Insight::Ordered,
        Explored::Stuck(at) => Insight::Stuck(at),
        Explored::Undecided(bound) => Insight::Undecided(bound),
    }
}
