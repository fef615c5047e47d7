//! memcached's meta protocol: `mg`, `ms`, `md`, `ma`, one line each way.
//!
//! Each request carries an opaque token, which the server repeats: a reply to another request is caught. Keys that are not plain
//! words travel in base64.

mod requests;

pub(super) use requests::KEY_BYTES;
use requests::{compare_and_set, count, lifetime, line, put, token_text};
use store::wire::ascii::{line_end, parse_u64};
use store::wire::{Codec, Decoded, Expect, KeyQueue};
use store::{Expected, LASTS, Operation, OperationKind, Reply, RowBuffer};

/// The longest reply line: flags and an error's words are far shorter.
const LINE_BYTES: usize = 4 << 10;

/// The largest value believed; the server's own limit is 1 GiB.
const VALUE_BYTES: u64 = 1 << 30;

const OTHER_REQUEST: &str = "the token of the oldest request";

/// The state of one connection.
pub(super) struct Meta {
    /// The token of the next request.
    token: u32,
    /// The keys of get-many requests in flight.
    asked: KeyQueue,
    rows: RowBuffer,
}

impl Meta {
    /// Makes the state of a new connection.
    pub fn new() -> Meta {
        Meta { token: 0, asked: KeyQueue::default(), rows: RowBuffer::default() }
    }

    /// Takes `count` tokens, and returns the first.
    #[inline]
    fn take_tokens(&mut self, count: usize) -> u32 {
        let first = self.token;
        self.token = first.wrapping_add(count as u32);
        first
    }
}

impl Codec for Meta {
    #[inline]
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Expect {
        let token = match *operation {
            Operation::Append { .. } => self.take_tokens(2),
            Operation::GetMany { keys } => self.take_tokens(keys.len()),
            Operation::PutMany { pairs } => self.take_tokens(pairs.len()),
            _ => self.take_tokens(1),
        };
        match *operation {
            Operation::Get { key } | Operation::GetCounter { key } => line(out, b"mg ", key, b" v", token),
            Operation::GetVersioned { key } => line(out, b"mg ", key, b" v c", token),
            Operation::Put { key, value } => put(out, key, value, b"", token),
            Operation::Delete { key } => line(out, b"md ", key, b"", token),
            // The server appends only to what is there, so an empty value is added first; if there is one, that does nothing.
            Operation::Append { key, value } => {
                put(out, key, b"", b" ME", token);
                put(out, key, value, b" MA", token.wrapping_add(1));
            }
            Operation::Increment { key, by } => count(out, key, by, token),
            Operation::CompareAndSet { key, expected: Expected::Absent, value } => put(out, key, value, b" ME", token),
            Operation::CompareAndSet { key, expected: Expected::Present { version, .. }, value } => {
                compare_and_set(out, key, version, value, token);
            }
            // Misses stay silent; the line of mn ends the replies.
            Operation::GetMany { keys } => {
                for (token, key) in (token..).zip(keys) {
                    line(out, b"mg ", key, b" v q", token);
                }
                self.asked.push(keys);
                out.extend_from_slice(b"mn\r\n");
            }
            // What is stored stays silent; the line of mn ends the replies.
            Operation::PutMany { pairs } => {
                for (token, (key, value)) in (token..).zip(pairs) {
                    put(out, key, value, b" q", token);
                }
                out.extend_from_slice(b"mn\r\n");
            }
            Operation::PutTtl { key, value, ttl_ms } => put(out, key, value, &lifetime(ttl_ms), token),
            Operation::TimeLeft { key } => line(out, b"mg ", key, b" t", token),
            Operation::Touch { key, ttl_ms } => line(out, b"mg ", key, &lifetime(ttl_ms), token),
            // Not native, so never asked; asked nevertheless, the server refuses.
            Operation::IncrementField { .. }
            | Operation::GetFields { .. }
            | Operation::Scan { .. }
            | Operation::Command { .. }
            | Operation::Sql { .. } => out.extend_from_slice(b"unsupported\r\n"),
        }
        Expect { kind: operation.kind(), detail: token }
    }

    #[inline]
    fn decode<'a>(&'a mut self, expect: Expect, input: &'a [u8]) -> Decoded<'a> {
        let token = expect.detail;
        match expect.kind {
            OperationKind::GetMany => self.many(token, input).unwrap_or_else(|other| other),
            OperationKind::PutMany => put_many(input).unwrap_or_else(|other| other),
            OperationKind::Append => appended(token, input).unwrap_or_else(|other| other),
            kind => match MetaReply::read(input) {
                Ok(reply) => one(kind, token, reply),
                Err(other) => other,
            },
        }
    }
}

