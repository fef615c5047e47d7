//! Counters of which an increment failed: it may be in the count or not, once.

use jobkit::{Doubt, Doubts, Effect};
use serde::{Deserialize, Serialize};
use study::WriteAccount;

/// Increments that failed or were lost with others.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Increments {
    /// How many they are.
    pub by: u64,
    /// Rewriting: the number that was put.
    pub number: Option<u64>,
}

/// Counters in doubt, by term.
pub type CountDoubts = Doubts<u32, Increments>;

/// One increment that the store counts, or that was never sent.
pub const ONE: Increments = Increments { by: 1, number: None };

impl Effect for Increments {
    type Whole = u64;

    fn more(&self) -> i64 {
        self.by as i64
    }

    fn instead(&self) -> Option<&u64> {
        self.number.as_ref()
    }
}

/// Returns, for rewriting, whether this number, where `right` was expected, is one whose put failed; from then on it is there.
#[cold]
pub fn allows_instead(doubt: &mut Doubt<Increments>, number: u64, right: u64) -> bool {
    let allows = doubt.allows_instead(&number).is_some();
    if allows {
        doubt.overwrites(Increments { by: right.saturating_sub(number), number: None });
    }
    allows
}

/// Returns the fate of the increments, of which there should be `right`; `None`: the count is too high.
pub fn account(doubt: &Doubt<Increments>, count: u64, right: u64) -> Option<WriteAccount> {
    let (mut least, most) = doubt.bounds(right);
    if count < least && doubt.may_leave(&count) {
        least = count.saturating_sub(1); // it came last
    }
    (count <= most).then(|| doubt.account(count, least))
}

#[cfg(test)]
mod tests {
    use super::{Increments, ONE, account, allows_instead};
    use jobkit::Doubt;
    use study::WriteAccount;

    fn fate(lost: u64, failed_absent: u64, failed_present: u64) -> Option<WriteAccount> {
        Some(WriteAccount { lost, failed_absent, failed_present })
    }

    #[test]
    fn a_number_whose_put_failed_may_come_late_and_no_other_may_be_too_low() {
        let mut doubt = Doubt::default();
        doubt.fails(Increments { number: Some(4), ..ONE });
        let seen = [8, 4, 7, 10].map(|count| account(&doubt, count, 9));
        assert_eq!(seen, [fate(0, 1, 0), fate(0, 0, 1), fate(1, 1, 0), None]);
        // It was seen in the run, where 6 was acknowledged: two are written over, and it cannot come again.
        let allows = [5, 4, 4].map(|number| allows_instead(&mut doubt, number, 6));
        assert_eq!(allows, [false, true, false]);
        let seen = [7, 6, 4].map(|count| account(&doubt, count, 9));
        assert_eq!(seen, [fate(0, 0, 1), fate(0, 1, 0), fate(2, 1, 0)]);
    }
}
