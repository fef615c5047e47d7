//! One module a command.

pub mod check;
pub mod echo;
pub mod jobs;
pub mod query;
pub mod run;
pub mod stores;
mod target;
