//! Ignite's binary protocol of thin clients (<https://ignite.apache.org/docs/latest/binary-client-protocol/binary-client-protocol>):
//! little-endian; a length in front of each message; a number in each request, which its reply repeats, in whatever order they come.

use std::sync::Arc;
use store::wire::{Codec, Decoded, Expect, Head, Replies};
use store::{Endpoint, Expected, Failure, Operation, OperationKind, Reply};

/// The version of the protocol that kvtrial speaks: the last whose messages have no flags.
const VERSION: [i16; 3] = [1, 2, 0];

/// As the handshake has it.
const HANDSHAKE: u8 = 1;
const THIN_CLIENT: u8 = 2;

/// The numbers of operations.
pub(super) mod op {
    pub const GET: i16 = 1000;
    pub const PUT: i16 = 1001;
    pub const PUT_IF_ABSENT: i16 = 1002;
    pub const PUT_ALL: i16 = 1004;
    pub const REPLACE_IF_EQUALS: i16 = 1010;
    pub const REMOVE: i16 = 1016;
    pub const SIZE: i16 = 1020;
    pub const GET_OR_CREATE: i16 = 1054;
    /// A number that no operation has; the server says so.
    pub const NONE: i16 = 0;
}

/// Types of objects.
const STRING: u8 = 9;
const BYTES: u8 = 12;
const NULL: u8 = 101;

/// Bytes of a length, and of what begins a reply behind it: the request's number and a status.
const LENGTH_BYTES: usize = 4;
const HEAD_BYTES: usize = 12;

const NOT_UTF8: &str = "a refusal that is no text";
const NO_REPLY: Decoded<'static> = Decoded::Broken("a reply of Ignite's thin protocol");
const NO_SIZE: &str = "a length of at least 12 bytes";

/// Returns the number the server knows a cache by: Java's hash of its name.
pub(super) fn cache_id(name: &str) -> i32 {
    name.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// Returns the bytes that open a connection.
pub(super) fn hello(endpoint: &Endpoint) -> Vec<u8> {
    let mut out = vec![0; LENGTH_BYTES];
    out.push(HANDSHAKE);
    VERSION.iter().for_each(|part| out.extend_from_slice(&part.to_le_bytes()));
    out.push(THIN_CLIENT);
    if let Some(user) = &endpoint.user {
        push_string(&mut out, user);
        push_string(&mut out, endpoint.password.as_ref().map(|password| password.reveal()).unwrap_or_default());
    }
    end(&mut out, 0);
    out
}

/// Begins a request; [`end`] ends it. Returns the place where the request began.
pub(super) fn begin(out: &mut Vec<u8>, op: i16, number: u32) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    out.extend_from_slice(&op.to_le_bytes());
    out.extend_from_slice(&i64::from(number).to_le_bytes());
    start
}

/// Writes the length of the message that began at `start`. No operation is as long as 2 GiB.
pub(super) fn end(out: &mut [u8], start: usize) {
    let bytes = (out.len() - start - LENGTH_BYTES) as i32;
    out[start..start + LENGTH_BYTES].copy_from_slice(&bytes.to_le_bytes());
}

/// Writes a text as an object.
pub(super) fn push_string(out: &mut Vec<u8>, text: &str) {
    push(out, STRING, text.as_bytes());
}

