//! The reply of an async client: its kind, and its bytes in a buffer that is reused.

use crate::{Failure, Reply, RowBuffer, SqlResult};
use std::fmt::{Display, Write};

/// A reply without its bytes, which are in the [`ReplyBuffer`] that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferedReply {
    /// The value written with [`ReplyBuffer::value`].
    Value,
    /// The value written with [`ReplyBuffer::versioned`], and its version.
    Versioned(u64),
    /// There is no such key.
    Missing,
    /// Stored, deleted, appended.
    Done,
    /// A counter's value after the operation.
    Number(i64),
    /// Compare-and-set: the key was no longer as expected.
    Conflict,
    /// The rows pushed to [`ReplyBuffer::rows`].
    Rows,
    /// The result written to [`ReplyBuffer::sql`].
    Sql,
    /// The store said no: the words given to [`ReplyBuffer::refused`].
    Refused,
    /// The operation was never sent: the words given to [`ReplyBuffer::not_connected`].
    NotConnected,
    /// The operation may have happened: the words given to [`ReplyBuffer::unknown`].
    Unknown,
    /// The connection broke: the words given to [`ReplyBuffer::connection_lost`].
    ConnectionLost,
    /// Not what the store may say: the words given to [`ReplyBuffer::protocol`].
    Protocol,
}

/// A slot's buffer for the bytes it has read; keeps its memory from operation to operation.
#[derive(Debug, Default)]
pub struct ReplyBuffer {
    /// The rows of a scan, a get-many or a record of counters.
    pub rows: RowBuffer,
    /// The result of a statement of SQL.
    pub sql: SqlResult,
    value: Vec<u8>,
    words: String,
}

impl ReplyBuffer {
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.value.clear();
        self.words.clear();
    }

    /// Answers with a copy of this value.
    pub fn value(&mut self, value: &[u8]) -> BufferedReply {
        self.value.extend_from_slice(value);
        BufferedReply::Value
    }

    /// Answers with a copy of this value and its version (0 where the store compares values).
    pub fn versioned(&mut self, value: &[u8], version: u64) -> BufferedReply {
        self.value.extend_from_slice(value);
        BufferedReply::Versioned(version)
    }

    /// Answers that the store refused, in its own words, and that nothing happened.
    #[cold]
    pub fn refused(&mut self, words: impl Display) -> BufferedReply {
        self.say(words);
        BufferedReply::Refused
    }

    /// Refuses an operation that the store does not have itself.
    #[cold]
    pub fn not_native(&mut self) -> BufferedReply {
        self.refused("not native to this store")
    }

    /// Answers that no connection could be had and nothing was sent, in the driver's words.
    #[cold]
    pub fn not_connected(&mut self, words: impl Display) -> BufferedReply {
        self.say(words);
        BufferedReply::NotConnected
    }

    /// Answers that the operation may have happened, in the words of the store, which does not know either.
    #[cold]
    pub fn unknown(&mut self, words: impl Display) -> BufferedReply {
        self.say(words);
        BufferedReply::Unknown
    }

    /// Answers that the connection broke between request and reply, in the driver's words.
    #[cold]
    pub fn connection_lost(&mut self, words: impl Display) -> BufferedReply {
        self.say(words);
        BufferedReply::ConnectionLost
    }

    /// Answers that the reply makes no sense.
    #[cold]
    pub fn protocol(&mut self, words: impl Display) -> BufferedReply {
        self.say(words);
        BufferedReply::Protocol
    }

    fn say(&mut self, words: impl Display) {
        self.words.clear();
        // Writing to a string cannot fail.
        let _ = write!(self.words, "{words}");
    }

    pub(super) fn reply(&self, reply: BufferedReply) -> Reply<'_> {
        match reply {
            BufferedReply::Value => Reply::Value(&self.value),
            BufferedReply::Versioned(version) => Reply::Versioned { value: &self.value, version },
            BufferedReply::Missing => Reply::Missing,
            BufferedReply::Done => Reply::Done,
            BufferedReply::Number(number) => Reply::Number(number),
            BufferedReply::Conflict => Reply::Conflict,
            BufferedReply::Rows => Reply::Rows(self.rows.rows()),
            BufferedReply::Sql => Reply::Tree(self.sql.answer()),
            BufferedReply::Refused => Reply::Failed(Failure::Refused(&self.words)),
            BufferedReply::NotConnected => Reply::Failed(Failure::NotConnected(&self.words)),
            BufferedReply::Unknown => Reply::Failed(Failure::Unknown(&self.words)),
            BufferedReply::ConnectionLost => Reply::Failed(Failure::ConnectionLost(&self.words)),
            BufferedReply::Protocol => Reply::Failed(Failure::Protocol(&self.words)),
        }
    }
}
