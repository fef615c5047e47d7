//! Servers of drivers whose answers do not end, or are larger than what can come.

pub mod mongodb;
pub mod mysql;
