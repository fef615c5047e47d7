//! Pages of which a write failed: the mention may be counted or not, once; nothing else is forgiven.

use std::collections::BTreeMap;
use study::WriteAccount;

/// The doubt about one page: mentions that failed.
#[derive(Clone, Debug, Default)]
pub struct PageDoubt {
    /// Mentions whose put failed; of counters: increments of the page's own counter.
    failed: u32,
    /// Mentions that were not put, because the page could not be read before.
    unsent: u32,
    /// Mentions that were never reached, because the run ended before.
    left_out: u32,
    /// Counters: failed increments of the page's own counter that an answer has shown to be there.
    shown: u32,
    /// The partner counts contributed by these mentions (counters: by increments that failed).
    pairs: u64,
    /// Fingerprints of records whose put failed, and their fans. Such a put may take effect late, over others.
    prints: Vec<(u64, u32)>,
    /// Acknowledged mentions that were written over by such a put.
    overwritten: u32,
}

/// Pages in doubt.
pub type PageDoubts = BTreeMap<u32, PageDoubt>;

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

impl PageDoubt {
    /// Notes that the put of a mention with this many partners failed; it would have left a record of this fingerprint and as many fans.
    pub fn fails(&mut self, partners: u64, record: Option<(u64, u32)>) {
        self.failed += 1;
        self.pairs += partners;
        self.prints.extend(record);
    }

    /// Notes that a mention with this many partners was not put.
    pub fn skips(&mut self, partners: u64) {
        self.unsent += 1;
        self.pairs += partners;
    }

    /// Notes that these mentions, with as many partners, were never reached.
    pub fn leaves_out(&mut self, mentions: u32, partners: u64) {
        self.left_out += mentions;
        self.pairs += partners;
    }

    /// Notes, for counters, that an increment of a partner's count failed.
    pub fn fails_partner(&mut self) {
        self.pairs += 1;
    }

    /// Returns, for counters, whether this many more increments than were acknowledged may be there; from then on they are.
    pub fn allows_more(&mut self, more: u32) -> bool {
        let allows = (1..=self.failed - self.shown).contains(&more);
        self.shown += if allows { more } else { 0 };
        allows
    }

    /// Returns whether a record of this fingerprint is one whose put failed, where `fans` were acknowledged; gives its fans. It is there
    /// from then on.
    pub fn allows_instead(&mut self, print: u64, fans: u32) -> Option<u32> {
        let at = self.prints.iter().position(|(known, _)| *known == print)?;
        let (_, found) = self.prints.swap_remove(at);
        self.overwritten += fans.saturating_sub(found);
        Some(found)
    }

    /// Returns the least that must be there, where `fans` and `pairs` would be right and this was found.
    pub fn at_least(&self, right: (u32, u64), found: (u32, u64), print: Option<u64>) -> AtLeast {
        let came_late = print.is_some_and(|print| self.prints.iter().any(|(known, _)| *known == print));
        let most = right.0.saturating_sub(self.unsent + self.left_out);
        let mut fans = most.saturating_sub(self.failed + self.overwritten);
        let mut pairs = right.1.saturating_sub(self.pairs);
        if came_late {
            (fans, pairs) = (fans.min(found.0.saturating_sub(1)), pairs.min(found.1));
        } else if self.overwritten > 0 {
            pairs = pairs.min(found.1); // which of them were written over is not known
        }
        let present = found.0.saturating_sub(fans).min(self.failed);
        let account = WriteAccount {
            lost: fans.saturating_sub(found.0).into(),
            failed_absent: (self.failed + self.unsent - present).into(),
            failed_present: present.into(),
        };
        AtLeast { fans, pairs, account }
    }
}

#[cfg(test)]
mod tests {
    use super::PageDoubt;

    #[test]
    fn a_mention_that_failed_is_counted_or_not_and_what_is_below_it_is_lost() {
        let mut doubt = PageDoubt::default();
        doubt.fails(3, Some((77, 5)));
        doubt.skips(2);
        let seen = |fans, pairs, print| {
            let least = doubt.at_least((10, 30), (fans, pairs), print);
            (least.fans, least.pairs, least.account.lost, least.account.failed_absent, least.account.failed_present)
        };
        assert_eq!(seen(9, 28, None), (8, 25, 0, 1, 1));
        assert_eq!(seen(8, 25, None), (8, 25, 0, 2, 0));
        assert_eq!(seen(5, 15, None), (8, 25, 3, 2, 0));
        assert_eq!(seen(5, 15, Some(77)), (4, 15, 0, 1, 1), "the put that failed came last");
        doubt.leaves_out(4, 9);
        let least = doubt.at_least((10, 30), (4, 16), None);
        assert_eq!((least.fans, least.pairs, least.account.lost, least.account.failed_absent), (4, 16, 0, 2));
    }
}
