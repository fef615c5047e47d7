//! Counters of which an increment failed: it may be in the count or not, once.

use std::collections::BTreeMap;
use study::WriteAccount;

/// The doubt about one counter: increments that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountDoubt {
    /// Increments that failed.
    pub failed: u32,
    /// Increments that were never sent, because what comes before them failed.
    pub unsent: u32,
    /// Counting by the store: those that failed and that an answer has shown to be there.
    shown: u32,
    /// Rewriting: numbers whose put failed. Such a put may take effect late, over others that were acknowledged.
    numbers: Vec<u64>,
    /// Rewriting: acknowledged increments that were written over by such a put.
    overwritten: u64,
}

/// Counters in doubt, by term.
pub type CountDoubts = BTreeMap<u32, CountDoubt>;

impl CountDoubt {
    /// Notes that the increment failed; `number`: for rewriting, the number that was put.
    #[cold]
    pub fn fails(&mut self, number: Option<u64>) {
        self.failed += 1;
        self.numbers.extend(number);
    }

    /// Adds what another thread knows of it.
    pub fn merge(&mut self, other: CountDoubt) {
        self.failed += other.failed;
        self.unsent += other.unsent;
        self.numbers.extend(other.numbers);
        self.overwritten += other.overwritten;
    }

    /// Returns, where the store counts, whether this many increments more than were acknowledged may be there; from then on they are.
    #[cold]
    pub fn allows_more(&mut self, more: u64) -> bool {
        let allows = (1..=u64::from(self.failed - self.shown)).contains(&more);
        self.shown += if allows { more as u32 } else { 0 };
        allows
    }

    /// Returns, for rewriting, whether this number, where `right` was expected, is one whose put failed; from then on it is there.
    #[cold]
    pub fn allows_instead(&mut self, number: u64, right: u64) -> bool {
        let Some(at) = self.numbers.iter().position(|known| *known == number) else { return false };
        self.numbers.swap_remove(at);
        self.overwritten += right.saturating_sub(number);
        true
    }

    /// Returns the fate of the increments, of which there should be `right`; `None`: the count is too high.
    pub fn account(&self, count: u64, right: u64) -> Option<WriteAccount> {
        let failed = u64::from(self.failed);
        let most = right.saturating_sub(self.unsent.into());
        let mut least = most.saturating_sub(failed + self.overwritten);
        if count < least && self.numbers.contains(&count) {
            least = count.saturating_sub(1); // it came last
        }
        let present = count.saturating_sub(least).min(failed);
        (count <= most).then(|| WriteAccount {
            lost: least.saturating_sub(count),
            failed_absent: failed + u64::from(self.unsent) - present,
            failed_present: present,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::CountDoubt;
    use study::WriteAccount;

    fn account(lost: u64, failed_absent: u64, failed_present: u64) -> Option<WriteAccount> {
        Some(WriteAccount { lost, failed_absent, failed_present })
    }

    #[test]
    fn increments_that_failed_are_in_the_count_or_not_and_what_is_below_them_is_lost() {
        let mut doubt = CountDoubt { unsent: 1, ..CountDoubt::default() };
        (0..3).for_each(|_| doubt.fails(None));
        let seen = [10, 9, 8, 6, 5, 0].map(|count| doubt.account(count, 10));
        let right = [None, account(0, 1, 3), account(0, 2, 2), account(0, 4, 0), account(1, 4, 0), account(6, 4, 0)];
        assert_eq!(seen, right);
        assert!(!doubt.allows_more(0) && !doubt.allows_more(4) && doubt.allows_more(2) && !doubt.allows_more(2));
    }

    #[test]
    fn a_number_whose_put_failed_may_come_late_and_no_other_may_be_too_low() {
        let mut doubt = CountDoubt::default();
        doubt.fails(Some(4));
        let seen = [8, 4, 7, 10].map(|count| doubt.account(count, 9));
        assert_eq!(seen, [account(0, 1, 0), account(0, 0, 1), account(1, 1, 0), None]);
        // It was seen in the run, where 6 was acknowledged: two are written over, and it cannot come again.
        assert!(!doubt.allows_instead(5, 6) && doubt.allows_instead(4, 6) && !doubt.allows_instead(4, 6));
        assert_eq!(
            [7, 6, 4].map(|count| doubt.account(count, 9)),
            [account(0, 0, 1), account(0, 1, 0), account(2, 1, 0)]
        );
    }
}
