//! Tokyo Tyrant's binary protocol. A request is the byte 0xC8, a command, its sizes (32 bits, big-endian) and its bytes; a reply
//! is a status (0 or 1) and, when that is 0 and the command has a result, the result. Replies come in the order of requests.
//!
//! The status says no more than that: 1 to a get is a missing key, 1 to a put is a refusal, without words.

use store::wire::{Codec, Decoded, Expect};
use store::{Failure, Operation, OperationKind, Reply, RowBuffer};

/// The longest argument the server takes, in bytes; the server drops a connection that sends a longer one.
pub(super) const MAX_ARGUMENT_BYTES: usize = 256 << 20;

/// The most keys of one get-many; the server drops a connection that sends more.
const MAX_KEYS: usize = 1 << 20;

const MAGIC: u8 = 0xC8;
const PUT: u8 = 0x10;
const PUT_CAT: u8 = 0x12;
const OUT: u8 = 0x20;
const GET: u8 = 0x30;
const GET_MANY: u8 = 0x31;
const ADD_INT: u8 = 0x60;
const RECORDS: u8 = 0x80;
const STATISTICS: u8 = 0x88;
const MISC: u8 = 0x90;

/// The function of [`MISC`] that stores pairs.
const PUT_LIST: &[u8] = b"putlist";

/// The number of bytes of the reply to [`RECORDS`]: status and a 64-bit number.
const RECORDS_REPLY_BYTES: usize = 9;

/// The reason for a request that is not sent. A harmless question (how many records there are) goes in its place, so that replies stay in order.
const TOO_LONG: &str = "a key or value over 268435456 bytes, the most that Tokyo Tyrant takes";
const TOO_MANY: &str = "more than 1048576 keys at once, the most that Tokyo Tyrant takes";
const TOO_WIDE: &str = "counters of Tokyo Tyrant have 32 bits; the step has more";

/// The sum that Tyrant answers when there is none, by its status. A counter that wraps around comes to the same number, and nothing distinguishes the
/// two. A job that counts sees a wrong number either way.
const NO_SUM: i64 = i32::MIN as i64;

const NO_WORDS: &str = "status 1, which is all Tokyo Tyrant says";

/// The values of `Expect::detail`.
mod detail {
    /// The request is the operation; for a get-many, the number of its keys.
    pub const SENT: u32 = 0;
    /// A question was sent in the place of a get-many of no keys.
    pub const NO_KEYS: u32 = u32::MAX;
    /// A question was sent in the place of an operation that cannot be sent; one value per reason.
    pub const TOO_LONG: u32 = u32::MAX - 1;
    pub const TOO_MANY: u32 = u32::MAX - 2;
    pub const TOO_WIDE: u32 = u32::MAX - 3;
    pub const NO_PAIRS: u32 = u32::MAX - 4;
    pub const NOT_THERE: u32 = u32::MAX - 5;
}

/// The order of the bytes of a counter in a value, as the server's machine has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endian {
    Little,
    Big,
}

/// The state of one connection.
pub(super) struct Tyrant {
    endian: Endian,
    rows: RowBuffer,
}

impl Tyrant {
    /// Makes the state of a new connection.
    pub fn new(endian: Endian) -> Tyrant {
        Tyrant { endian, rows: RowBuffer::default() }
    }

    /// Reads the reply to a get-many: status, number of records, and for each key size, value size, key, value.
    fn records<'a>(&'a mut self, input: &[u8], asked: u32) -> Decoded<'a> {
        let Some(count) = number(input, 1) else { return incomplete(input, 5) };
        if count > asked {
            return Decoded::Broken("get-many: more records than keys were asked for");
        }
        self.rows.clear();
        let mut at = 5;
        for _ in 0..count {
            let (Some(key_bytes), Some(value_bytes)) = (number(input, at), number(input, at + 4)) else {
                return incomplete(input, at + 8);
            };
            let (key_bytes, value_bytes) = (key_bytes as usize, value_bytes as usize);
            if key_bytes > MAX_ARGUMENT_BYTES || value_bytes > i32::MAX as usize {
                return Decoded::Broken("get-many: a size no record can have");
            }
            at += 8;
            let end = at + key_bytes + value_bytes;
            let Some(record) = input.get(at..end) else { return incomplete(input, end) };
            self.rows.push(&record[..key_bytes], &record[key_bytes..]);
            at = end;
        }
        Decoded::Reply { reply: Reply::Rows(self.rows.rows()), consumed: at }
    }

    fn counter(&self, value: &[u8]) -> Option<i64> {
        let bytes = value.try_into().ok()?;
        Some(
            match self.endian {
                Endian::Little => i32::from_le_bytes(bytes),
                Endian::Big => i32::from_be_bytes(bytes),
            }
            .into(),
        )
    }
}

