//! A record: what was seen on a connection at a time.

use super::varint;

/// A word of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedWord<'a> {
    /// The command itself, an option, a number.
    Plain(&'a [u8]),
    /// A key.
    Key(&'a [u8]),
    /// A value.
    Value(&'a [u8]),
    /// A value that was not kept.
    Sized {
        /// Its bytes.
        bytes: u64,
        /// The percentage of its size that it can be packed to.
        packs_to_percent: u8,
    },
}

/// The shape of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ReplyShape {
    /// A status, such as `OK` or `STORED`.
    Status = 0,
    /// An error.
    Error = 1,
    /// A number.
    Number = 2,
    /// A value.
    Value = 3,
    /// Nothing: there is no such key.
    Missing = 4,
    /// Several replies in one.
    Many = 5,
}

impl ReplyShape {
    fn of(byte: u8) -> Option<ReplyShape> {
        use ReplyShape::{Error, Many, Missing, Number, Status, Value};
        [Status, Error, Number, Value, Missing, Many].into_iter().find(|&shape| shape as u8 == byte)
    }
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedReply {
    /// Microseconds since its command was sent.
    pub took_us: u64,
    /// The shape of the reply.
    pub shape: ReplyShape,
    /// Its bytes, with all of the protocol.
    pub bytes: u64,
    /// A hash of what it says ([`ReplyDigest`](crate::ReplyDigest)); of memcached's, of its bytes.
    pub digest: u64,
}

/// What was seen on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded<'a> {
    /// A client connected.
    Opened,
    /// The connection was closed, by whichever side.
    Closed,
    /// A command. Its words may be of any number, also none that is a key.
    Command(Vec<RecordedWord<'a>>),
    /// The reply to the earliest command of this connection that has none.
    Reply(RecordedReply),
    /// Bytes of the client's that were not understood; they were passed on as all others.
    NotUnderstood(u64),
}

const OPENED: u8 = 1;
const CLOSED: u8 = 2;
const COMMAND: u8 = 3;
const REPLY: u8 = 4;
const NOT_UNDERSTOOD: u8 = 5;

const PLAIN: u64 = 0;
const KEY: u64 = 1;
const VALUE: u64 = 2;
const SIZED: u64 = 3;

impl<'a> RecordedWord<'a> {
    fn push(&self, out: &mut Vec<u8>) {
        let (bytes, kind) = match *self {
            RecordedWord::Plain(bytes) => (bytes, PLAIN),
            RecordedWord::Key(bytes) => (bytes, KEY),
            RecordedWord::Value(bytes) => (bytes, VALUE),
            RecordedWord::Sized { bytes, packs_to_percent } => {
                varint::push(bytes << 2 | SIZED, out);
                out.push(packs_to_percent);
                return;
            }
        };
        varint::push((bytes.len() as u64) << 2 | kind, out);
        out.extend_from_slice(bytes);
    }

    fn take(rest: &mut &'a [u8]) -> Option<RecordedWord<'a>> {
        let head = varint::take(rest)?;
        if head & 3 == SIZED {
            let (&packs_to_percent, after) = rest.split_first()?;
            *rest = after;
            return Some(RecordedWord::Sized { bytes: head >> 2, packs_to_percent });
        }
        let (bytes, after) = rest.split_at_checked(usize::try_from(head >> 2).ok()?)?;
        *rest = after;
        Some(match head & 3 {
            PLAIN => RecordedWord::Plain(bytes),
            KEY => RecordedWord::Key(bytes),
            _ => RecordedWord::Value(bytes),
        })
    }
}

impl<'a> Recorded<'a> {
    /// Writes a record that comes this long after the one before it.
    pub(super) fn push(&self, after_us: u64, connection: u32, out: &mut Vec<u8>) {
        out.push(match self {
            Recorded::Opened => OPENED,
            Recorded::Closed => CLOSED,
            Recorded::Command(_) => COMMAND,
            Recorded::Reply(_) => REPLY,
            Recorded::NotUnderstood(_) => NOT_UNDERSTOOD,
        });
        varint::push(after_us, out);
        varint::push(connection.into(), out);
        match self {
            Recorded::Opened | Recorded::Closed => {}
            Recorded::Command(words) => {
                varint::push(words.len() as u64, out);
                words.iter().for_each(|word| word.push(out));
            }
            Recorded::Reply(reply) => {
                varint::push(reply.took_us, out);
                out.push(reply.shape as u8);
                varint::push(reply.bytes, out);
                out.extend_from_slice(&reply.digest.to_le_bytes());
            }
            Recorded::NotUnderstood(bytes) => varint::push(*bytes, out),
        }
    }

    /// Takes the next record: how long after the one before it, on which connection, and what. `None`: that is no record.
    pub(super) fn take(rest: &mut &'a [u8]) -> Option<(u64, u32, Recorded<'a>)> {
        let (&kind, after) = rest.split_first()?;
        *rest = after;
        let after_us = varint::take(rest)?;
        let connection = u32::try_from(varint::take(rest)?).ok()?;
        let recorded = match kind {
            OPENED => Recorded::Opened,
            CLOSED => Recorded::Closed,
            COMMAND => {
                let count = varint::take(rest)?;
                // Each word has a byte at least: a count that is too large is found out before room is made for it.
                let count = usize::try_from(count).ok().filter(|&count| count <= rest.len())?;
                let words: Option<Vec<_>> = (0..count).map(|_| RecordedWord::take(rest)).collect();
                Recorded::Command(words?)
            }
            REPLY => {
                let took_us = varint::take(rest)?;
                let (&shape, after) = rest.split_first()?;
                *rest = after;
                let bytes = varint::take(rest)?;
                let (digest, after) = rest.split_first_chunk::<8>()?;
                *rest = after;
                let (shape, digest) = (ReplyShape::of(shape)?, u64::from_le_bytes(*digest));
                Recorded::Reply(RecordedReply { took_us, shape, bytes, digest })
            }
            NOT_UNDERSTOOD => Recorded::NotUnderstood(varint::take(rest)?),
            _ => return None,
        };
        Some((after_us, connection, recorded))
    }
}
