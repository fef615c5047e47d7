//! One key that several clients write ([`Sharing::Shared`](crate::history::Sharing)): what may be there, as far as the order of their writes
//! can be known. A write takes effect some time between when it is sent and when it is acknowledged. So what was acknowledged before another
//! was sent is surely replaced once that other is acknowledged, too; and what was written once can be replaced by one compare-and-set.

use crate::entry::Claim;
use std::collections::HashMap;

/// The history of the key. States are numbers, as in [`crate::entry`].
pub(crate) struct Crowd {
    /// Counts what is sent and acknowledged.
    moment: u64,
    states: HashMap<u64, Made>,
    /// Writes that are under way.
    flying: Vec<Flying>,
    /// When the latest of all acknowledged writes was sent: what was last made before that is surely replaced.
    settled: u64,
    /// States that are not surely replaced.
    left: Vec<u64>,
}

/// How often a key came to a state.
#[derive(Clone, Copy, Debug, Default)]
struct Made {
    /// By writes that were sent and not refused.
    times: u32,
    /// How often a compare-and-set replaced it.
    taken: u32,
    /// When the latest of these writes was acknowledged.
    until: u64,
}

struct Flying {
    by: Claim,
    state: u64,
    sent: u64,
    way: Way,
}

/// The way a write comes to its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Whatever was there.
    Replaces,
    /// From what was there, which depends on the order of writes.
    Appends,
}

/// The fault in a compare-and-set that was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swapped {
    /// Nothing is.
    Right,
    /// What it expected was surely replaced before it was sent.
    Outdated,
    /// What it expected was there less often than it was replaced.
    Twice,
}

impl Crowd {
    /// Makes the history of a key that holds this.
    pub(crate) fn from(state: u64) -> Crowd {
        let states = HashMap::from([(state, Made { times: 1, ..Made::default() })]);
        Crowd { moment: 0, states, flying: Vec::new(), settled: 0, left: vec![state] }
    }

    /// Notes that a write is sent. False: what is there then depends on an order nobody knows.
    pub(crate) fn sends(&mut self, by: Claim, state: u64, way: Way) -> bool {
        let ordered = match way {
            Way::Appends => self.flying.is_empty() && self.left.len() <= 1,
            Way::Replaces => self.flying.iter().all(|other| other.way == Way::Replaces),
        };
        self.moment += 1;
        self.flying.push(Flying { by, state, sent: self.moment, way });
        self.states.entry(state).or_default().times += 1;
        ordered
    }

    fn lands(&mut self, by: Claim) -> Option<Flying> {
        let at = self.flying.iter().position(|flying| flying.by == by)?;
        Some(self.flying.swap_remove(at))
    }

    /// Notes that the client's write was acknowledged, which leaves this state.
    pub(crate) fn acknowledges(&mut self, by: Claim, state: u64) {
        let Some(flying) = self.lands(by) else { return };
        if flying.state != state {
            self.states.entry(state).or_default().times += 1;
        }
        self.moment += 1;
        self.settled = self.settled.max(flying.sent);
        self.states.entry(state).or_default().until = self.moment;
        let (states, settled) = (&self.states, self.settled);
        self.left.retain(|left| *left != state && states.get(left).is_some_and(|made| made.until >= settled));
        self.left.push(state);
    }

    /// Notes that the client's write did not take place, or that nobody knows.
    pub(crate) fn withdraws(&mut self, by: Claim) {
        let Some(flying) = self.lands(by) else { return };
        if let Some(made) = self.states.get_mut(&flying.state) {
            made.times = made.times.saturating_sub(1);
        }
    }

    /// Returns the moment since when what was made is not surely replaced.
    pub(crate) fn settled(&self) -> u64 {
        self.settled
    }

    /// Returns whether any write left this state, or may have.
    pub(crate) fn was(&self, state: u64) -> bool {
        self.states.get(&state).is_some_and(|made| made.times > 0)
    }

    fn flies(&self, state: u64) -> bool {
        self.flying.iter().any(|flying| flying.state == state)
    }

    /// Returns whether the key may be seen so by a client that asked when it was [`settled`](Crowd::settled) so.
    pub(crate) fn may_be(&self, state: u64, settled: u64) -> bool {
        self.was(state) && (self.states[&state].until >= settled || self.flies(state))
    }

