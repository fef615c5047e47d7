//! A history as JSON lines, one object per invocation and completion, as Jepsen's histories have it and Elle and its likes read it.
//!
//! Puts, gets and appends are transactions of one step (`"f":"txn"`), so that checkers of transactions read them: `["w", key, version]`, `["r", key, version]`,
//! `["append", key, element]`, `["r", key, [elements]]`. What they have no word for (delete, compare-and-set, counters) has an `f` of
//! its own, which they skip. A process has one operation open at a time: where a client has more, each further one is a process of its own, and
//! `client` says whose.

mod read;
mod write;

pub use read::{LineError, read_lines};
pub use write::write_lines;
