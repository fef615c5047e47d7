//! Traces: what an application asked of its store, read from the formats there are; and exact caches to hold a store's hits against.
//!
//! * [`Trace`]: the requests, a column per field, in the order of the file. [`Trace::read`] reads one; a format is a reader in a file of its own.
//! * [`TraceFormat`]: the formats, and how a file shows which it is in.
//! * [`kvtrace`]: kvtrial's own recordings, written and read; [`CommandWords`]: which words of commands are keys and values.
//! * [`fit`]: what a trace is like.
//! * [`hits`]: the hits of an exact LRU or FIFO of any size.
//!
//! What never lives here: a store, an operation, a clock of its own, what a store answered in a trial.

mod builder;
mod cache2k;
mod canonical;
mod commands;
pub mod fit;
mod format;
mod input;
mod keys;
pub mod kvtrace;
mod lcs;
mod lives;
mod meta;
mod monitor;
mod monitor_trace;
mod oracle;
mod simulate;
mod spread;
mod trace;
mod twitter;

pub use canonical::ReplyDigest;
pub use commands::{CommandWords, ReplyRule, WordPart, asks, reply_rule};
pub use format::TraceFormat;
pub use keys::TraceKeys;
pub use simulate::{CacheSize, Eviction, Filling, hits};
pub use trace::{RequestKind, SHIPPED, Trace, TraceOptions};
