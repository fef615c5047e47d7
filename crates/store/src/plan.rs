//! How a private store comes to be: programs, what can be fetched, nodes and how they are formed into one. Plain data; nothing is started.

pub(crate) mod bundle;
pub(crate) mod deployment;
pub(crate) mod place;
pub mod programs;
pub(crate) mod server;
pub(crate) mod versions;
