//! The slots of a thread: what each has in flight, and which are free.

use crate::dark::NO_PART;
use measure::Ticks;
use std::collections::VecDeque;
use store::{OperationKind, Slot};

/// The slots.
pub(super) struct Slots {
    pub(super) in_flight: Vec<InFlight>,
    /// How many have something in flight.
    pub(super) active: u32,
    pub(super) ready: VecDeque<Slot>,
    /// Room for the slots that are being given their next operation; empty otherwise.
    pub(super) sending: VecDeque<Slot>,
    /// The slots whose job waits for something other than a reply.
    pub(super) waiting: Vec<Slot>,
    /// The slots whose operations are sent together next.
    pub(super) submitted: Vec<Slot>,
    /// Whether the session answered the last operation at once.
    pub(super) at_once: bool,
}

/// What a slot has in flight, and since when.
#[derive(Clone, Copy)]
pub(super) struct InFlight {
    pub(super) kind: OperationKind,
    pub(super) timed: bool,
    pub(super) flight: Flight,
    pub(super) sent: Ticks,
    pub(super) due: Ticks,
    /// The part of the key space, where darkness is watched.
    pub(super) part: u16,
}

/// What a slot has in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flight {
    Nothing,
    Operation,
    Check,
}

impl InFlight {
    const NOTHING: InFlight =
        InFlight { kind: OperationKind::Get, timed: false, flight: Flight::Nothing, sent: 0, due: 0, part: NO_PART };

    /// A check, which is stamped when it is sent.
    pub(super) const CHECK: InFlight = InFlight { flight: Flight::Check, ..InFlight::NOTHING };

    /// How long it has waited.
    pub(super) fn waited(&self, now: Ticks) -> Ticks {
        if self.flight == Flight::Nothing || self.sent == 0 { 0 } else { now.saturating_sub(self.sent) }
    }
}

impl Slots {
    /// Slots that are all free.
    pub(super) fn new(count: u32) -> Slots {
        Slots {
            in_flight: vec![InFlight::NOTHING; count as usize],
            active: 0,
            ready: (0..count).collect(),
            sending: VecDeque::with_capacity(count as usize),
            waiting: Vec::with_capacity(count as usize),
            submitted: Vec::with_capacity(count as usize),
            at_once: true,
        }
    }

    /// Notes what is in flight; it is stamped when the others are that are sent with it.
    #[inline(always)]
    pub(super) fn took_off(&mut self, slot: Slot, state: InFlight) {
        self.in_flight[slot as usize] = state;
        self.active += 1;
        self.submitted.push(slot);
    }

    /// Stamps all that was submitted as sent now.
    #[inline]
    pub(super) fn stamp(&mut self, now: Ticks) {
        for &slot in &self.submitted {
            self.in_flight[slot as usize].sent = now;
        }
        self.submitted.clear();
    }
}
