//! memcached's classic text protocol: `get`, `gets`, `set`, `add`, `append`, `cas`, `incr`, `decr`, `delete`.
//!
//! Replies carry no token; those with a value name its key, which is compared with the key asked. The server creates neither a
//! value to append to nor a counter, so an append is `add` of nothing and `append`, and an increment is `add` of nought and `incr`,
//! in one write each.
//!
//! A key travels as it is when it is printable ASCII without spaces and begins with neither `~` nor `@`, which other servers have a
//! use for; else as `~` and base64. Hazelcast reads keys as the addresses of pages are read: there `%` and `+` never travel
//! ([`KeyText::Address`]).

mod line;
mod values;

use ground::base64;
use line::{Line, Says};
use store::wire::ascii::{parse_u64, push_u64};
use store::wire::{Codec, Decoded, Expect, KeyQueue};
use store::{Expected, Operation, OperationKind, Reply, RowBuffer};
use values::{lasting, store};

/// The longest key as it is written in a request.
const KEY_TEXT_BYTES: usize = 250;

/// The longest key of any bytes: `~` and its base64 have at most [`KEY_TEXT_BYTES`] characters.
pub(crate) const KEY_BYTES: usize = (KEY_TEXT_BYTES - 1) / 4 * 3;

/// The value of `Expect::detail` for a request that is not sent, because no server takes its key.
const NO_SUCH_KEY: u32 = u32::MAX;

/// The number of keys in one `get`: old servers read a line of 2 KiB at most.
const KEYS_OF_A_LINE: usize = 7;

/// The number of bytes that a key in base64 takes of an item beyond the longest key that the meta protocol writes as it is.
pub(crate) const KEY_OVERHEAD_BYTES: usize = KEY_TEXT_BYTES - KEY_BYTES;

const OTHER_KEY: &str = "the key asked for";

/// The way in which a server reads the keys of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum KeyText {
    /// The key is read byte for byte.
    #[default]
    Bytes,
    /// The key is read as an address: `+` is a space, and `%` begins a byte in hexadecimal digits.
    Address,
}

/// The state of one connection.
#[derive(Default)]
pub(crate) struct Text {
    key_text: KeyText,
    /// The keys of reads in flight, as they are written.
    asked: KeyQueue,
    /// The keys of a get-many, as they are written.
    written: Vec<Vec<u8>>,
    rows: RowBuffer,
    /// Room for a number or a key, and for its base64, while it is written or read.
    plain: Vec<u8>,
    coded: Vec<u8>,
}

impl Text {
    /// Makes the state of a connection to a server that reads keys like this.
    pub(crate) fn new(key_text: KeyText) -> Text {
        Text { key_text, ..Text::default() }
    }
}

impl Codec for Text {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Expect {
        let kind = operation.kind();
        let how = self.key_text;
        if !operation.keys().all(|key| fits(how, key)) {
            // One line that every server answers with one: to bad keys some answer twice or not at all.
            out.extend_from_slice(b"version\r\n");
            return Expect { kind, detail: NO_SUCH_KEY };
        }
        let mut detail = 1;
        match *operation {
            Operation::Get { key } | Operation::GetCounter { key } => self.get(out, b"get ", key),
            Operation::GetVersioned { key } => self.get(out, b"gets ", key),
            Operation::Put { key, value } => store(how, out, b"set ", key, value, None),
            Operation::PutTtl { key, value, ttl_ms } => lasting(how, out, b"set ", key, value, ttl_ms),
            Operation::Touch { key, ttl_ms } => {
                self.plain.clear();
                self.plain.push(b' ');
                push_u64(&mut self.plain, ttl_ms.div_ceil(1000));
                word(how, out, b"touch ", key, &self.plain);
            }
            Operation::Delete { key } => word(how, out, b"delete ", key, b""),
            Operation::Append { key, value } => {
                store(how, out, b"add ", key, b"", None);
                store(how, out, b"append ", key, value, None);
            }
            Operation::Increment { key, by } => {
                store(how, out, b"add ", key, b"0", None);
                self.plain.clear();
                self.plain.push(b' ');
                push_u64(&mut self.plain, by.unsigned_abs());
                word(how, out, if by < 0 { b"decr " } else { b"incr " }, key, &self.plain);
            }
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => {
                store(how, out, b"add ", key, value, None)
            }
            Operation::CompareAndSet { key, expected: Expected::Present { version, .. }, value } => {
                store(how, out, b"cas ", key, value, Some(version));
            }
            Operation::GetMany { keys } => detail = self.get_many(out, keys),
            Operation::PutMany { pairs } => {
                for (key, value) in pairs {
                    store(how, out, b"set ", key, value, None);
                }
                detail = pairs.len() as u32;
                if detail == 0 {
                    out.extend_from_slice(b"version\r\n");
                }
            }
            // Not native, so never asked; asked nevertheless, the server refuses.
            Operation::IncrementField { .. }
            | Operation::GetFields { .. }
            | Operation::Scan { .. }
            | Operation::TimeLeft { .. }
            | Operation::Command { .. }
            | Operation::Sql { .. } => {
                out.extend_from_slice(b"unsupported\r\n");
            }
        }
        Expect { kind, detail }
    }

