//! One module per command, and which of them is carried out.

mod check;
mod choose;
mod clear;
mod compare;
mod completions;
mod crash;
mod echo;
mod ending;
mod fetch_store;
mod find_rate;
mod fit;
mod fork_server;
mod jobs;
mod leftovers;
mod man;
mod needs;
mod new;
mod notebook;
mod offer;
mod plan;
mod preset;
mod publish;
mod query;
mod record;
mod report;
mod report_files;
mod run;
pub mod selftest;
mod shown;
mod site;
mod stores;
mod tables;
mod target;
mod tune;
mod worker;
mod workers;

use crate::args::{Arguments, Command};
use crate::failure::{self, CommandFailure};
use crate::output::{self, note};
use std::process::ExitCode;

/// A function that ends the process at once, with this exit status: when the user interrupts a second time, or nothing can be stopped in
/// order.
pub type Leave = fn(u8) -> !;

/// Carries out a command; its exit status.
pub fn carry_out(arguments: Arguments, leave: Leave) -> ExitCode {
    match arguments.command {
        // What is left to other processes of kvtrial begins without threads and handlers of signals.
        Command::EchoServer(arguments) => echo::serve(&arguments), // ends by a signal, like any server
        Command::ForkServer => {
            runner::serve_fork_server(); // ends with kvtrial
            ExitCode::SUCCESS
        }
        Command::DiskServer => {
            runner::serve_disk(); // ends with kvtrial
            ExitCode::SUCCESS
        }
        command => {
            output::choose(arguments.color);
            said(enter_network(&command).and_then(|()| prepare(leave)).and_then(|()| user_command(command)))
        }
    }
}

/// Leaves the machine's network where a node is going to be cut off from others, which a process can do while it has one thread.
fn enter_network(command: &Command) -> Result<(), CommandFailure> {
    let faults = match command {
        Command::Run(arguments) => &arguments.faults,
        Command::Choose(arguments) => &arguments.faults,
        _ => return Ok(()),
    };
    let Some(fault) = faults.iter().find(|fault| fault.cuts()) else { return Ok(()) };
    host::network::enter().map_err(|problem| CommandFailure::usage(format!("--fault '{fault}': {problem}")))
}

/// Prepares what every command of a user needs first.
fn prepare(leave: Leave) -> Result<(), CommandFailure> {
    ::catalog::echo_served_by(echo::command_line());
    ::terminal::fit_terminal();
    host::interrupt::install(move || leave(failure::INTERRUPTED))
        .map_err(|error| CommandFailure::usage(format!("signals cannot be handled: {error}")))?;
    host::raise_open_files();
    Ok(())
}

fn user_command(command: Command) -> Result<u8, CommandFailure> {
    let result = match command {
        Command::Run(arguments) => run::run(*arguments),
        Command::Choose(arguments) => choose::choose(&arguments),
        Command::Worker(arguments) => worker::worker(&arguments),
        Command::Tune(arguments) => tune::tune_command(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Site(arguments) => site::site(&arguments),
        Command::Publish(arguments) => publish::publish(&arguments),
        Command::Record(arguments) => record::record(&arguments),
        Command::Fit(arguments) => fit::fit(&arguments),
        Command::Query(arguments) => query::query(&arguments),
        Command::Clear(arguments) => clear::clear(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Crash(arguments) => crash::crash(&arguments),
        Command::Selftest(arguments) => selftest::selftest(&arguments),
        Command::Stores(arguments) => stores::stores(&arguments),
        Command::FetchStore(arguments) => fetch_store::fetch_store(&arguments),
        Command::Jobs(arguments) => jobs::jobs(&arguments),
        Command::New(arguments) => new::new(&arguments),
        Command::Completions(arguments) => completions::completions(&arguments),
        Command::Man(arguments) => man::man(&arguments),
        Command::EchoServer(_) | Command::ForkServer | Command::DiskServer => Ok(failure::GOOD), // no user's
    };
    // Private servers and directories are gone with their owners by now; what a forgotten one would leave is removed here.
    host::end_all();
    result
}

/// Says why a command failed; the exit status.
fn said(result: Result<u8, CommandFailure>) -> ExitCode {
    ExitCode::from(result.unwrap_or_else(|CommandFailure { message, status }| {
        note(&format!("kvtrial: {message}"));
        status
    }))
}
