//! The smallest contradicting history: operations are left out for as long as the rest still contradicts.

use std::collections::HashSet;

use crate::act::{Act, ActEnd, ActKind};
use crate::bounds::Bounds;
use crate::contradiction::{Contradiction, Impossibility};
use crate::method::{Insight, know};
use crate::part::{Removable, Whole};

/// How many operations are judged at most on the way to the smallest contradiction.
const MOST_JUDGED: usize = 4_000_000;

/// Returns the smallest contradiction that starts from some of the operations, which contradict.
pub(crate) fn of(operations: &[Act], some: &[usize], bounds: &Bounds) -> Contradiction {
    let whole = Whole::new(operations);
    shrink(&whole, whole.items(some.iter().copied()), u64::MAX, bounds)
}

/// Returns the smallest contradiction within what was sent until the answer to an operation.
pub(crate) fn until(operations: &[Act], at: usize, bounds: &Bounds) -> Contradiction {
    // A list read later says what could be appended before.
    let lists = operations.iter().any(|it| matches!(it.kind, ActKind::List(_)));
    let end = if lists { u64::MAX } else { operations[at].answered_ns() };
    let matters = |it: &Act| it.counts() && it.sent_ns <= end && (it.kind.changes() || it.answered_ns() <= end);
    let whole = Whole::new(operations);
    let some: Vec<usize> = (0..operations.len()).filter(|it| matters(&operations[*it])).collect();
    shrink(&whole, whole.items(some.iter().copied()), end, bounds)
}

/// Leaves out as much as possible: halves first, then ever smaller pieces.
fn shrink(whole: &Whole<'_>, mut items: Vec<Removable>, until: u64, bounds: &Bounds) -> Contradiction {
    let mut judged = 0;
    let mut size = items.len().div_ceil(2);
    while size > 0 && judged < MOST_JUDGED {
        let mut from = 0;
        let mut smaller = false;
        while from < items.len() && judged < MOST_JUDGED {
            let end = (from + size).min(items.len());
            let rest: Vec<Removable> = items[..from].iter().chain(&items[end..]).copied().collect();
            let part = whole.part(&rest);
            judged += part.0.len();
            let fewer = self::fewer(whole, &rest, &part.0);
            if fewer.len() < items.len() && contradicts(&part, until, bounds) {
                items = fewer;
                smaller = true;
            } else {
                from = end;
            }
        }
        if size > 1 {
            size = size.div_ceil(2);
        } else if !smaller {
            break;
        }
    }
    let (part, start) = whole.part(&items);
    let part: Vec<Act> = part.into_iter().map(|it| it.1).collect();
    let reason = match know(&part, start, bounds) {
        Insight::Conflict(_, reason) => reason,
        _ => Impossibility::NoOrder,
    };
    Contradiction { operations: part, start, reason }
}

/// Returns what can be left out of a part: what the rest needs has come back with it.
fn fewer(whole: &Whole<'_>, rest: &[Removable], part: &[(usize, Act)]) -> Vec<Removable> {
    let rest: HashSet<&Removable> = rest.iter().collect();
    let needed = whole.items(part.iter().map(|it| it.0));
    needed.into_iter().filter(|it| matches!(it, Removable::Operation(_)) || rest.contains(it)).collect()
}

/// Tells whether a part contradicts by a time.
fn contradicts((part, start): &(Vec<(usize, Act)>, i64), until: u64, bounds: &Bounds) -> bool {
    let mut part: Vec<Act> = part.iter().map(|it| it.1.clone()).collect();
    for it in part.iter_mut().filter(|it| it.is_answered() && it.answered_ns() > until) {
        it.end = ActEnd::Unknown;
    }
    matches!(know(&part, *start, bounds), Insight::Conflict(..) | Insight::Stuck(_))
}
