//! `kvtrial`: runs real jobs on real key/value stores, checks every answer, and gives a verdict that can be believed.
//!
//! The command line: parse, call, exit. This is the only place that exits.
//!
//! What never lives here: a store, a job, a measurement, a table.

#![warn(clippy::print_stdout, clippy::print_stderr)] // they panic when nobody reads; `terminal` does not

mod args;
mod commands;
mod failure;
mod output;
mod password;
mod shell_words;

use std::process::ExitCode;

fn main() -> ExitCode {
    password::take_from_environment();
    let arguments = args::read(); // prints help and usage errors itself and exits with 0 or 2
    commands::carry_out(arguments, |status| std::process::exit(status.into()))
}
