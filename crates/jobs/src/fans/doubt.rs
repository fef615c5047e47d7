//! Pages of which a write failed: the mention may be counted or not, once; nothing else is forgiven.

use jobkit::{Doubt, Doubts, Effect};
use serde::{Deserialize, Serialize};
use study::WriteAccount;

/// Mentions of a page that failed, or were lost with others.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct DoubtfulMentions {
    /// How many they are; of counters: increments of the page's own counter.
    pub fans: u32,
    /// The partner counts contributed by these mentions (counters: by increments that failed).
    pub pairs: u64,
    /// The fingerprint of the record that was put, and its fans. Such a put may take effect late, over others.
    pub record: Option<(u64, u32)>,
}

/// Pages in doubt.
pub type PageDoubts = Doubts<u32, DoubtfulMentions>;

impl Effect for DoubtfulMentions {
    type Whole = u64;

    fn more(&self) -> i64 {
        self.fans.into()
    }

    fn instead(&self) -> Option<&u64> {
        self.record.as_ref().map(|(print, _)| print)
    }
}

/// The least that must be there of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtLeast {
    /// Fans.
    pub fans: u32,
    /// The sum of its partners' counts.
    pub pairs: u64,
    /// The fate of the mentions.
    pub account: WriteAccount,
}

/// Returns whether a record of this fingerprint is one whose put failed, where `fans` were acknowledged; gives its fans. It is there from
/// then on.
#[cold]
pub fn allows_instead(doubt: &mut Doubt<DoubtfulMentions>, print: u64, fans: u32) -> Option<u32> {
    let (_, found) = doubt.allows_instead(&print)?.record?;
    doubt.overwrites(DoubtfulMentions { fans: fans.saturating_sub(found), ..DoubtfulMentions::default() });
    Some(found)
}

/// Returns the least that must be there, where `fans` and `pairs` would be right and this was found.
pub fn at_least(doubt: &Doubt<DoubtfulMentions>, right: (u32, u64), found: (u32, u64), print: Option<u64>) -> AtLeast {
    let (mut fans, _) = doubt.bounds(right.0.into());
    let not_sure = doubt.failed().chain(doubt.unsent()).chain(doubt.left_out());
    let mut pairs = right.1.saturating_sub(not_sure.map(|mentions| mentions.pairs).sum());
    if print.is_some_and(|print| doubt.may_leave(&print)) {
        (fans, pairs) = (fans.min(found.0.saturating_sub(1).into()), pairs.min(found.1)); // it came last
    } else if doubt.overwritten().iter().any(|mentions| mentions.fans > 0) {
        pairs = pairs.min(found.1); // which of them were written over is not known
    }
    AtLeast { fans: fans as u32, pairs, account: doubt.account(found.0.into(), fans) }
}

#[cfg(test)]
mod tests {
    use super::{DoubtfulMentions, at_least};
    use jobkit::Doubt;

    #[test]
    fn a_mention_that_failed_is_counted_or_not_and_what_is_below_it_is_lost() {
        let mentions = |fans, pairs, record| DoubtfulMentions { fans, pairs, record };
        let mut doubt = Doubt::default();
        doubt.fails(mentions(1, 3, Some((77, 5))));
        doubt.skips(mentions(1, 2, None));
        let seen = |fans, pairs, print| {
            let least = at_least(&doubt, (10, 30), (fans, pairs), print);
            (least.fans, least.pairs, least.account.lost, least.account.failed_absent, least.account.failed_present)
        };
        assert_eq!(seen(9, 28, None), (8, 25, 0, 1, 1));
        assert_eq!(seen(8, 25, None), (8, 25, 0, 2, 0));
        assert_eq!(seen(5, 15, None), (8, 25, 3, 2, 0));
        assert_eq!(seen(5, 15, Some(77)), (4, 15, 0, 1, 1), "the put that failed came last");
        doubt.leaves_out(mentions(4, 9, None));
        let least = at_least(&doubt, (10, 30), (4, 16), None);
        assert_eq!((least.fans, least.pairs, least.account.lost, least.account.failed_absent), (4, 16, 0, 2));
    }
}
