//! One module a command.

pub mod check;
pub mod compare;
pub mod jobs;
mod preset;
pub mod query;
pub mod report;
pub mod run;
pub mod stores;
mod target;
