//! Servers for tests: one that lies in every way a server can, and one that speaks the Tyrant protocol. Never shipped to users.

pub mod lying;
pub mod tyrant_server;
