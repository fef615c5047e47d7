//! The protocol `pb0`, without sockets: messages of Google's protocol buffers, each behind its length in four bytes. A connection begins
//! with the three bytes `pb0`, which the server answers with `ok`. Requests and replies alternate: the server drops what comes behind a
//! request before it has answered.

use super::clock::{Clock, Entry};

/// The beginning of a connection.
pub(super) const HELLO: &[u8] = b"pb0";

/// The answer to [`HELLO`].
pub(super) const WELCOME: &[u8] = b"ok";

/// The size of a message's length.
pub(super) const LENGTH_BYTES: usize = 4;

/// The kind of a request; the number is the protocol's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Kind {
    Get = 0,
    GetAll = 1,
    Put = 2,
    Delete = 3,
    GetVersion = 4,
}

/// A fault of a reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A refusal of the server: its number, and its words.
    Said { code: u64, words: String },
    /// Bytes that are not the protocol: what was expected.
    Broken(&'static str),
}

/// The number of the refusal because a later version is there, or the same version.
pub(super) const OBSOLETE: u64 = 4;

/// A value and its version.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Versioned<'a> {
    pub(super) value: &'a [u8],
    pub(super) clock: Clock,
}

// The wire types of protocol buffers: a number of variable length, eight bytes, bytes behind their length, four bytes.
const VARINT: u64 = 0;
const EIGHT: u64 = 1;
const BYTES: u64 = 2;
const FOUR: u64 = 5;

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

const fn varint_len(number: u64) -> usize {
    let bits = 64 - (number | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

fn number_field(out: &mut Vec<u8>, field: u64, number: u64) {
    varint(out, field << 3 | VARINT);
    varint(out, number);
}

/// Writes the field and the length of bytes that follow.
fn bytes_head(out: &mut Vec<u8>, field: u64, len: usize) {
    varint(out, field << 3 | BYTES);
    varint(out, len as u64);
}

fn bytes_field(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    bytes_head(out, field, bytes.len());
    out.extend_from_slice(bytes);
}

/// Returns the size of a field of bytes: the numbers of all fields here are below 16, one byte.
fn bytes_field_len(len: usize) -> usize {
    1 + varint_len(len as u64) + len
}

/// Writes a message for this store, behind its length, with the field that carries the request.
fn frame(out: &mut Vec<u8>, kind: Kind, store: &str, field: u64, body_len: usize, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    number_field(out, 1, kind as u64);
    // The client routes.
    number_field(out, 2, 0);
    bytes_field(out, 3, store.as_bytes());
    bytes_head(out, field, body_len);
    body(out);
    let len = (out.len() - start - LENGTH_BYTES) as u32;
    out[start..start + LENGTH_BYTES].copy_from_slice(&len.to_be_bytes());
}

/// Asks for the values of a key, or for their versions only.
pub(super) fn ask_for(out: &mut Vec<u8>, kind: Kind, store: &str, key: &[u8]) {
    frame(out, kind, store, 4, bytes_field_len(key.len()), |out| bytes_field(out, 1, key));
}

/// Asks for the values of several keys.
pub(super) fn ask_for_all<'a>(out: &mut Vec<u8>, store: &str, keys: impl Iterator<Item = &'a [u8]> + Clone) {
    let len = keys.clone().map(|key| bytes_field_len(key.len())).sum();
    frame(out, Kind::GetAll, store, 5, len, |out| keys.for_each(|key| bytes_field(out, 1, key)));
}

/// Stores a value as this version, written at this time.
pub(super) fn put(out: &mut Vec<u8>, store: &str, key: &[u8], value: &[u8], clock: &Clock, now_ms: u64) {
    let clock = clock_message(clock, now_ms);
    let versioned_len = bytes_field_len(value.len()) + bytes_field_len(clock.len());
    let len = bytes_field_len(key.len()) + bytes_field_len(versioned_len);
    frame(out, Kind::Put, store, 6, len, |out| {
        bytes_field(out, 1, key);
        bytes_head(out, 2, versioned_len);
        bytes_field(out, 1, value);
        bytes_field(out, 2, &clock);
    });
}

/// Deletes values that are not later than this version.
pub(super) fn delete(out: &mut Vec<u8>, store: &str, key: &[u8], clock: &Clock, now_ms: u64) {
    let clock = clock_message(clock, now_ms);
    let len = bytes_field_len(key.len()) + bytes_field_len(clock.len());
    frame(out, Kind::Delete, store, 7, len, |out| {
        bytes_field(out, 1, key);
        bytes_field(out, 2, &clock);
    });
}

fn clock_message(clock: &Clock, now_ms: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in clock.entries() {
        // Negative numbers are as wide as 64 bits.
        let (node, writes) = (i64::from(entry.node) as u64, entry.writes as u64);
        bytes_head(&mut out, 1, 2 + varint_len(node) + varint_len(writes));
        number_field(&mut out, 1, node);
        number_field(&mut out, 2, writes);
    }
    number_field(&mut out, 2, now_ms);
    out
}

/// The part of a reply that a connection has received.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// The whole reply.
    Whole,
    /// A part of the reply: at least this number of bytes is missing.
    Part(usize),
    /// A reply that announces this many bytes, which is more than is believed.
    TooLarge(u32),
    /// The reply, and more bytes behind it.
    More,
}

/// Returns how much of a reply is there.
pub(super) fn received(input: &[u8], most_bytes: usize) -> Received {
    let Some(head) = input.first_chunk::<LENGTH_BYTES>() else { return Received::Part(LENGTH_BYTES - input.len()) };
    let len = u32::from_be_bytes(*head);
    if len as usize > most_bytes {
        return Received::TooLarge(len);
    }
    let whole = LENGTH_BYTES + len as usize;
    match whole.checked_sub(input.len()) {
        Some(0) => Received::Whole,
        Some(missing) => Received::Part(missing),
        None => Received::More,
    }
}

