//! One module a command.

pub mod check;
pub mod clear;
pub mod compare;
pub mod completions;
pub mod echo;
mod find_rate;
pub mod jobs;
pub mod man;
mod notebook;
mod nursery;
mod page;
mod plan;
mod preset;
pub mod query;
pub mod report;
mod room;
pub mod run;
pub mod selftest;
pub mod stores;
mod target;
pub mod tune;
