//! Jobs that users write. One program, so that there is one to build.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../jobs/tests/harness/mod.rs"]
mod harness;

mod arguments;
mod bad_input;
mod commands;
mod counters;
mod documentation;
mod ended;
mod expiry;
mod failed;
mod json;
mod keybench;
mod liars;
mod numbers;
mod scripts;
mod shares;
mod sharing;
mod sql;