#[inline]
fn push(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&(bytes.len() as i32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn i32_at(input: &[u8], at: usize) -> Option<i32> {
    input.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_le_bytes)
}

/// Reads these bytes, all of them, as an object: `None` for a null, `Err` for anything but a null and this type.
fn object(input: &[u8], kind: u8) -> Result<Option<&[u8]>, ()> {
    match (input.first(), i32_at(input, 1)) {
        (Some(&NULL), _) if input.len() == 1 => Ok(None),
        (Some(first), Some(size)) if *first == kind && usize::try_from(size) == Ok(input.len() - 5) => {
            Ok(Some(&input[5..]))
        }
        _ => Err(()),
    }
}

/// Returns the bytes of the message that begins here; `Err` says what is wrong, or how many more are needed at least.
fn message(input: &[u8]) -> Result<&[u8], Decoded<'static>> {
    let Some(size) = i32_at(input, 0) else { return Err(Decoded::Incomplete { at_least: LENGTH_BYTES - input.len() }) };
    let Ok(size) = usize::try_from(size) else { return Err(Decoded::Broken("a length that is not negative")) };
    let whole = LENGTH_BYTES + size;
    input.get(LENGTH_BYTES..whole).ok_or_else(|| Decoded::Incomplete { at_least: whole - input.len() })
}

/// The status of an exception in the server, whatever it was about.
const EXCEPTION: i32 = 1;

/// The reason why the server did not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Denial<'a> {
    status: i32,
    /// The reason in the server's words.
    pub words: &'a str,
}

impl<'a> Denial<'a> {
    /// Returns what is known of the request then: an exception may come from one of the nodes that had a share in it.
    fn of(self, kind: OperationKind) -> Failure<'a> {
        let reads = matches!(kind, OperationKind::Get | OperationKind::GetVersioned);
        match self.status == EXCEPTION && !reads {
            true => Failure::Unknown(self.words),
            false => Failure::Refused(self.words),
        }
    }
}

/// Reads a reply: the number of its request, and the result, or the reason for a refusal.
pub(super) fn reply(message: &[u8]) -> Option<(u32, Result<&[u8], Denial<'_>>)> {
    let (head, rest) = message.split_at_checked(HEAD_BYTES)?;
    let number =
        head.first_chunk().map(|bytes| i64::from_le_bytes(*bytes)).and_then(|number| u32::try_from(number).ok())?;
    match i32_at(head, 8)? {
        0 => Some((number, Ok(rest))),
        status => {
            let words = object(rest, STRING).ok()?.unwrap_or_default();
            Some((number, Err(Denial { status, words: std::str::from_utf8(words).unwrap_or(NOT_UTF8) })))
        }
    }
}

/// Returns the reply to a request made outside the measured path, when all of it is there.
pub(super) fn answer(input: &[u8]) -> Result<Option<Vec<u8>>, String> {
    match message(input) {
        Ok(message) => match reply(message) {
            Some((_, Ok(rest))) => Ok(Some(rest.to_vec())),
            Some((_, Err(denial))) => Err(denial.words.to_owned()),
            None => Err("this is no reply of Ignite's thin protocol".into()),
        },
        Err(Decoded::Incomplete { .. }) => Ok(None),
        Err(_) => Err(NO_SIZE.into()),
    }
}

/// The state of one connection.
pub(super) struct Thin {
    hello: Arc<[u8]>,
    cache: i32,
    number: u32,
}

impl Thin {
    /// Makes the state of a new connection.
    pub fn new(hello: Arc<[u8]>, cache: i32) -> Thin {
        Thin { hello, cache, number: 0 }
    }

    /// Begins a request on the cache.
    #[inline]
    fn on_cache(&self, out: &mut Vec<u8>, op: i16) -> usize {
        let start = begin(out, op, self.number);
        out.extend_from_slice(&self.cache.to_le_bytes());
        // No flags: values are not asked for as objects of a class.
        out.push(0);
        start
    }
}

impl Codec for Thin {
    const REPLIES: Replies = Replies::ByTicket;

    fn hello(&mut self, out: &mut Vec<u8>) -> u32 {
        out.extend_from_slice(&self.hello);
        1
    }

