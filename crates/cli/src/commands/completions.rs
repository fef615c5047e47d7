//! `kvtrial completions`: what a shell needs to complete command lines.

use crate::args::{Arguments, CompletionsArguments};
use crate::failure::{self, CommandFailure};
use crate::output::print;
use clap::CommandFactory;

/// Prints the script for a shell.
pub fn completions(arguments: &CompletionsArguments) -> Result<u8, CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "kvtrial", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(failure::GOOD)
}
