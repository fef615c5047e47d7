//! What embedded adapters share: where their files lie, and how a call's outcome becomes a reply.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use store::{Capabilities, Counter, Failure, OperationSet, Overflow, Reply, RowBuffer, StoreError};

/// The abilities of an ordered engine with transactions; adapters add their limits.
pub const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::LASTING,
    counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Refused }),
    ..Capabilities::BASIC
};

/// Returns the path of an adapter's own file or directory, `kvtrial.<what>`, in the given directory. That directory may be the user's: kvtrial
/// touches nothing else in it, and deletes nothing in it. A directory that does not exist yet is made.
pub fn place(directory: &Path, what: &str) -> Result<PathBuf, StoreError> {
    std::fs::create_dir_all(directory).map_err(|source| StoreError::Io { path: directory.to_owned(), source })?;
    Ok(directory.join(format!("kvtrial.{what}")))
}

/// The engine's refusal, in its own words.
#[derive(Debug)]
pub struct Fault(pub String);

impl<E: Display> From<E> for Fault {
    #[cold]
    fn from(error: E) -> Fault {
        Fault(error.to_string())
    }
}

impl From<Fault> for StoreError {
    #[cold]
    fn from(Fault(words): Fault) -> StoreError {
        StoreError::Session(words)
    }
}

/// A reply without its bytes, which are in the [`Buffers`].
pub enum EmbeddedReply {
    /// The value in the buffers.
    Value,
    /// The value in the buffers, in a store that compares values (version 0).
    Versioned,
    /// The rows in the buffers.
    Rows,
    /// The result of a statement, in the buffers.
    #[cfg(feature = "sqlite")]
    Sql,
    /// A reply without bytes.
    Own(Reply<'static>),
}

/// The buffers that the replies of one handle borrow from; reused, so that nothing is allocated once warm.
#[derive(Default)]
pub struct Buffers {
    /// The value read last.
    pub value: Vec<u8>,
    /// The rows read last.
    pub rows: RowBuffer,
    /// The result of the statement that ran last.
    #[cfg(feature = "sqlite")]
    pub sql: store::SqlResult,
    words: String,
}

impl Buffers {
    /// Returns the reply with its bytes. A fault is a refusal in the engine's words.
    #[inline]
    pub fn reply(&mut self, reply: Result<EmbeddedReply, Fault>) -> Reply<'_> {
        match reply {
            Ok(EmbeddedReply::Value) => Reply::Value(&self.value),
            Ok(EmbeddedReply::Versioned) => Reply::Versioned { value: &self.value, version: 0 },
            Ok(EmbeddedReply::Rows) => Reply::Rows(self.rows.rows()),
            #[cfg(feature = "sqlite")]
            Ok(EmbeddedReply::Sql) => Reply::Tree(self.sql.answer()),
            Ok(EmbeddedReply::Own(reply)) => reply,
            Err(Fault(words)) => {
                self.words = words;
                Reply::Failed(Failure::Refused(&self.words))
            }
        }
    }
}
