//! One module a command.

pub mod check;
pub mod jobs;
mod preset;
pub mod query;
pub mod run;
pub mod stores;
mod target;
