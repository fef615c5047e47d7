//! The echo server: the least a key/value store behind a socket can be. What it costs beyond a map in the client's own process is
//! the wire; what a real store costs beyond it is the store's.
//!
//! One thread; one epoll instance; per batch of requests one wait, one read and one write; RESP2 with the commands kvtrial
//! sends; a hash map; nothing on disk, no limits, no replication, no statistics.
//!
//! What never lives here: a client, a job, a clock.

mod command;
mod map;
mod server;

pub use command::{Parsed, RequestWords};
pub use map::Map;
pub use server::{Listen, serve};
