//! One module a command.

pub mod check;
mod find_rate;
pub mod jobs;
mod notebook;
mod plan;
mod preset;
pub mod query;
pub mod run;
pub mod stores;
mod target;
pub mod tune;
