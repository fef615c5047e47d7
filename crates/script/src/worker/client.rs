//! A client of a script: its coroutine, and what it waits for.

use super::failing::Failing;
use crate::coroutine::Coroutine;
use crate::counters::CountSince;
use crate::entry::{Claim, Since};
use crate::mortal::Glimpse;

/// A client.
pub(super) struct Client {
    pub(super) coroutine: Option<Coroutine>,
    pub(super) claim: Claim,
    /// What it waits for; 0: it may go on.
    pub(super) asked: u8,
    pub(super) stage: Stage,
    /// Whether it ever went on.
    pub(super) begun: bool,
    /// When it was asked for.
    pub(super) since: Since,
    /// What was known of a counter then.
    pub(super) sum: CountSince,
    /// What was known of a value's time to live then.
    pub(super) moment: Glimpse,
    /// What a versioned read found, where the moment of its end is in the value: what the store compares with.
    pub(super) found: Option<(u64, Vec<u8>)>,
    /// Of an operation that has failed, and is sent again.
    pub(super) failing: Option<Failing>,
    pub(super) unit: Unit,
}

/// What became of the operations of the unit a client is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// All were answered.
    Undisturbed,
    /// The script had nil for one that failed.
    Disturbed,
}

impl Client {
    /// It has its reply.
    pub(super) fn replied(&mut self) {
        self.asked = 0;
        self.stage = Stage::Replied;
        self.failing = None;
    }
}

/// Where a client is between two operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has its reply, and has not gone on yet.
    Replied,
    /// It went on within its unit, and asks for something.
    Within,
    /// It went on and began a unit, and asks for something.
    Begins,
    /// What it asks for was sent.
    Sent,
}