/// Reads the reply of one line.
#[inline]
fn one<'a>(kind: OperationKind, token: u32, meta: MetaReply<'a>) -> Decoded<'a> {
    let reply = match (meta.status, kind) {
        (Status::Error(words), _) => refused(words),
        _ if meta.token != token_text(token) => return Decoded::Broken(OTHER_REQUEST),
        (Status::Value(value), OperationKind::Get) => Reply::Value(value),
        (Status::Value(value), OperationKind::GetVersioned) => match meta.version {
            Some(version) => Reply::Versioned { value, version },
            None => return Decoded::Broken("the version asked for"),
        },
        (Status::Value(value), OperationKind::Increment | OperationKind::GetCounter) => match counter(value) {
            Some(reply) => reply,
            None => return Decoded::Broken("a counter in decimal"),
        },
        (Status::Miss, OperationKind::Get | OperationKind::GetVersioned | OperationKind::GetCounter) => Reply::Missing,
        (Status::Done, OperationKind::Put | OperationKind::Delete | OperationKind::CompareAndSet) => Reply::Done,
        (Status::Done, OperationKind::PutTtl | OperationKind::Touch) => Reply::Done,
        (Status::Miss, OperationKind::Touch | OperationKind::TimeLeft) => Reply::Missing,
        (Status::Done, OperationKind::TimeLeft) => match meta.left_ms {
            Some(left_ms) => Reply::Number(left_ms),
            None => return Decoded::Broken("the time left"),
        },
        (Status::NotFound, OperationKind::Delete) => Reply::Missing,
        (Status::NotFound | Status::Exists | Status::NotStored, OperationKind::CompareAndSet) => Reply::Conflict,
        (Status::NotStored, _) => refused(b"NS (not stored)"),
        _ => return Decoded::Broken("a status this command has"),
    };
    Decoded::Reply { reply, consumed: meta.consumed }
}

/// Reads the two replies to an append: the reply to adding an empty value, whatever it says, and the reply to the append itself.
fn appended<'a>(token: u32, input: &'a [u8]) -> Result<Decoded<'a>, Decoded<'a>> {
    let added = MetaReply::read(input)?;
    let second = MetaReply::read(&input[added.consumed..])?;
    let consumed = added.consumed + second.consumed;
    let tokens = [(&added, token), (&second, token.wrapping_add(1))];
    if tokens.iter().any(|(reply, token)| !reply.is_error() && reply.token != token_text(*token)) {
        return Err(Decoded::Broken(OTHER_REQUEST));
    }
    let reply = match (added.status, second.status) {
        (Status::Error(words), Status::NotStored) | (_, Status::Error(words)) => refused(words),
        (_, Status::Done) => Reply::Done,
        (_, Status::NotStored) => refused(b"NS (not stored)"),
        _ => return Err(Decoded::Broken("a status ms has")),
    };
    Ok(Decoded::Reply { reply, consumed })
}

/// Reads the refusals of a put-many, and the line that ends them.
fn put_many<'a>(input: &'a [u8]) -> Result<Decoded<'a>, Decoded<'a>> {
    let mut consumed = 0;
    let mut refusal = None;
    loop {
        let reply = MetaReply::read(&input[consumed..])?;
        consumed += reply.consumed;
        match reply.status {
            Status::End => break,
            Status::Error(words) => refusal = refusal.or(Some(words)),
            Status::NotStored => refusal = refusal.or(Some(b"NS (not stored)")),
            _ => return Err(Decoded::Broken("silence, and MN behind it")),
        }
    }
    Ok(Decoded::Reply { reply: refusal.map_or(Reply::Done, refused), consumed })
}

impl Meta {
    /// Reads the values found, each with the token of its key, and the line that ends them.
    fn many<'a>(&'a mut self, token: u32, input: &'a [u8]) -> Result<Decoded<'a>, Decoded<'a>> {
        let mut consumed = 0;
        loop {
            let reply = MetaReply::read(&input[consumed..])?;
            consumed += reply.consumed;
            if reply.status == Status::End {
                break;
            }
        }
        self.rows.clear();
        let mut keys = (token..).zip(self.asked.front());
        let mut at = 0;
        let mut refusal = None;
        loop {
            let reply = MetaReply::read(&input[at..])?;
            at += reply.consumed;
            match reply.status {
                Status::End => break,
                Status::Error(words) => refusal = Some(words),
                Status::Value(value) => match keys.find(|(token, _)| token_text(*token) == reply.token) {
                    Some((_, key)) => self.rows.push(key, value),
                    None => return Err(Decoded::Broken(OTHER_REQUEST)),
                },
                _ => return Err(Decoded::Broken("values, and MN behind them")),
            }
        }
        drop(keys);
        self.asked.pop();
        let reply = refusal.map_or(Reply::Rows(self.rows.rows()), refused);
        Ok(Decoded::Reply { reply, consumed })
    }
}