impl Codec for Tyrant {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Expect {
        let kind = operation.kind();
        let sent = match *operation {
            Operation::Get { key } | Operation::GetVersioned { key } | Operation::GetCounter { key } => {
                request(out, GET, &[key])
            }
            Operation::Put { key, value } => request(out, PUT, &[key, value]),
            Operation::Append { key, value } => request(out, PUT_CAT, &[key, value]),
            Operation::Delete { key } => request(out, OUT, &[key]),
            Operation::Increment { key, by } => match i32::try_from(by) {
                Ok(by) => add(out, key, by),
                Err(_) => Err(detail::TOO_WIDE),
            },
            Operation::GetMany { keys } => get_many(out, keys),
            Operation::PutMany { pairs } => put_many(out, pairs),
            _ => Err(detail::NOT_THERE),
        };
        match sent {
            Ok(detail) => Expect { kind, detail },
            Err(detail) => {
                out.extend_from_slice(&[MAGIC, RECORDS]);
                Expect { kind, detail }
            }
        }
    }

    fn decode<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a> {
        let Some(&status) = input.first() else { return Decoded::Incomplete { at_least: 1 } };
        if status > 1 {
            return Decoded::Broken("a status that is neither 0 nor 1");
        }
        if expect.detail >= detail::NOT_THERE {
            self.rows.clear();
            return instead(expect.detail, input, &self.rows);
        }
        let plain = |reply| Decoded::Reply { reply, consumed: 1 };
        match (expect.kind, status) {
            (OperationKind::GetMany, 0) => self.records(input, expect.detail),
            (OperationKind::Get | OperationKind::GetVersioned | OperationKind::GetCounter, 0) => {
                let (value, consumed) = match sized(input) {
                    Ok(found) => found,
                    Err(decoded) => return decoded,
                };
                let reply = match expect.kind {
                    OperationKind::Get => Reply::Value(value),
                    OperationKind::GetVersioned => Reply::Versioned { value, version: 0 },
                    _ => match self.counter(value) {
                        Some(count) => Reply::Number(count),
                        None => Reply::Failed(Failure::Refused("the value is not a counter of 4 bytes")),
                    },
                };
                Decoded::Reply { reply, consumed }
            }
            // Whatever the status, the number of elements returned is behind it; putlist returns none.
            (OperationKind::PutMany, status) => match number(input, 1) {
                Some(0) if status == 0 => Decoded::Reply { reply: Reply::Done, consumed: 5 },
                Some(0) => Decoded::Reply { reply: Reply::Failed(Failure::Refused(NO_WORDS)), consumed: 5 },
                Some(_) => Decoded::Broken("putlist: no elements"),
                None => incomplete(input, 5),
            },
            (OperationKind::Increment, 0) => match number(input, 1) {
                Some(sum) => Decoded::Reply { reply: Reply::Number((sum as i32).into()), consumed: 5 },
                None => incomplete(input, 5),
            },
            (_, 0) => plain(Reply::Done),
            (
                OperationKind::Get | OperationKind::GetVersioned | OperationKind::GetCounter | OperationKind::Delete,
                _,
            ) => plain(Reply::Missing),
            (OperationKind::Increment, _) => plain(Reply::Number(NO_SUM)),
            _ => Decoded::Reply { reply: Reply::Failed(Failure::Refused(NO_WORDS)), consumed: 1 },
        }
    }
}

/// Writes a command with the sizes of its arguments, then the arguments.
fn request(out: &mut Vec<u8>, command: u8, arguments: &[&[u8]]) -> Result<u32, u32> {
    if arguments.iter().any(|argument| argument.len() > MAX_ARGUMENT_BYTES) {
        return Err(detail::TOO_LONG);
    }
    out.extend_from_slice(&[MAGIC, command]);
    for argument in arguments {
        size(out, argument);
    }
    for argument in arguments {
        out.extend_from_slice(argument);
    }
    Ok(detail::SENT)
}

fn add(out: &mut Vec<u8>, key: &[u8], by: i32) -> Result<u32, u32> {
    if key.len() > MAX_ARGUMENT_BYTES {
        return Err(detail::TOO_LONG);
    }
    out.extend_from_slice(&[MAGIC, ADD_INT]);
    size(out, key);
    out.extend_from_slice(&by.to_be_bytes());
    out.extend_from_slice(key);
    Ok(detail::SENT)
}

