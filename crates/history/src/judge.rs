//! Which method decides about a key.

use crate::bounds::Bounds;
use crate::model::State;
use crate::operation::{Kind, Operation};
use crate::search::{Found, search};
use crate::smallest;
use crate::sums;
use crate::verdict::{Bound, Reason, Verdict};
use crate::zones::{Zones, decide};

/// What is known of operations before a contradiction is made small.
pub(crate) enum Known {
    /// An order exists.
    Ordered,
    /// None exists for these operations, by their place.
    Conflict(Vec<usize>, Reason),
    /// None exists for what was sent until the answer to this operation.
    Stuck(usize),
    /// A bound was hit.
    Undecided(Bound),
}

/// Says whether one order explains the operations, all of which are on one key.
pub fn judge(operations: &[Operation], bounds: &Bounds) -> Verdict {
    match know(operations, 0, bounds) {
        Known::Ordered => Verdict::Linearizable,
        Known::Undecided(bound) => Verdict::Undecided(bound),
        Known::Conflict(at, _) => Verdict::Contradicts(smallest::of(operations, &at, bounds)),
        Known::Stuck(at) => Verdict::Contradicts(smallest::until(operations, at, bounds)),
    }
}

/// Finds out whether one order explains operations on one key, whose counter held `start` before.
pub(crate) fn know(operations: &[Operation], start: i64, bounds: &Bounds) -> Known {
    match decide(operations) {
        Zones::Ordered => return Known::Ordered,
        Zones::Conflict(at, reason) => return Known::Conflict(at, reason),
        Zones::Unfit => {}
    }
    let counts = operations.iter().any(|it| matches!(it.kind, Kind::Add { .. } | Kind::Sum(_)));
    if counts && let Some((at, reason)) = sums::outside(operations, start) {
        return Known::Conflict(vec![at], reason);
    }
    let from = if start == 0 { State::Missing } else { State::Sum(start) };
    match search(operations, from, bounds) {
        Found::Ordered => Known::Ordered,
        Found::Stuck(at) => Known::Stuck(at),
        Found::Undecided(bound) => Known::Undecided(bound),
    }
}