/// The status of one reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status<'a> {
    /// `VA`: a value.
    Value(&'a [u8]),
    /// `EN`: no such key.
    Miss,
    /// `HD`: done.
    Done,
    /// `NF`: not found.
    NotFound,
    /// `EX`: there, and changed.
    Exists,
    /// `NS`: not stored.
    NotStored,
    /// `MN`: the end of a series.
    End,
    /// An error, in the server's words.
    Error(&'a [u8]),
}

/// One reply.
#[derive(Clone, Copy, Debug)]
struct MetaReply<'a> {
    status: Status<'a>,
    /// The token of the reply, zeros where it has none.
    token: [u8; 4],
    version: Option<u64>,
    /// The time a key has left, where that was asked for.
    left_ms: Option<i64>,
    consumed: usize,
}

impl<'a> MetaReply<'a> {
    fn is_error(&self) -> bool {
        matches!(self.status, Status::Error(_))
    }

    /// Reads the reply at the start of `input`; `Err` when it is not whole, or not memcached's.
    #[inline]
    fn read(input: &'a [u8]) -> Result<MetaReply<'a>, Decoded<'a>> {
        let Some(end) = line_end(input, LINE_BYTES) else {
            let known = input.first().is_none_or(u8::is_ascii_uppercase);
            return Err(if input.len() > LINE_BYTES || !known {
                Decoded::Broken("a line of a meta reply")
            } else {
                Decoded::Incomplete { at_least: 1 }
            });
        };
        let line = &input[..end];
        let mut reply =
            MetaReply { status: Status::Miss, token: [0; 4], version: None, left_ms: None, consumed: end + 2 };
        let mut flags = line.get(2..).unwrap_or_default();
        reply.status = match line {
            [b'V', b'A', b' ', rest @ ..] => {
                let digits = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
                let size = parse_u64(&rest[..digits]).filter(|&size| size <= VALUE_BYTES);
                let Some(size) = size else { return Err(Decoded::Broken("a value's size of up to 1 GiB")) };
                flags = &rest[digits..];
                Status::Value(reply.take_value(input, size as usize)?)
            }
            [b'H', b'D', ..] => Status::Done,
            [b'E', b'N', ..] => Status::Miss,
            [b'N', b'F', ..] => Status::NotFound,
            [b'E', b'X', ..] => Status::Exists,
            [b'N', b'S', ..] => Status::NotStored,
            b"MN" => Status::End,
            words
                if [&b"ERROR"[..], b"CLIENT_ERROR ", b"SERVER_ERROR "].iter().any(|start| words.starts_with(start)) =>
            {
                reply.status = Status::Error(words);
                return Ok(reply);
            }
            _ => return Err(Decoded::Broken("a meta reply: VA, EN, HD, NF, EX, NS, MN or an error")),
        };
        reply.read_flags(flags)?;
        Ok(reply)
    }

    /// Takes the value behind the line.
    #[inline]
    fn take_value(&mut self, input: &'a [u8], size: usize) -> Result<&'a [u8], Decoded<'a>> {
        let (start, end) = (self.consumed, self.consumed + size);
        self.consumed = end + 2;
        match input.get(end..end + 2) {
            Some(b"\r\n") => Ok(&input[start..end]),
            Some(_) => Err(Decoded::Broken("CR LF after a value of the size announced")),
            None => Err(Decoded::Incomplete { at_least: end + 2 - input.len() }),
        }
    }

    #[inline]
    fn read_flags(&mut self, mut flags: &[u8]) -> Result<(), Decoded<'a>> {
        while let [b' ', flag, rest @ ..] = flags {
            let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
            let text = &rest[..end];
            match flag {
                b'O' => match text.try_into() {
                    Ok(token) => self.token = token,
                    Err(_) => return Err(Decoded::Broken(OTHER_REQUEST)),
                },
                b'c' => self.version = parse_u64(text),
                b't' => self.left_ms = left_ms(text),
                _ => {}
            }
            flags = &rest[end..];
        }
        if flags.is_empty() { Ok(()) } else { Err(Decoded::Broken("flags after single spaces")) }
    }
}

/// Reads the time left, in seconds; -1: the key lasts.
fn left_ms(seconds: &[u8]) -> Option<i64> {
    match seconds {
        b"-1" => Some(LASTS),
        digits => parse_u64(digits).and_then(|seconds| i64::try_from(seconds).ok()?.checked_mul(1000)),
    }
}

/// Reads a counter's value; after a decrement the server leaves spaces behind it.
fn counter(value: &[u8]) -> Option<Reply<'_>> {
    let number = parse_u64(value.trim_ascii_end())?;
    Some(match i64::try_from(number) {
        Ok(number) => Reply::Number(number),
        Err(_) => refused(b"the counter is beyond 9223372036854775807"),
    })
}

#[cold]
fn refused(words: &[u8]) -> Reply<'_> {
    Reply::Failed(super::failure(words))
}

#[cfg(test)]
mod tests;
