//! One counter: what was sent and acknowledged of it, upwards and downwards.

use crate::shared_map::Keyed;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};

/// A counter, or a field of a record of counters.
pub(crate) struct Count {
    /// Its key and its field, as [`name`](super::name) has them.
    name: Box<[u8]>,
    up: Sum,
    down: Sum,
    /// It was counted since it was last deleted.
    is_there: AtomicBool,
    /// Deletes that are under way.
    deletes: AtomicU32,
    /// Counts the deletes that began or ended.
    turn: AtomicU32,
    /// A delete crossed increments, or failed: nobody knows which of them are left.
    doubtful: AtomicBool,
}

/// Increments of one direction.
#[derive(Default)]
struct Sum {
    /// All that were sent, with those that failed, of which nobody knows whether they took place.
    sent: AtomicI64,
    acknowledged: AtomicI64,
}

/// The knowledge of a counter when something is asked of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CountSince {
    up: i64,
    down: i64,
    turn: u32,
}

impl CountSince {
    /// Returns the sum of what was acknowledged.
    pub(crate) fn sum(self) -> i64 {
        self.up.wrapping_add(self.down)
    }

    /// What it may come to when all that was sent, upwards and downwards, may have taken place.
    fn reach(self, up: i64, down: i64) -> RangeInclusive<i128> {
        let added = |a: i64, b: i64| i128::from(a) + i128::from(b);
        added(self.up, down)..=added(self.down, up)
    }

    /// Returns the same with one's own increment.
    pub(super) fn with(self, step: i64) -> CountSince {
        match step < 0 {
            true => CountSince { down: self.down.wrapping_add(step), ..self },
            false => CountSince { up: self.up.wrapping_add(step), ..self },
        }
    }
}

impl Sum {
    fn is_settled(&self) -> bool {
        self.sent.load(Ordering::SeqCst) == self.acknowledged.load(Ordering::SeqCst)
    }

    fn forget(&self) {
        self.sent.store(0, Ordering::SeqCst);
        self.acknowledged.store(0, Ordering::SeqCst);
    }
}

impl Keyed for Count {
    fn named(name: &[u8]) -> Count {
        Count {
            name: name.into(),
            up: Sum::default(),
            down: Sum::default(),
            is_there: AtomicBool::new(false),
            deletes: AtomicU32::new(0),
            turn: AtomicU32::new(0),
            doubtful: AtomicBool::new(false),
        }
    }

    fn key(&self) -> &[u8] {
        &self.name
    }
}

impl Count {
    fn sum(&self, step: i64) -> &Sum {
        if step < 0 { &self.down } else { &self.up }
    }

    /// Returns what is known now.
    pub(super) fn since(&self) -> CountSince {
        let turn = self.turn.load(Ordering::SeqCst);
        let acknowledged = |sum: &Sum| sum.acknowledged.load(Ordering::SeqCst);
        CountSince { up: acknowledged(&self.up), down: acknowledged(&self.down), turn }
    }

    /// Notes that an increment is sent: returns what was known before, and what the counter may come to now.
    pub(super) fn starts(&self, step: i64) -> (CountSince, RangeInclusive<i128>) {
        let since = self.since();
        let before = self.sum(step).sent.fetch_add(step, Ordering::SeqCst);
        if self.deletes.load(Ordering::SeqCst) > 0 {
            self.doubt();
        }
        let (up, down) = match step < 0 {
            true => (self.up.sent.load(Ordering::SeqCst), before),
            false => (before, self.down.sent.load(Ordering::SeqCst)),
        };
        let (least, most) = since.reach(up, down).into_inner();
        (since, least + i128::from(step.min(0))..=most + i128::from(step.max(0)))
    }

    pub(super) fn ends(&self, step: i64) {
        self.sum(step).acknowledged.fetch_add(step, Ordering::SeqCst);
        self.is_there.store(true, Ordering::SeqCst);
    }

    /// Notes that a delete is sent.
    pub(super) fn deletes(&self) {
        self.turn.fetch_add(1, Ordering::SeqCst);
        self.deletes.fetch_add(1, Ordering::SeqCst);
        if !(self.up.is_settled() && self.down.is_settled()) {
            self.doubt();
        }
    }

    /// Notes that the delete was acknowledged.
    pub(super) fn deleted(&self) {
        if !self.is_doubtful() {
            self.up.forget();
            self.down.forget();
            self.is_there.store(false, Ordering::SeqCst);
        }
        self.turn.fetch_add(1, Ordering::SeqCst);
        let _ = self.deletes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |deletes| deletes.checked_sub(1));
    }

    /// Notes that nobody knows what is left of the counter.
    pub(super) fn doubt(&self) {
        self.doubtful.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_doubtful(&self) -> bool {
        self.doubtful.load(Ordering::SeqCst)
    }

    /// Returns what a reply must have been that was asked for when `since` was known, if it is something else.
    pub(super) fn judge(&self, since: CountSince, seen: i64) -> Option<String> {
        let sent = |sum: &Sum| sum.sent.load(Ordering::SeqCst);
        let (least, most) = since.reach(sent(&self.up), sent(&self.down)).into_inner();
        let crossed = self.deletes.load(Ordering::SeqCst) > 0 || self.turn.load(Ordering::SeqCst) != since.turn;
        if crossed || self.is_doubtful() || (least..=most).contains(&i128::from(seen)) {
            return None;
        }
        Some(if least == most { format!("{least}") } else { format!("{least} to {most}") })
    }

    /// Returns whether it is known whether it is there.
    pub(super) fn is_sure(&self) -> bool {
        self.up.is_settled() && self.down.is_settled() && !self.is_doubtful()
    }

    pub(super) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::Count;
    use crate::shared_map::Keyed;

    fn added(count: &Count, step: i64) {
        count.starts(step);
        count.ends(step);
    }

    #[test]
    fn a_number_is_between_what_was_acknowledged_and_what_was_sent_in_both_directions() {
        let count = Count::named(b"c");
        added(&count, 10);
        let since = count.since();
        assert_eq!((count.judge(since, 10), count.judge(since, 9)), (None, Some("10".into())));
        let (up, down) = (count.starts(5).0, count.starts(-3).0);
        assert!((7..=15).all(|seen| count.judge(since, seen).is_none()));
        assert_eq!(count.judge(since, 6), Some("7 to 15".into()));
        // Whose own increment it was has it in the reply.
        count.ends(5);
        assert!(count.judge(up.with(5), 11).is_some() && count.judge(up.with(5), 12).is_none());
        count.ends(-3);
        assert!(count.judge(down.with(-3), 13).is_some() && count.judge(down.with(-3), 12).is_none());
        assert_eq!(count.judge(count.since(), 12), None);
    }

    #[test]
    fn a_counter_that_nobody_counts_meanwhile_begins_at_nothing_once_it_is_deleted() {
        let count = Count::named(b"c");
        added(&count, 10);
        let before = count.since();
        count.deletes();
        assert_eq!((count.judge(before, 10), count.judge(before, 0)), (None, None));
        count.deleted();
        assert!(count.is_sure() && !count.is_there() && count.judge(count.since(), 10).is_some());
        added(&count, 2);
        assert!(
            count.is_there() && count.judge(count.since(), 2).is_none() && count.judge(count.since(), 12).is_some()
        );
        // A delete that crosses increments leaves some of them, and nobody knows which.
        count.starts(1);
        count.deletes();
        count.ends(1);
        count.deleted();
        assert!(!count.is_sure() && count.judge(count.since(), 1).is_none() && count.judge(count.since(), 0).is_none());
    }
}