    fn decode<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a> {
        let decoded = match expect.kind {
            _ if expect.detail == NO_SUCH_KEY => not_asked(input),
            OperationKind::Get | OperationKind::GetVersioned | OperationKind::GetCounter => {
                self.one(expect.kind, input)
            }
            OperationKind::GetMany => self.many(expect.detail, input),
            OperationKind::PutMany => put_many(expect.detail, input),
            OperationKind::Append | OperationKind::Increment => second(expect.kind, input),
            kind => stored(kind, input),
        };
        decoded.unwrap_or_else(|other| other)
    }
}

impl Text {
    fn get(&mut self, out: &mut Vec<u8>, command: &[u8], key: &[u8]) {
        let start = out.len() + command.len();
        word(self.key_text, out, command, key, b"");
        let end = out.len() - 2;
        self.asked.push(&[out.get(start..end).unwrap_or_default()]);
    }

    /// Writes several lines of keys, and returns how many.
    fn get_many(&mut self, out: &mut Vec<u8>, keys: &[&[u8]]) -> u32 {
        self.written.resize_with(self.written.len().max(keys.len()), Vec::new);
        let written = &mut self.written[..keys.len()];
        for (text, key) in written.iter_mut().zip(keys) {
            text.clear();
            push_key(self.key_text, text, key);
        }
        for line in written.chunks(KEYS_OF_A_LINE) {
            out.extend_from_slice(b"get");
            for text in line {
                out.push(b' ');
                out.extend_from_slice(text);
            }
            out.extend_from_slice(b"\r\n");
        }
        self.asked.push(written);
        if keys.is_empty() {
            out.extend_from_slice(b"version\r\n");
        }
        keys.len().div_ceil(KEYS_OF_A_LINE) as u32
    }

