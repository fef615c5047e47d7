//! Servers for tests: one that lies in every way a server can, and one that speaks the Tyrant protocol; and sample studies.
//!
//! What never lives here: anything users get. No crate depends on this one but for its tests.

mod built;
pub mod lying;
pub mod studies;
pub mod tyrant_server;