/// A field of a message.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// A field of a type that no message here has.
    Other,
}

/// The fields of a message, one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Result<u64, Fault> {
        let mut number = 0u64;
        for (place, byte) in self.0.iter().enumerate().take(10) {
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                self.0 = &self.0[place + 1..];
                return Ok(number);
            }
        }
        Err(Fault::Broken("a number"))
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8], Fault> {
        let taken = usize::try_from(len).ok().and_then(|len| self.0.split_at_checked(len));
        let (taken, rest) = taken.ok_or(Fault::Broken("a field within its message"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn next(&mut self) -> Result<Option<(u64, Field<'a>)>, Fault> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let head = self.varint()?;
        let field = match head & 7 {
            VARINT => Field::Number(self.varint()?),
            BYTES => {
                let len = self.varint()?;
                Field::Bytes(self.take(len)?)
            }
            EIGHT => self.take(8).map(|_| Field::Other)?,
            FOUR => self.take(4).map(|_| Field::Other)?,
            _ => return Err(Fault::Broken("a field of a known type")),
        };
        Ok(Some((head >> 3, field)))
    }
}

fn entry(message: &[u8]) -> Result<Entry, Fault> {
    let (mut fields, mut entry) = (Fields(message), Entry { node: 0, writes: 0 });
    while let Some(field) = fields.next()? {
        match field {
            (1, Field::Number(node)) => entry.node = node as i32,
            (2, Field::Number(writes)) => entry.writes = writes as i64,
            _ => {}
        }
    }
    Ok(entry)
}

fn clock(message: &[u8]) -> Result<Clock, Fault> {
    let (mut fields, mut clock) = (Fields(message), Clock::default());
    while let Some(field) = fields.next()? {
        if let (1, Field::Bytes(message)) = field {
            let entry = entry(message)?;
            if clock.entries().last().is_some_and(|last| last.node >= entry.node) {
                return Err(Fault::Broken("a clock in the order of its nodes"));
            }
            clock.push(entry);
        }
    }
    Ok(clock)
}

fn versioned(message: &[u8]) -> Result<Versioned<'_>, Fault> {
    let (mut fields, mut value, mut version) = (Fields(message), None, None);
    while let Some(field) = fields.next()? {
        match field {
            (1, Field::Bytes(bytes)) => value = Some(bytes),
            (2, Field::Bytes(message)) => version = Some(clock(message)?),
            _ => {}
        }
    }
    let found = value.zip(version).ok_or(Fault::Broken("a value and its version"))?;
    Ok(Versioned { value: found.0, clock: found.1 })
}

fn error(message: &[u8]) -> Result<Fault, Fault> {
    let (mut fields, mut code, mut words) = (Fields(message), 0, String::new());
    while let Some(field) = fields.next()? {
        match field {
            (1, Field::Number(number)) => code = number,
            (2, Field::Bytes(bytes)) => words = String::from_utf8_lossy(bytes).into_owned(),
            _ => {}
        }
    }
    Ok(Fault::Said { code, words })
}

/// Hands on each message in field 1; field `error_field` says that the request failed.
fn each<'a>(
    body: &'a [u8],
    error_field: u64,
    mut found: impl FnMut(Field<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut fields = Fields(body);
    while let Some((number, field)) = fields.next()? {
        match field {
            Field::Bytes(message) if number == error_field => return Err(error(message)?),
            field if number == 1 => found(field)?,
            _ => {}
        }
    }
    Ok(())
}

/// Checks whether a read was refused.
pub(super) fn read_refused(body: &[u8]) -> Result<(), Fault> {
    each(body, 2, |_| Ok(()))
}

/// Returns the values of a key.
pub(super) fn values(body: &[u8]) -> Result<Vec<Versioned<'_>>, Fault> {
    let mut values = Vec::new();
    each(body, 2, |field| {
        if let Field::Bytes(message) = field {
            values.push(versioned(message)?);
        }
        Ok(())
    })?;
    Ok(values)
}

/// Returns the versions of a key.
pub(super) fn clocks(body: &[u8]) -> Result<Vec<Clock>, Fault> {
    let mut clocks = Vec::new();
    each(body, 2, |field| {
        if let Field::Bytes(message) = field {
            clocks.push(clock(message)?);
        }
        Ok(())
    })?;
    Ok(clocks)
}

/// Returns the values of several keys: each with its key, in any order.
pub(super) fn values_of_all(body: &[u8]) -> Result<Vec<(&[u8], Versioned<'_>)>, Fault> {
    let mut values = Vec::new();
    each(body, 2, |field| {
        let Field::Bytes(message) = field else { return Ok(()) };
        let (mut fields, mut key, from) = (Fields(message), &[][..], values.len());
        while let Some(field) = fields.next()? {
            match field {
                (1, Field::Bytes(bytes)) => key = bytes,
                (2, Field::Bytes(message)) => values.push((&[][..], versioned(message)?)),
                _ => {}
            }
        }
        values[from..].iter_mut().for_each(|(of, _)| *of = key);
        Ok(())
    })?;
    Ok(values)
}

/// Checks that a value was stored.
pub(super) fn stored(body: &[u8]) -> Result<(), Fault> {
    // Its error is its only field.
    each(body, 1, |_| Ok(()))
}

/// Returns whether there was something to delete.
pub(super) fn deleted(body: &[u8]) -> Result<bool, Fault> {
    let mut deleted = None;
    each(body, 2, |field| {
        if let Field::Number(number) = field {
            deleted = Some(number != 0);
        }
        Ok(())
    })?;
    deleted.ok_or(Fault::Broken("whether something was deleted"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod node;
#[cfg(test)]
mod tests;