    /// Returns a compare-and-set was acknowledged that replaced this state, and was sent when the key was settled so.
    pub(crate) fn takes(&mut self, state: u64, settled: u64) -> Swapped {
        if !self.may_be(state, settled) {
            return Swapped::Outdated;
        }
        match self.states.get_mut(&state) {
            Some(made) if made.taken < made.times => {
                made.taken += 1;
                Swapped::Right
            }
            _ => Swapped::Twice,
        }
    }

    /// Returns whether the key may be so when nothing is under way any more.
    pub(crate) fn may_stay(&self, state: u64) -> bool {
        let remains = self.states.get(&state).is_some_and(|made| made.times > made.taken);
        remains && self.may_be(state, self.settled)
    }

    /// Returns whether it may be one of several things.
    pub(crate) fn is_unsure(&self) -> bool {
        self.left.len() > 1 || !self.flying.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{Crowd, Swapped, Way};
    use crate::entry::Claim;

    const NOTHING: u64 = 0;
    const A: Claim = Claim { slot: 0, phase: 0 };
    const B: Claim = Claim { slot: 1, phase: 0 };

    fn wrote(crowd: &mut Crowd, by: Claim, state: u64) {
        assert!(crowd.sends(by, state, Way::Replaces));
        crowd.acknowledges(by, state);
    }

    #[test]
    fn what_was_acknowledged_before_another_write_was_sent_is_replaced_by_it_and_what_crossed_it_is_not() {
        let mut crowd = Crowd::from(NOTHING);
        wrote(&mut crowd, A, 10);
        let before = crowd.settled();
        wrote(&mut crowd, B, 20);
        assert!(crowd.may_be(10, before) && !crowd.may_be(10, crowd.settled()) && !crowd.may_stay(10));
        let before = crowd.settled();
        for (by, state) in [(A, 30), (B, 40)] {
            crowd.sends(by, state, Way::Replaces);
        }
        crowd.acknowledges(A, 30);
        assert!(crowd.may_be(20, before) && crowd.may_be(40, before) && crowd.is_unsure());
        crowd.acknowledges(B, 40);
        assert!(crowd.may_stay(30) && crowd.may_stay(40) && !crowd.may_stay(20) && crowd.is_unsure());
        wrote(&mut crowd, A, 50);
        assert!(!crowd.may_stay(30) && !crowd.may_stay(40) && crowd.may_stay(50) && !crowd.is_unsure());
    }

    #[test]
    fn each_time_a_state_was_made_it_is_taken_once() {
        let mut crowd = Crowd::from(NOTHING);
        let take = |crowd: &mut Crowd, by, from, to| {
            let settled = crowd.settled();
            crowd.sends(by, to, Way::Replaces);
            (by, from, to, settled)
        };
        let done = |crowd: &mut Crowd, (by, from, to, settled): (Claim, u64, u64, u64)| {
            let swapped = crowd.takes(from, settled);
            crowd.acknowledges(by, to);
            swapped
        };
        // Two clients at once: one of them is too much.
        let (one, two) = (take(&mut crowd, A, NOTHING, 10), take(&mut crowd, B, NOTHING, 20));
        assert_eq!((done(&mut crowd, one), done(&mut crowd, two)), (Swapped::Right, Swapped::Twice));
        let late = take(&mut crowd, A, NOTHING, 30);
        assert_eq!(done(&mut crowd, late), Swapped::Outdated);
        wrote(&mut crowd, B, NOTHING);
        let again = take(&mut crowd, A, NOTHING, 40);
        assert_eq!(done(&mut crowd, again), Swapped::Right);
        assert!(!crowd.may_stay(NOTHING) && crowd.may_stay(40));
    }

    #[test]
    fn a_write_that_was_refused_was_never_there_and_appends_that_cross_others_have_no_known_order() {
        let mut crowd = Crowd::from(NOTHING);
        crowd.sends(A, 10, Way::Replaces);
        assert!(crowd.may_be(10, 0));
        crowd.withdraws(A);
        assert!(!crowd.was(10) && !crowd.is_unsure());
        assert!(crowd.sends(A, 20, Way::Appends));
        assert!(!crowd.sends(B, 30, Way::Appends) && !crowd.sends(B, 40, Way::Replaces));
    }
}
