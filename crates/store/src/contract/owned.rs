//! Operations and replies that own their bytes, and so outlive the call they came with.

mod operation;

pub use operation::OwnedOperation;
pub(crate) use operation::{KeyValue, recycled};

use crate::{Failure, OwnedTree, Reply, RowBuffer};

/// A [`Reply`] that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedReply {
    /// [`Reply::Value`]
    Value(Vec<u8>),
    /// [`Reply::Versioned`]
    Versioned {
        /// The value.
        value: Vec<u8>,
        /// The version, or 0.
        version: u64,
    },
    /// [`Reply::Missing`]
    Missing,
    /// [`Reply::Done`]
    Done,
    /// [`Reply::Number`]
    Number(i64),
    /// [`Reply::Conflict`]
    Conflict,
    /// [`Reply::Rows`]
    Rows(RowBuffer),
    /// [`Reply::Tree`]
    Tree(OwnedTree),
    /// [`Reply::Failed`]
    Failed(OwnedFailure),
}

/// A [`Failure`] that owns its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedFailure {
    /// [`Failure::Refused`]
    Refused(String),
    /// [`Failure::NotConnected`]
    NotConnected(String),
    /// [`Failure::Unknown`]
    Unknown(String),
    /// [`Failure::ConnectionLost`]
    ConnectionLost(String),
    /// [`Failure::Protocol`]
    Protocol(String),
    /// [`Failure::Deadline`]
    Deadline,
}

impl OwnedReply {
    /// Returns the same reply, borrowed.
    pub fn as_reply(&self) -> Reply<'_> {
        match self {
            OwnedReply::Value(value) => Reply::Value(value),
            OwnedReply::Versioned { value, version } => Reply::Versioned { value, version: *version },
            OwnedReply::Missing => Reply::Missing,
            OwnedReply::Done => Reply::Done,
            OwnedReply::Number(number) => Reply::Number(*number),
            OwnedReply::Conflict => Reply::Conflict,
            OwnedReply::Rows(rows) => Reply::Rows(rows.rows()),
            OwnedReply::Tree(tree) => Reply::Tree(tree.as_tree()),
            OwnedReply::Failed(failure) => Reply::Failed(failure.as_failure()),
        }
    }
}

impl OwnedFailure {
    /// Returns the same failure, borrowed.
    pub fn as_failure(&self) -> Failure<'_> {
        match self {
            OwnedFailure::Refused(words) => Failure::Refused(words),
            OwnedFailure::NotConnected(words) => Failure::NotConnected(words),
            OwnedFailure::Unknown(words) => Failure::Unknown(words),
            OwnedFailure::ConnectionLost(words) => Failure::ConnectionLost(words),
            OwnedFailure::Protocol(words) => Failure::Protocol(words),
            OwnedFailure::Deadline => Failure::Deadline,
        }
    }
}

impl From<Reply<'_>> for OwnedReply {
    fn from(reply: Reply<'_>) -> OwnedReply {
        match reply {
            Reply::Value(value) => OwnedReply::Value(value.to_vec()),
            Reply::Versioned { value, version } => OwnedReply::Versioned { value: value.to_vec(), version },
            Reply::Missing => OwnedReply::Missing,
            Reply::Done => OwnedReply::Done,
            Reply::Number(number) => OwnedReply::Number(number),
            Reply::Conflict => OwnedReply::Conflict,
            Reply::Rows(rows) => OwnedReply::Rows({
                let mut owned = RowBuffer::default();
                rows.iter().for_each(|(key, value)| owned.push(key, value));
                owned
            }),
            Reply::Tree(tree) => OwnedReply::Tree(tree.into()),
            Reply::Failed(failure) => OwnedReply::Failed(match failure {
                Failure::Refused(words) => OwnedFailure::Refused(words.into()),
                Failure::NotConnected(words) => OwnedFailure::NotConnected(words.into()),
                Failure::Unknown(words) => OwnedFailure::Unknown(words.into()),
                Failure::ConnectionLost(words) => OwnedFailure::ConnectionLost(words.into()),
                Failure::Protocol(words) => OwnedFailure::Protocol(words.into()),
                Failure::Deadline => OwnedFailure::Deadline,
            }),
        }
    }
}
