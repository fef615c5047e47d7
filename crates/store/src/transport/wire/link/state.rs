//! The states of a connection, and the results of asking it to send or to receive.

use crate::wire::opening::Opening;
use crate::wire::socket::Socket;
use std::time::{Duration, Instant};

/// The result of a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::wire) enum Flush {
    /// Nothing is left to send.
    Sent,
    /// The kernel takes no more for now.
    Blocked,
    /// The connection is down, or being opened; there is something to do at this time.
    Down(Instant),
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::wire) enum ReadOutcome {
    /// Nothing, or the connection is down.
    Nothing,
    /// Fewer bytes than there was room for: all there were.
    Part,
    /// As many bytes as there was room for: there may be more.
    Filled,
}

/// The request that has waited longest, since it was first looked at.
pub(in crate::transport::wire) struct Awaited {
    pub ticket: u32,
    pub since: Instant,
}

pub(in crate::transport::wire) enum LinkState {
    Up(Socket),
    Opening(Box<Opening>),
    Down { retry_at: Instant },
}

/// The past of a connection: whether it was ever up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::transport::wire) enum Past {
    Up,
    Nothing,
}

/// The trouble with a connection since the last good reply.
pub(in crate::transport::wire) struct Trouble {
    pub since: Instant,
    pub backoff: Duration,
}

/// Why a connection is lost.
pub(in crate::transport::wire) enum Loss {
    Lost(String),
    /// It could not be opened; nothing was sent.
    Unreached(String),
    Protocol(&'static str),
    /// A reply that takes at least this many bytes.
    TooLarge(usize),
}
