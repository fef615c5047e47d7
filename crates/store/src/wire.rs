//! The bridge for network protocols whose path is what is measured: a sans-I/O codec over one transport.
//!
//! An adapter implements [`Codec`]: pure functions from an operation to bytes and from bytes to a reply; no sockets, so it is
//! tested byte by byte and fuzzed. The transport (TCP, unix sockets, pipelining, partial reads and writes, reconnecting) is
//! written once, in this module.

use crate::{Operation, Reply};

/// What a codec must remember of a request to read its reply: small, copied into the connection's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// The operation's kind.
    pub kind: crate::OperationKind,
    /// Anything else, at the codec's choice (a number of replies, of keys, ...).
    pub detail: u32,
}

/// What was found at the start of the bytes received.
#[derive(Debug, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// A reply is not complete. `at_least` more bytes are needed (a hint for the buffer; 1 when unknown).
    Incomplete {
        /// Bytes still missing, at least.
        at_least: usize,
    },
    /// One whole reply, in the first `consumed` bytes.
    Reply {
        /// The reply; borrows from the bytes received or from the codec's scratch.
        reply: Reply<'a>,
        /// Bytes it took.
        consumed: usize,
    },
    /// This is not the protocol; the connection is of no further use. Says what was expected.
    Broken(&'static str),
}

/// One connection's encoder and decoder: pure, no I/O, no clock.
pub trait Codec: 'static {
    /// Writes what opens a connection (login, database, protocol version) and returns how many replies that will have.
    fn hello(&mut self, out: &mut Vec<u8>) -> u32 {
        let _ = out;
        0
    }

    /// Reads one reply to `hello`.
    fn hello_reply<'a>(&'a mut self, input: &'a [u8]) -> Decoded<'a> {
        let _ = input;
        Decoded::Broken("no reply was expected")
    }

    /// Writes one request. Several may be written before any reply is read. An operation the store does not have is never asked.
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Expect;

    /// Reads the reply to the oldest request that has none.
    fn decode<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a>;
}
