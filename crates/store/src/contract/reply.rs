//! The answer of a store.

use crate::AnswerTree;

/// An answer of a store. It borrows from the session's buffers and is gone after the call that hands it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The value of a get.
    Value(&'a [u8]),
    /// The value of a versioned get, and its version (0 where the store compares values).
    Versioned {
        /// The value.
        value: &'a [u8],
        /// The version, or 0.
        version: u64,
    },
    /// There is no such key.
    Missing,
    /// Stored, deleted, appended.
    Done,
    /// A counter's value, or a value's length, after the operation.
    Number(i64),
    /// Compare-and-set: the key was no longer as expected; nothing was stored.
    Conflict,
    /// The pairs of a scan, a get-many or a record of counters.
    Rows(Rows<'a>),
    /// The answer to a command.
    Tree(AnswerTree<'a>),
    /// The operation failed.
    Failed(Failure<'a>),
}

/// The way in which an operation failed. Its [`Fate`] says what is known of the operation then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure<'a> {
    /// The store understood and said no, and nothing happened: its own words.
    Refused(&'a str),
    /// The operation was never sent, for lack of a connection: the operating system's words.
    NotConnected(&'a str),
    /// The store says itself that the operation may have happened (time ran out among its nodes, an error within): its own words.
    Unknown(&'a str),
    /// The connection broke between request and reply: the operating system's words.
    ConnectionLost(&'a str),
    /// The bytes of the reply are not the protocol.
    Protocol(&'a str),
    /// There was no reply within the deadline.
    Deadline,
}

/// The fate of an operation that failed, as far as it is known. Anything in doubt is unknown: then no store is blamed, and nothing certain
/// is forgiven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The operation did not happen: the store said no.
    Refused,
    /// The operation did not happen: it was never sent.
    NotConnected,
    /// The operation may have happened, wholly or in part, or may happen still.
    Unknown,
}

impl Fate {
    /// Returns whether the operation's effect may be found in the store.
    pub fn may_have_happened(self) -> bool {
        self == Fate::Unknown
    }
}

impl<'a> Failure<'a> {
    /// Returns the fate of the operation.
    #[inline]
    pub fn fate(self) -> Fate {
        match self {
            Failure::Refused(_) => Fate::Refused,
            Failure::NotConnected(_) => Fate::NotConnected,
            Failure::Unknown(_) | Failure::ConnectionLost(_) | Failure::Protocol(_) | Failure::Deadline => {
                Fate::Unknown
            }
        }
    }

    /// Returns a server's refusal in its own words; unknown if the words report a timeout, as the words of servers between client and store do.
    #[cold]
    pub fn said(words: &'a str) -> Failure<'a> {
        let waited =
            ["timed out", "Timed out", "timeout", "Timeout", "TIMEOUT"].iter().any(|word| words.contains(word));
        if waited { Failure::Unknown(words) } else { Failure::Refused(words) }
    }

    /// Returns why the operation failed.
    pub fn words(self) -> &'a str {
        match self {
            Failure::Refused(words)
            | Failure::NotConnected(words)
            | Failure::Unknown(words)
            | Failure::ConnectionLost(words)
            | Failure::Protocol(words) => words,
            Failure::Deadline => "no reply within the deadline",
        }
    }
}

impl Reply<'_> {
    /// Returns the fate of the operation, if this reply says that it failed.
    #[inline]
    pub fn fate(&self) -> Option<Fate> {
        match self {
            Reply::Failed(failure) => Some(failure.fate()),
            _ => None,
        }
    }

    /// Returns the number of value bytes that this reply has read.
    #[inline]
    pub fn bytes_read(&self) -> u64 {
        match self {
            Reply::Value(value) | Reply::Versioned { value, .. } => value.len() as u64,
            Reply::Rows(rows) => rows.bytes_len() as u64,
            Reply::Tree(tree) => tree.bytes_len() as u64,
            _ => 0,
        }
    }
}

/// Pairs of keys and values in one flat buffer; reused, so a scan allocates nothing once warm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowBuffer {
    bytes: Vec<u8>,
    ends: Vec<(u32, u32)>,
}

impl RowBuffer {
    /// Forgets all rows, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds a row.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len() as u32));
    }

    /// Returns a view of all rows.
    pub fn rows(&self) -> Rows<'_> {
        Rows { buffer: self }
    }
}

/// A borrowed view of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows<'a> {
    buffer: &'a RowBuffer,
}

impl<'a> Rows<'a> {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.buffer.ends.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of bytes of all keys and values.
    pub fn bytes_len(&self) -> usize {
        self.buffer.bytes.len()
    }

    /// Returns the key and value of a row, by its place.
    pub fn get(&self, index: usize) -> Option<(&'a [u8], &'a [u8])> {
        let (key_end, value_end) = *self.buffer.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.buffer.ends[before].1);
        let bytes = |from: u32, to: u32| &self.buffer.bytes[from as usize..to as usize];
        Some((bytes(start, key_end), bytes(key_end, value_end)))
    }

    /// Returns keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let buffer = self.buffer;
        let mut start = 0;
        buffer.ends.iter().map(move |&(key_end, value_end)| {
            let key = &buffer.bytes[start..key_end as usize];
            start = value_end as usize;
            (key, &buffer.bytes[key_end as usize..start])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, Fate, RowBuffer};

    #[test]
    fn what_was_refused_or_never_sent_did_not_happen_and_all_else_may_have() {
        let fates = [
            (Failure::Refused("no"), Fate::Refused),
            (Failure::NotConnected("refused"), Fate::NotConnected),
            (Failure::Unknown("timeout"), Fate::Unknown),
            (Failure::ConnectionLost("reset"), Fate::Unknown),
            (Failure::Protocol("what?"), Fate::Unknown),
            (Failure::Deadline, Fate::Unknown),
            (Failure::said("OOM command not allowed"), Fate::Refused),
            (Failure::said("SERVER_ERROR Connection timed out"), Fate::Unknown),
        ];
        for (failure, fate) in fates {
            assert_eq!(failure.fate(), fate, "{failure:?}");
            assert_eq!(fate.may_have_happened(), fate == Fate::Unknown);
        }
    }

    #[test]
    fn rows_come_back_as_they_were_pushed_also_empty_ones() {
        let mut buffer = RowBuffer::default();
        buffer.push(b"old", b"row");
        buffer.clear();
        buffer.push(b"a", b"1");
        buffer.push(b"", b"");
        buffer.push(b"b", b"22");
        let rows: Vec<_> = buffer.rows().iter().collect();
        assert_eq!(rows, [(&b"a"[..], &b"1"[..]), (b"", b""), (b"b", b"22")]);
        let one_by_one: Vec<_> = (0..4).map_while(|index| buffer.rows().get(index)).collect();
        assert_eq!(one_by_one, rows);
    }
}