    fn hello_reply<'a>(&'a mut self, input: &'a [u8]) -> Decoded<'a> {
        let message = match message(input) {
            Ok(message) => message,
            Err(other) => return other,
        };
        let consumed = LENGTH_BYTES + message.len();
        match message {
            [1, ..] => Decoded::Reply { reply: Reply::Done, consumed },
            // The version it speaks, three numbers of two bytes, and words; newer servers add a number.
            [0, _, _, _, _, _, _, STRING, rest @ ..] => {
                let size = i32_at(rest, 0).and_then(|size| usize::try_from(size).ok());
                let words = size.and_then(|size| rest.get(4..4 + size)).map(std::str::from_utf8);
                let words = words.and_then(Result::ok).unwrap_or(NOT_UTF8);
                Decoded::Reply { reply: Reply::Failed(Failure::Refused(words)), consumed }
            }
            _ => Decoded::Broken("the answer to a handshake"),
        }
    }

    fn head(&mut self, input: &[u8], _: &mut Vec<u8>) -> Head {
        match message(input) {
            Ok(message) => match reply(message) {
                Some((ticket, _)) => Head::Reply { ticket, bytes: LENGTH_BYTES + message.len() },
                None => Head::Broken("a reply of Ignite's thin protocol"),
            },
            Err(Decoded::Incomplete { at_least }) => Head::Incomplete { at_least },
            Err(_) => Head::Broken(NO_SIZE),
        }
    }

    #[inline]
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Expect {
        self.number = self.number.wrapping_add(1);
        let start = match *operation {
            Operation::Get { key } | Operation::GetVersioned { key } => {
                let start = self.on_cache(out, op::GET);
                push(out, BYTES, key);
                start
            }
            Operation::Put { key, value } => {
                let start = self.on_cache(out, op::PUT);
                push(out, BYTES, key);
                push(out, BYTES, value);
                start
            }
            Operation::Delete { key } => {
                let start = self.on_cache(out, op::REMOVE);
                push(out, BYTES, key);
                start
            }
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => {
                let start = self.on_cache(out, op::PUT_IF_ABSENT);
                push(out, BYTES, key);
                push(out, BYTES, value);
                start
            }
            Operation::CompareAndSet { key, expected: Expected::Present { value: old, .. }, value } => {
                let start = self.on_cache(out, op::REPLACE_IF_EQUALS);
                push(out, BYTES, key);
                push(out, BYTES, old);
                push(out, BYTES, value);
                start
            }
            Operation::PutMany { pairs } => {
                let start = self.on_cache(out, op::PUT_ALL);
                out.extend_from_slice(&(pairs.len() as i32).to_le_bytes());
                for (key, value) in pairs {
                    push(out, BYTES, key);
                    push(out, BYTES, value);
                }
                start
            }
            _ => begin(out, op::NONE, self.number),
        };
        end(out, start);
        Expect { kind: operation.kind(), detail: self.number }
    }

    fn decode<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a> {
        let message = match message(input) {
            Ok(message) => message,
            Err(other) => return other,
        };
        let consumed = LENGTH_BYTES + message.len();
        let said = match reply(message) {
            Some((number, said)) if number == expect.detail => said,
            _ => return NO_REPLY,
        };
        let rest = match said {
            Ok(rest) => rest,
            Err(denial) => return Decoded::Reply { reply: Reply::Failed(denial.of(expect.kind)), consumed },
        };
        let reply = match (expect.kind, rest) {
            (OperationKind::Get, _) => match object(rest, BYTES) {
                Ok(value) => value.map_or(Reply::Missing, Reply::Value),
                Err(()) => return NO_REPLY,
            },
            (OperationKind::GetVersioned, _) => match object(rest, BYTES) {
                Ok(value) => value.map_or(Reply::Missing, |value| Reply::Versioned { value, version: 0 }),
                Err(()) => return NO_REPLY,
            },
            (OperationKind::Put | OperationKind::PutMany, []) => Reply::Done,
            (OperationKind::Delete | OperationKind::CompareAndSet, [1]) => Reply::Done,
            (OperationKind::Delete, [0]) => Reply::Missing,
            (OperationKind::CompareAndSet, [0]) => Reply::Conflict,
            _ => return NO_REPLY,
        };
        Decoded::Reply { reply, consumed }
    }
}

#[cfg(test)]
mod tests;
