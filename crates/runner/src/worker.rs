//! The side of a worker: it opens the store where it is, runs the phases, and reports the result.
//!
//! What never lives here: starting servers, judging, and whatever kvtrial does while a worker works.

pub(crate) mod ask;
pub(crate) mod bench;
pub(crate) mod clean;
mod crash;
pub(crate) mod fork_server;
pub(crate) mod growth;
mod history;
pub(crate) mod holding;
pub(crate) mod phases;
pub(crate) mod work;
