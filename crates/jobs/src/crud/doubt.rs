//! Rows of which a write failed: it may have taken effect, or still may; nothing else is forgiven.

use std::collections::{BTreeMap, BTreeSet};
use study::WriteAccount;

/// The state of a row: the end of its value, or `None` if it is missing.
pub type RowState = Option<&'static [u8]>;

/// The doubts about all rows of which a write failed.
#[derive(Debug, Default)]
pub struct RowDoubts {
    rows: BTreeMap<u64, RowDoubt>,
    /// Rows in which something acknowledged was not to be seen.
    lost: BTreeSet<u64>,
    failed: u64,
    present: u64,
}

#[derive(Debug)]
struct RowDoubt {
    /// As its last acknowledged write left it, or as it was read since.
    sure: RowState,
    /// As writes would have left it that failed and were not seen.
    maybe: Vec<RowState>,
}

impl RowDoubts {
    /// Notes a failed write that would have made `after` of a row that was `before`, as far as nothing else failed.
    pub fn fails(&mut self, row: u64, before: RowState, after: RowState) {
        self.failed += 1;
        self.rows.entry(row).or_insert(RowDoubt { sure: before, maybe: Vec::new() }).maybe.push(after);
    }

    /// Notes a write that was acknowledged.
    pub fn wrote(&mut self, row: u64, after: RowState) {
        if let Some(doubt) = self.rows.get_mut(&row) {
            doubt.sure = after;
        }
    }

    /// Notes that the row was read; returns whether its state is explained. From then on the row has that state.
    pub fn explains(&mut self, row: u64, found: RowState) -> bool {
        let Some(doubt) = self.rows.get_mut(&row) else { return false };
        if doubt.sure == found {
            return true;
        }
        let Some(at) = doubt.maybe.iter().position(|maybe| *maybe == found) else { return false };
        doubt.maybe.swap_remove(at);
        doubt.sure = found;
        self.present += 1;
        true
    }

    /// Returns whether a write of the row failed.
    pub fn knows(&self, row: u64) -> bool {
        self.rows.contains_key(&row)
    }

    /// Notes that something acknowledged of this row was not to be seen.
    pub fn lose(&mut self, row: u64) {
        self.lost.insert(row);
    }

    /// Returns the fate of the writes.
    pub fn account(&self) -> WriteAccount {
        WriteAccount {
            lost: self.lost.len() as u64,
            failed_absent: self.failed - self.present,
            failed_present: self.present,
        }
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
