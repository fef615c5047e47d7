//! Which slot does which mentions, in which order.

use super::policy::Policy;
use data::fans::FanSet;

/// A read-modify-write: this profile makes this page's record grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Number of the profile.
    pub profile: u32,
    /// Number of the page.
    pub page: u32,
}

/// All mentions, slot after slot; within a slot in input order.
pub struct MentionSchedule {
    starts: Vec<u32>,
    mentions: Vec<Mention>,
}

impl MentionSchedule {
    /// Shares the mentions out over `slots` slots: by page under [`Policy::Partition`], by profile otherwise.
    pub fn new(set: &FanSet, policy: Policy, slots: u32) -> MentionSchedule {
        let slots = slots.max(1);
        let owner = |profile: u32, page: u32| match policy {
            Policy::Partition => page % slots,
            Policy::Cas | Policy::Lock | Policy::None => profile % slots,
        };
        let mut starts = vec![0u32; slots as usize + 1];
        each(set, |mention| starts[owner(mention.profile, mention.page) as usize + 1] += 1);
        for slot in 0..slots as usize {
            starts[slot + 1] += starts[slot];
        }
        let mut next = starts.clone();
        let mut mentions = vec![Mention { profile: 0, page: 0 }; set.mentions().len()];
        each(set, |mention| {
            let place = &mut next[owner(mention.profile, mention.page) as usize];
            mentions[*place as usize] = mention;
            *place += 1;
        });
        MentionSchedule { starts, mentions }
    }

    /// Makes the mentions of one slot: a range of positions.
    pub fn of(&self, slot: u32) -> std::ops::Range<u32> {
        self.starts[slot as usize]..self.starts[slot as usize + 1]
    }

    /// Returns the mention at a position.
    #[inline]
    pub fn at(&self, position: u32) -> Mention {
        self.mentions[position as usize]
    }
}

fn each(set: &FanSet, mut visit: impl FnMut(Mention)) {
    for profile in 0..set.profiles() {
        for &page in set.profile(profile) {
            visit(Mention { profile: profile as u32, page });
        }
    }
}
