//! One module a command.

pub mod check;
pub mod compare;
pub mod completions;
pub mod echo;
pub mod jobs;
pub mod man;
mod preset;
pub mod query;
pub mod report;
pub mod run;
pub mod selftest;
pub mod stores;
mod target;
