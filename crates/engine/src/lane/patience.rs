//! How long replies and connections are waited for, and what is done then.

use crate::settings::{Outages, Settings};
use measure::{Clock, Ticks};

/// Consecutive lost connections after which a store is given up, if the deadline has not passed before.
const GIVE_UP_AFTER: u32 = 200;

/// The patience with a store.
pub(super) struct Patience {
    /// The longest wait for any reply.
    pub(super) deadline: Ticks,
    /// While connections are lost: until when a good reply must have come.
    lost_end: Option<Ticks>,
    /// Where nodes fail on purpose.
    pub(super) endured: Option<Endured>,
}

/// Outages that are endured.
pub(super) struct Endured {
    /// What an operation may take.
    timeout: Ticks,
    /// Whether nothing is in flight on the session any more, though the phase did not come to its end.
    pub(super) gave_all_up: bool,
}

impl Patience {
    /// The patience that the settings ask for.
    pub(super) fn new(settings: &Settings, clock: &Clock) -> Patience {
        Patience {
            deadline: clock.ticks(settings.deadline),
            lost_end: None,
            endured: match settings.outages {
                Outages::GiveUp => None,
                Outages::Endure { .. } => {
                    Some(Endured { timeout: clock.ticks(settings.timeout()), gave_all_up: false })
                }
            },
        }
    }

    /// Whether connections are lost, and nothing good was answered, too often or for longer than any reply may take.
    pub(super) fn is_over(&mut self, lost_in_a_row: u32, now: Ticks) -> bool {
        if lost_in_a_row == 0 {
            self.lost_end = None;
            return false;
        }
        let end = *self.lost_end.get_or_insert(now.saturating_add(self.deadline));
        now > end || self.endured.is_none() && lost_in_a_row >= GIVE_UP_AFTER
    }

    /// What an operation may take, where that is less than the deadline: then it fails, and the phase goes on.
    pub(super) fn timeout(&self) -> Option<Ticks> {
        self.endured.as_ref().map(|endured| endured.timeout).filter(|timeout| *timeout < self.deadline)
    }
}