    fn one<'a>(&'a mut self, kind: OperationKind, input: &'a [u8]) -> Result<Decoded<'a>, Decoded<'a>> {
        let first = Line::read(input)?;
        let (reply, consumed) = match first.says {
            Says::End => (Reply::Missing, first.consumed),
            Says::Error(words) => (refused(words), first.consumed),
            Says::Value { key, value, version } => {
                let end = Line::read(&input[first.consumed..])?;
                if self.asked.front().next() != Some(key) {
                    return Err(Decoded::Broken(OTHER_KEY));
                }
                if end.says != Says::End {
                    return Err(Decoded::Broken("END after a value"));
                }
                let reply = match (kind, version) {
                    (OperationKind::GetVersioned, Some(version)) => Reply::Versioned { value, version },
                    (OperationKind::GetVersioned, None) => return Err(Decoded::Broken("the version asked for")),
                    (OperationKind::GetCounter, _) => counter(value)?,
                    _ => Reply::Value(value),
                };
                (reply, first.consumed + end.consumed)
            }
            _ => return Err(Decoded::Broken("VALUE, END or an error")),
        };
        self.asked.pop();
        Ok(Decoded::Reply { reply, consumed })
    }

    fn many<'a>(&'a mut self, lines: u32, input: &'a [u8]) -> Result<Decoded<'a>, Decoded<'a>> {
        let consumed = whole(lines, input)?;
        self.rows.clear();
        let mut refusal = None;
        let mut at = 0;
        // Written keys were kept; rows carry the keys themselves.
        let mut keys = self.asked.front();
        while at < consumed {
            let line = Line::read(&input[at..])?;
            at += line.consumed;
            match line.says {
                Says::Value { key, value, .. } => {
                    if !keys.any(|asked| asked == key) {
                        return Err(Decoded::Broken(OTHER_KEY));
                    }
                    self.plain.clear();
                    match key.strip_prefix(b"~") {
                        Some(text) if !read_key(self.key_text, &mut self.plain, &mut self.coded, text) => {
                            return Err(Decoded::Broken(OTHER_KEY));
                        }
                        Some(_) => self.rows.push(&self.plain, value),
                        None => self.rows.push(key, value),
                    }
                }
                Says::Error(words) => refusal = Some(words),
                _ => {}
            }
        }
        drop(keys);
        self.asked.pop();
        let reply = refusal.map_or(Reply::Rows(self.rows.rows()), refused);
        Ok(Decoded::Reply { reply, consumed })
    }
}

/// Reads the reply to the request that was sent in place of a key that no server takes.
fn not_asked<'a>(input: &'a [u8]) -> Result<Decoded<'a>, Decoded<'a>> {
    let line = Line::read(input)?;
    match line.says {
        Says::Version => {
            let reply = refused(b"the key is empty, or longer than 250 bytes as it travels");
            Ok(Decoded::Reply { reply, consumed: line.consumed })
        }
        _ => Err(Decoded::Broken("VERSION")),
    }
}

/// Returns the number of bytes of the replies to `lines` lines of keys; with 0 lines, of the reply to `version`.
fn whole<'a>(lines: u32, input: &'a [u8]) -> Result<usize, Decoded<'a>> {
    let (mut left, mut consumed) = (lines.max(1), 0);
    while left > 0 {
        let line = Line::read(&input[consumed..])?;
        consumed += line.consumed;
        match line.says {
            Says::Value { .. } => {}
            Says::End | Says::Error(_) => left -= 1,
            Says::Version if lines == 0 => left -= 1,
            _ => return Err(Decoded::Broken("values, and END behind them")),
        }
    }
    Ok(consumed)
}

/// Reads the reply to a request that stores or deletes.
fn stored<'a>(kind: OperationKind, input: &'a [u8]) -> Result<Decoded<'a>, Decoded<'a>> {
    let line = Line::read(input)?;
    let reply = match (line.says, kind) {
        (Says::Error(words), _) => refused(words),
        (Says::Stored, OperationKind::Put | OperationKind::PutTtl | OperationKind::CompareAndSet) => Reply::Done,
        (Says::Deleted, OperationKind::Delete) | (Says::Touched, OperationKind::Touch) => Reply::Done,
        (Says::NotFound, OperationKind::Delete | OperationKind::Touch) => Reply::Missing,
        (Says::NotStored | Says::Exists | Says::NotFound, OperationKind::CompareAndSet) => Reply::Conflict,
        (Says::NotStored, OperationKind::Put | OperationKind::PutTtl) => refused(b"NOT_STORED"),
        _ => return Err(Decoded::Broken("a word this command is answered with")),
    };
    Ok(Decoded::Reply { reply, consumed: line.consumed })
}

