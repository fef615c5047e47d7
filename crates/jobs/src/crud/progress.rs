//! How far an execution came that did not come to its end, and what each row must be then.

use super::Stage;
use super::rows::RowState;
use crate::marks::Marks;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The phase of writes begun last, and the rows it never came to.
pub struct RowsDone {
    writes: AtomicU8,
    left_off: AtomicBool,
    unreached: Marks,
}

impl RowsDone {
    /// Makes the progress of this many rows, of which none has begun.
    pub fn new(rows: u64) -> RowsDone {
        RowsDone {
            writes: AtomicU8::new(Stage::Insert as u8),
            left_off: AtomicBool::new(false),
            unreached: Marks::below(rows),
        }
    }

    /// Notes that a phase begins.
    pub fn begins(&self, stage: Stage) {
        if stage.verifies().is_none() {
            self.writes.store(stage as u8, Ordering::Release);
        }
    }

    /// Returns the phase of writes that began last.
    pub fn writes(&self) -> Stage {
        let begun = self.writes.load(Ordering::Acquire);
        Stage::ALL.into_iter().find(|stage| *stage as u8 == begun).unwrap_or(Stage::Insert)
    }

    /// Notes that a phase ended before its time, and no other write follows; if the phase writes, these rows are as they were before it.
    #[cold]
    pub fn leaves_off(&self, stage: Stage, unreached: impl Iterator<Item = u64>) {
        self.left_off.store(true, Ordering::Release);
        if stage.verifies().is_none() {
            unreached.for_each(|row| self.unreached.mark(row));
        }
    }

    /// Notes that one of another share did.
    #[cold]
    pub fn hears_of_one(&self) {
        self.left_off.store(true, Ordering::Release);
    }

    /// Returns whether one did.
    #[inline]
    pub fn is_left_off(&self) -> bool {
        self.left_off.load(Ordering::Acquire)
    }

    /// Returns whether what a phase of writes left was read to the last row.
    pub fn is_known_of(&self, writes: Stage) -> bool {
        !self.is_left_off() || (writes as u8) < self.writes.load(Ordering::Acquire)
    }

    /// Returns the state a row must have at this phase, which reads it: after the last phase of writes that began, or before it.
    pub fn expects(&self, stage: Stage, row: u64) -> RowState {
        if !self.is_left_off() {
            return stage.leaves();
        }
        let writes = self.writes();
        if self.unreached.has(row) { writes.finds() } else { writes.leaves() }
    }
}

#[cfg(test)]
mod tests {
    use super::{RowsDone, Stage};
    use crate::crud::{INSERTED, UPDATED};

    #[test]
    fn a_row_that_an_unfinished_phase_never_came_to_is_as_the_one_before_left_it() {
        let progress = RowsDone::new(10);
        progress.begins(Stage::Insert);
        progress.begins(Stage::Select);
        progress.begins(Stage::Update);
        assert_eq!(progress.expects(Stage::CheckDelete, 1), None);
        progress.leaves_off(Stage::Update, [3].into_iter());
        progress.begins(Stage::CheckUpdate);
        for check in [Stage::CheckUpdate, Stage::CheckDelete] {
            assert_eq!([1, 3].map(|row| progress.expects(check, row)), [Some(UPDATED), Some(INSERTED)]);
        }
        let known = [Stage::Insert, Stage::Update, Stage::Delete].map(|writes| progress.is_known_of(writes));
        assert_eq!(known, [true, false, false]);
    }
}
