//! `kvtrial man`: manual pages, from the definitions the command line is read with.

use crate::args::{Arguments, ManArguments};
use crate::failure::{self, CommandFailure};
use crate::output::print;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::io::Write;
use std::path::Path;

/// Prints a page, or writes all of them to a directory.
pub fn man(arguments: &ManArguments) -> Result<u8, CommandFailure> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    match (&arguments.out, &arguments.command) {
        (Some(directory), _) => write_all(&command, directory)?,
        (None, None) => print(&String::from_utf8_lossy(&page(&command)?))?,
        (None, Some(name)) => {
            let Some(found) = command.get_subcommands().find(|known| known.get_name() == name) else {
                let known: Vec<&str> = shown(&command).map(Command::get_name).collect();
                return Err(CommandFailure::usage(format!(
                    "there is no command '{name}'; there are: {}",
                    known.join(", ")
                )));
            };
            print(&String::from_utf8_lossy(&page(found)?))?;
        }
    }
    Ok(failure::GOOD)
}

/// The commands people use.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

/// `kvtrial.1`, `kvtrial-run.1`, ...
fn write_all(command: &Command, directory: &Path) -> Result<(), CommandFailure> {
    let unusable = |path: &Path, error| CommandFailure::usage(format!("--out {}: {error}", path.display()));
    std::fs::create_dir_all(directory).map_err(|error| unusable(directory, error))?;
    for command in shown(command).chain([command]) {
        let path = directory.join(Man::new(command.clone()).get_filename());
        let page = page(command)?;
        archive::write_file(&path, |file| file.write_all(&page)).map_err(|error| unusable(&path, error))?;
    }
    Ok(())
}

fn page(command: &Command) -> Result<Vec<u8>, CommandFailure> {
    let mut text = Vec::new();
    let whole = command.has_subcommands();
    let man = Man::new(command.clone()).source(concat!("kvtrial ", env!("CARGO_PKG_VERSION"))).manual("kvtrial manual");
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    let mut more = Roff::new();
    if whole {
        man.render_subcommands_section(&mut text)?;
        examples(&mut more);
        environment(&mut more);
    }
    exit_status(&mut more);
    more.to_writer(&mut text)?;
    Ok(text)
}

fn examples(page: &mut Roff) {
    page.control("SH", ["EXAMPLES"]);
    for (line, meaning) in [
        ("kvtrial run fans", "Run the job fans on every embedded store."),
        ("kvtrial run fans -s redis-unix -s memcached-unix --pipeline 16", "The same on two servers kvtrial starts."),
        ("kvtrial run ycsb -s redis://10.0.0.5:6379 --rate 1000", "A steady 1,000 operations per second on your own."),
        ("kvtrial check redis", "Is this store, with this client, correct?"),
    ] {
        page.control("TP", []);
        page.text([bold(line)]);
        page.text([roman(meaning)]);
    }
}

fn environment(page: &mut Roff) {
    page.control("SH", ["ENVIRONMENT"]);
    for (name, meaning) in [
        ("NO_COLOR", "When set and not empty, nothing is coloured; --color overrides it."),
        ("TERM", "When it is dumb or not set, nothing is coloured and there is no live view."),
        ("TMPDIR", "Where private stores keep their data, unless --base says it."),
        ("PATH", "Where the programs of private servers are looked for."),
    ] {
        page.control("TP", []);
        page.text([bold(name)]);
        page.text([roman(meaning)]);
    }
}

fn exit_status(page: &mut Roff) {
    page.control("SH", ["EXIT STATUS"]);
    for (status, meaning) in failure::MEANINGS {
        page.control("TP", []);
        page.text([bold(status.to_string())]);
        page.text([roman(meaning)]);
    }
}
