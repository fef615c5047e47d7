//! What is taken from the copies of the bytes: commands and replies, whatever the protocol.

use crate::{memcached, resp};
use std::ops::Range;
use trace::WordPart;
use trace::kvtrace::ReplyShape;
use xxhash_rust::xxh3::xxh3_64;

/// A protocol whose commands are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedProtocol {
    /// That of Redis and Valkey, of version 2 or 3.
    Resp,
    /// That of memcached: text, with its meta commands.
    Memcached,
}

/// A word of a command: where it is, and its part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TakenWord {
    pub(crate) at: Range<usize>,
    pub(crate) part: WordPart,
}

/// How the replies to a command come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepliesDue {
    /// One.
    One,
    /// None: the client asked for that.
    None,
    /// As many acknowledgements, each a list of its own, among messages that come unasked.
    Acknowledgements(u32),
    /// None, or one where something is not as expected; a reply to a later command says that none came.
    Quiet,
    /// Nobody knows from then on which reply belongs to which command: others come unasked, or are left out.
    Unmatched,
}

/// What a reply to a connection with subscriptions may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// The reply to a command.
    Nothing,
    /// A message, which comes unasked.
    Message,
    /// The acknowledgement of a subscription, or of its end.
    Acknowledgement,
}

/// What the first bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken<T> {
    /// Whole: the number of its bytes, and what they are.
    Whole(usize, T),
    /// The beginning of something: more must come.
    Begun,
    /// Nothing that is understood.
    NotUnderstood,
}

impl RecordedProtocol {
    /// Takes the next command; its words come in `words`.
    pub(crate) fn command(self, bytes: &[u8], words: &mut Vec<TakenWord>) -> Taken<RepliesDue> {
        words.clear();
        match self {
            RecordedProtocol::Resp => resp::command(bytes, words),
            RecordedProtocol::Memcached => memcached::command(bytes, words),
        }
    }

    /// Returns what a whole reply to a connection with subscriptions is.
    pub(crate) fn pushed(self, reply: &[u8]) -> Pushed {
        match self {
            RecordedProtocol::Resp => resp::pushed(reply),
            RecordedProtocol::Memcached => Pushed::Nothing,
        }
    }

    /// Returns the digest of a whole reply.
    pub(crate) fn digest(self, reply: &[u8]) -> u64 {
        match self {
            RecordedProtocol::Resp => resp::digest(reply),
            RecordedProtocol::Memcached => xxh3_64(reply),
        }
    }

    /// Takes the next reply, `to` being the name of the command that it answers. `None`: it came unasked.
    pub(crate) fn reply(self, bytes: &[u8], to: &[u8]) -> Taken<Option<ReplyShape>> {
        match self {
            RecordedProtocol::Resp => resp::reply(bytes),
            RecordedProtocol::Memcached => memcached::reply(bytes, to),
        }
    }
}

/// The line that the bytes begin with, without its end, and how many bytes it has with it.
pub(crate) fn line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    Some((bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]), end + 1))
}

/// A number in decimal.
pub(crate) fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