/// Reads the reply to an `add`, whatever it says, and the reply to the request behind it.
fn second<'a>(kind: OperationKind, input: &'a [u8]) -> Result<Decoded<'a>, Decoded<'a>> {
    let added = Line::read(input)?;
    if !matches!(added.says, Says::Stored | Says::NotStored | Says::Error(_)) {
        return Err(Decoded::Broken("STORED, NOT_STORED or an error"));
    }
    let line = Line::read(&input[added.consumed..])?;
    let reply = match (line.says, kind) {
        (Says::Error(words), _) => refused(words),
        (Says::Stored, OperationKind::Append) => Reply::Done,
        (Says::NotStored, OperationKind::Append) => refused(b"NOT_STORED"),
        (Says::NotFound, OperationKind::Increment) => refused(b"NOT_FOUND"),
        (Says::Number(digits), OperationKind::Increment) => counter(digits)?,
        _ => return Err(Decoded::Broken("a word this command is answered with")),
    };
    Ok(Decoded::Reply { reply, consumed: added.consumed + line.consumed })
}

/// Reads the replies to several `set`.
fn put_many<'a>(count: u32, input: &'a [u8]) -> Result<Decoded<'a>, Decoded<'a>> {
    let mut consumed = 0;
    let mut refusal = None;
    for _ in 0..count.max(1) {
        let line = Line::read(&input[consumed..])?;
        consumed += line.consumed;
        match line.says {
            Says::Stored => {}
            Says::Version if count == 0 => {}
            Says::Error(words) => refusal = refusal.or(Some(words)),
            Says::NotStored => refusal = refusal.or(Some(&b"NOT_STORED"[..])),
            _ => return Err(Decoded::Broken("STORED for every pair")),
        }
    }
    Ok(Decoded::Reply { reply: refusal.map_or(Reply::Done, refused), consumed })
}

/// Reads a counter's value; after a decrement the server leaves spaces behind it.
fn counter(value: &[u8]) -> Result<Reply<'_>, Decoded<'_>> {
    let number = parse_u64(value.trim_ascii_end()).ok_or(Decoded::Broken("a counter in decimal"))?;
    Ok(match i64::try_from(number) {
        Ok(number) => Reply::Number(number),
        Err(_) => refused(b"the counter is beyond 9223372036854775807"),
    })
}

#[cold]
fn refused(words: &[u8]) -> Reply<'_> {
    Reply::Failed(super::failure(words))
}

fn fits(how: KeyText, key: &[u8]) -> bool {
    !key.is_empty() && key.len() <= if is_plain(how, key) { KEY_TEXT_BYTES } else { KEY_BYTES }
}

fn is_plain(how: KeyText, key: &[u8]) -> bool {
    let is_read_otherwise = |byte: &u8| how == KeyText::Address && matches!(byte, b'%' | b'+');
    let is_kept = |byte: &u8| (b'!'..=b'~').contains(byte) && !is_read_otherwise(byte);
    key.iter().all(is_kept) && !key.starts_with(b"~") && !key.starts_with(b"@")
}

/// Writes a key.
fn push_key(how: KeyText, out: &mut Vec<u8>, key: &[u8]) {
    if is_plain(how, key) {
        out.extend_from_slice(key);
    } else {
        let start = out.len();
        out.push(b'~');
        base64::push(out, key);
        if how == KeyText::Address {
            swap(&mut out[start..], b'+', b'-');
        }
    }
}

/// Reads the base64 of a key; false when the text is not base64.
fn read_key(how: KeyText, plain: &mut Vec<u8>, coded: &mut Vec<u8>, text: &[u8]) -> bool {
    coded.clear();
    coded.extend_from_slice(text);
    if how == KeyText::Address {
        swap(coded, b'-', b'+');
    }
    base64::read(plain, coded)
}

fn swap(text: &mut [u8], from: u8, to: u8) {
    text.iter_mut().filter(|byte| **byte == from).for_each(|byte| *byte = to);
}

/// Writes a request of one line.
fn word(how: KeyText, out: &mut Vec<u8>, command: &[u8], key: &[u8], rest: &[u8]) {
    out.extend_from_slice(command);
    push_key(how, out, key);
    out.extend_from_slice(rest);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests;