fn get_many(out: &mut Vec<u8>, keys: &[&[u8]]) -> Result<u32, u32> {
    if keys.is_empty() {
        return Err(detail::NO_KEYS);
    }
    if keys.len() > MAX_KEYS {
        return Err(detail::TOO_MANY);
    }
    if keys.iter().any(|key| key.len() > MAX_ARGUMENT_BYTES) {
        return Err(detail::TOO_LONG);
    }
    out.extend_from_slice(&[MAGIC, GET_MANY]);
    out.extend_from_slice(&(keys.len() as u32).to_be_bytes());
    for key in keys {
        size(out, key);
        out.extend_from_slice(key);
    }
    Ok(keys.len() as u32)
}

fn put_many(out: &mut Vec<u8>, pairs: &[(&[u8], &[u8])]) -> Result<u32, u32> {
    if pairs.is_empty() {
        return Err(detail::NO_PAIRS);
    }
    if 2 * pairs.len() > MAX_KEYS {
        return Err(detail::TOO_MANY);
    }
    if pairs.iter().any(|(key, value)| key.len().max(value.len()) > MAX_ARGUMENT_BYTES) {
        return Err(detail::TOO_LONG);
    }
    out.extend_from_slice(&[MAGIC, MISC]);
    size(out, PUT_LIST);
    out.extend_from_slice(&0u32.to_be_bytes()); // options: none
    out.extend_from_slice(&(2 * pairs.len() as u32).to_be_bytes());
    out.extend_from_slice(PUT_LIST);
    for (key, value) in pairs {
        for argument in [key, value] {
            size(out, argument);
            out.extend_from_slice(argument);
        }
    }
    Ok(detail::SENT)
}

fn size(out: &mut Vec<u8>, argument: &[u8]) {
    out.extend_from_slice(&(argument.len() as u32).to_be_bytes());
}

/// Reads the answer to the question that was sent instead of an operation.
fn instead<'a>(reason: u32, input: &[u8], no_rows: &'a RowBuffer) -> Decoded<'a> {
    if input.len() < RECORDS_REPLY_BYTES {
        return incomplete(input, RECORDS_REPLY_BYTES);
    }
    let reply = match reason {
        detail::NO_KEYS => Reply::Rows(no_rows.rows()),
        detail::NO_PAIRS => Reply::Done,
        detail::TOO_LONG => Reply::Failed(Failure::Refused(TOO_LONG)),
        detail::TOO_MANY => Reply::Failed(Failure::Refused(TOO_MANY)),
        detail::TOO_WIDE => Reply::Failed(Failure::Refused(TOO_WIDE)),
        _ => Reply::Failed(Failure::Refused("Tokyo Tyrant has no such operation")),
    };
    Decoded::Reply { reply, consumed: RECORDS_REPLY_BYTES }
}

/// Returns the 32-bit number at a place, when all of it is there.
fn number(input: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(input.get(at..at + 4)?.try_into().ok()?))
}

/// Returns the sized bytes behind a status, and the place where they end.
fn sized(input: &[u8]) -> Result<(&[u8], usize), Decoded<'_>> {
    let Some(bytes) = number(input, 1) else { return Err(incomplete(input, 5)) };
    if bytes > i32::MAX as u32 {
        return Err(Decoded::Broken("a size no value can have"));
    }
    let end = 5 + bytes as usize;
    input.get(5..end).map(|value| (value, end)).ok_or_else(|| incomplete(input, end))
}

fn incomplete(input: &[u8], needed: usize) -> Decoded<'static> {
    Decoded::Incomplete { at_least: needed - input.len() }
}

/// The request for a server's statistics.
pub(super) const STATISTICS_REQUEST: [u8; 2] = [MAGIC, STATISTICS];

/// Reads the statistics: lines of name, tab, value. `None` while they are not complete.
pub(super) fn statistics(input: &[u8]) -> Result<Option<String>, String> {
    match input.first() {
        None => return Ok(None),
        Some(0) => {}
        Some(1) => return Err("the server refuses to tell its statistics".into()),
        Some(_) => return Err("this is not the protocol of Tokyo Tyrant: a status that is neither 0 nor 1".into()),
    }
    match sized(input) {
        Ok((text, end)) if end == input.len() => Ok(Some(String::from_utf8_lossy(text).into_owned())),
        Ok(_) => Err("the server sent more than it was asked for".into()),
        Err(Decoded::Incomplete { .. }) => Ok(None),
        Err(_) => Err("this is not the protocol of Tokyo Tyrant: a size no text can have".into()),
    }
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
