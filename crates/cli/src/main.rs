//! `kvtrial`: runs real jobs on real key/value stores, checks every answer, and gives a verdict that can be believed.
//!
//! The command line: parse, call, exit. This is the only place that exits.
//!
//! What never lives here: a store, a job, a measurement, a table.

#![warn(clippy::print_stdout, clippy::print_stderr)] // they panic when nobody reads; `terminal` does not

mod args;
mod commands;
mod failure;
mod terminal;
mod words;

use args::{Arguments, Command};
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;
use terminal::note;

fn main() -> ExitCode {
    let arguments = Arguments::parse(); // prints help and usage errors itself and exits with 0 or 2
    if let Command::EchoServer(arguments) = &arguments.command {
        return commands::echo::serve(arguments); // ends by a signal, like any server
    }
    if matches!(arguments.command, Command::Nursery) {
        runner::serve_nursery(); // ends with kvtrial; has no thread but this one, and no handler of signals
        return ExitCode::SUCCESS;
    }
    stores::echo_served_by(commands::echo::command_line());
    terminal::choose(arguments.color);
    report::fit_terminal();
    if let Err(error) = host::interrupt::install(|| std::process::exit(failure::INTERRUPTED.into())) {
        note(&format!("kvtrial: signals cannot be handled: {error}"));
        return ExitCode::from(failure::USAGE);
    }
    host::raise_open_files();
    let result = match arguments.command {
        Command::Run(arguments) => commands::run::run(*arguments),
        Command::Tune(arguments) => commands::tune::tune_command(&arguments),
        Command::Compare(arguments) => commands::compare::compare(&arguments),
        Command::Report(arguments) => commands::report::report(&arguments),
        Command::Query(arguments) => commands::query::query(&arguments),
        Command::Clear(arguments) => commands::clear::clear(&arguments),
        Command::Check(arguments) => commands::check::check(&arguments),
        Command::Selftest(arguments) => commands::selftest::selftest(&arguments),
        Command::Stores(arguments) => commands::stores::stores(&arguments),
        Command::Jobs(arguments) => commands::jobs::jobs(&arguments),
        Command::EchoServer(_) | Command::Nursery => Ok(failure::GOOD),
        Command::Completions(arguments) => commands::completions::completions(&arguments),
        Command::Man(arguments) => commands::man::man(&arguments),
    };
    // Private servers and directories are gone with their owners by now; what a forgotten one would leave is removed here.
    host::end_all();
    match result {
        Ok(status) => ExitCode::from(status),
        Err(Failure { message, status }) => {
            note(&format!("kvtrial: {message}"));
            ExitCode::from(status)
        }
    }
}
