//! The bridge for network protocols whose path is what is measured: a sans-I/O codec over one transport.
//!
//! An adapter implements [`Codec`]: pure functions from an operation to bytes and from bytes to a reply; no sockets, so it is
//! tested byte by byte and fuzzed. The transport is written once, below this module:
//!
//! * [`session`] serves the slots of a [`SessionPlan`](crate::SessionPlan) over as many connections as it has clients, or over the
//!   few that they share ([`Wiring`](crate::Wiring)). All requests submitted since the last poll leave in one write per connection; one read
//!   takes all replies that are there.
//! * Many connections are watched by one epoll instance, each registered once. A session of one connection asks nobody: it
//!   reads, blocking, and so makes two system calls per batch.
//! * A wait that has time enough is given no limit, for which the kernel would set a timer each time: a periodic signal to the thread
//!   ends it, so a session stays on the thread that opened it.
//! * A connection that breaks fails what was in flight on it, and is opened again when the next operation is submitted to it
//!   (at once the first time, then less and less often, at most [`RETRY_LONGEST`] apart). No poll waits for that: the others go on.
//! * An operation that has had its time is [abandoned](crate::Session::abandon): its connection is given up, and the node asked again.
//! * A server that says more than it was asked is caught: see [`Codec::decode`].
//! * [`spread`] puts the connections on several nodes that are one store; one whose node is gone is opened to the next.
//! * Replies come in the order of the requests, or each names its own ([`Replies::ByTicket`]): then one that never comes, because the
//!   node that had the request has died behind the one that answers, fails after [`UNANSWERED`].
//!
//! What an adapter asks beside the operations (version, configuration) goes through [`Talk`].

mod alarm;
pub mod ascii;
mod buffers;
mod keys;
mod link;
mod nudges;
mod opening;
mod received;
#[cfg(feature = "tls")]
mod secret;
mod session;
mod socket;
mod talk;
mod ticketed;

pub use keys::KeyQueue;
pub use link::{PATIENCE, RETRY_LONGEST, UNANSWERED};
pub use session::{session, session_later, spread};
pub(crate) use socket::{PRECISE_BELOW, Poller};
pub use talk::Talk;

use crate::{Operation, Reply};
use std::time::Duration;

/// The longest time for connecting and the answer to [`Codec::hello`], and for each question of a [`Talk`].
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The part of a request that a codec must remember to read its reply: small, copied into the connection's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// The kind of the operation.
    pub kind: crate::OperationKind,
    /// Any other information, as the codec chooses (a number of replies, of keys, ...).
    pub detail: u32,
}

/// The start of the bytes received, decoded.
#[derive(Debug, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// An incomplete reply. At least `at_least` more bytes are needed (a hint for the buffer; 1 when unknown).
    Incomplete {
        /// The number of bytes still missing, at least.
        at_least: usize,
    },
    /// A whole reply, in the first `consumed` bytes.
    Reply {
        /// The reply; borrows from the bytes received or from the codec's scratch.
        reply: Reply<'a>,
        /// The bytes that the reply took.
        consumed: usize,
    },
    /// Bytes that are not the protocol; the connection is of no further use. The text says what was expected.
    Broken(&'static str),
}

/// The rule by which replies find their requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replies {
    /// Replies come in the order of the requests.
    InOrder,
    /// Replies come in any order; each names its request by a ticket, which no other request of the connection has had.
    ByTicket,
}

/// The head of the bytes received, in a protocol whose replies have tickets.
#[derive(Debug, PartialEq, Eq)]
pub enum Head {
    /// A whole reply.
    Reply {
        /// The ticket of the request: the number that [`Codec::encode`] left in [`Expect::detail`].
        ticket: u32,
        /// The bytes that the reply takes.
        bytes: usize,
    },
    /// A whole sentence about the connection. The oldest request gets the sentence as its reply; without requests it is passed over.
    Oldest {
        /// The bytes that the sentence takes.
        bytes: usize,
    },
    /// A whole message that the server sends unasked, to be passed over.
    Aside {
        /// The bytes that the message takes.
        bytes: usize,
    },
    /// A reply that is not whole. `at_least` more bytes are needed.
    Incomplete {
        /// The number of bytes still missing, at least.
        at_least: usize,
    },
    /// Bytes that are not the protocol.
    Broken(&'static str),
}

/// A connection's encoder and decoder: pure, no I/O, no clock. A connection that is opened again gets a new one.
pub trait Codec: 'static {
    /// The rule by which the codec's replies find their requests.
    const REPLIES: Replies = Replies::InOrder;

    /// Decodes the head of the bytes received, where replies come [`ByTicket`](Replies::ByTicket). An answer that the server wants at once (a pong)
    /// is written to `answer`. A whole reply is then handed to [`decode`](Codec::decode).
    fn head(&mut self, input: &[u8], answer: &mut Vec<u8>) -> Head {
        let _ = (input, answer);
        Head::Broken("replies of this protocol have no tickets")
    }

    /// Returns whether a reply to a request that is no longer in flight is passed over, because several servers may answer one request:
    /// the first answer is believed. Otherwise such a reply breaks the connection.
    fn may_repeat(&self, ticket: u32) -> bool {
        let _ = ticket;
        false
    }

    /// Writes the bytes that open a connection (login, database, protocol version) and returns how many replies they will have.
    fn hello(&mut self, out: &mut Vec<u8>) -> u32 {
        let _ = out;
        0
    }

    /// Reads one reply to `hello`. A [`Reply::Failed`] refuses the connection.
    fn hello_reply<'a>(&'a mut self, input: &'a [u8]) -> Decoded<'a> {
        let _ = input;
        Decoded::Broken("no reply was expected")
    }

    /// Writes one request. Several may be written before any reply is read. An operation that the store lacks is never asked.
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Expect;

    /// Reads the reply to the oldest request that has none. While the reply is [`Incomplete`](Decoded::Incomplete) this function is called again with
    /// the same bytes and more behind them, so nothing of an incomplete reply may be taken out of the codec's own queues.
    ///
    /// Bytes behind the last reply expected fail that reply as [`Protocol`](crate::Failure::Protocol); bytes that come while nothing
    /// is expected fail the next operation of the connection.
    fn decode<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a>;
}
