//! Rows of which a write failed: it may have taken effect, or still may; nothing else is forgiven.

use jobkit::{Doubts, Replaces};
use std::collections::BTreeMap;
use study::WriteAccount;

/// The state of a row: the end of its value, or `None` if it is missing.
pub type RowState = Option<&'static [u8]>;

/// The doubts about all rows of which a write failed.
#[derive(Debug, Default)]
pub struct RowDoubts {
    /// Rows as their last acknowledged writes left them, or as they were read since.
    sure: BTreeMap<u64, RowState>,
    writes: Doubts<u64, Replaces<RowState>>,
}

impl RowDoubts {
    /// Notes a failed write that would have made `after` of a row that was `before`, as far as nothing else failed.
    pub fn fails(&mut self, row: u64, before: RowState, after: RowState) {
        self.sure.entry(row).or_insert(before);
        self.writes.of(row).fails(Replaces(after));
    }

    /// Notes a write that was acknowledged.
    pub fn wrote(&mut self, row: u64, after: RowState) {
        self.sure.entry(row).and_modify(|sure| *sure = after);
    }

    /// Notes that the row was read; returns whether its state is explained. From then on the row has that state.
    pub fn explains(&mut self, row: u64, found: RowState) -> bool {
        let Some(sure) = self.sure.get_mut(&row) else { return false };
        let explains = *sure == found || self.writes.of(row).allows_instead(&found).is_some();
        *sure = if explains { found } else { *sure };
        explains
    }

    /// Returns whether a write of the row failed.
    pub fn knows(&self, row: u64) -> bool {
        self.writes.has(&row)
    }

    /// Notes that something acknowledged of this row was not to be seen.
    pub fn lose(&mut self, row: u64) {
        self.writes.lose(row);
    }

    /// Returns the fate of the writes.
    pub fn account(&self) -> WriteAccount {
        self.writes.account()
    }
}

#[cfg(test)]
mod tests {
    use super::RowDoubts;

    #[test]
    fn a_row_is_as_its_last_acknowledged_write_left_it_or_as_one_that_failed_would_have() {
        const A: Option<&[u8]> = Some(b"a");
        const B: Option<&[u8]> = Some(b"b");
        let mut doubts = RowDoubts::default();
        doubts.fails(7, A, B);
        assert!(doubts.explains(7, A) && !doubts.explains(7, None) && doubts.explains(7, B));
        assert!(!doubts.explains(7, A), "it was seen after that");
        doubts.wrote(7, None);
        assert!(doubts.explains(7, None) && !doubts.explains(7, B) && !doubts.explains(8, None));
        doubts.lose(7);
        let account = doubts.account();
        assert_eq!((account.lost, account.failed_absent, account.failed_present), (1, 0, 1));
    }
}
