//! Reads the command line; what it refuses is answered with the form that was probably meant.

use super::Arguments;
use clap::builder::{StyledStr, Styles};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error, FromArgMatches};
use std::ffi::OsString;
use std::fmt::Write;

/// The command line of this process; help, version and refusals are printed, and end it.
pub fn read() -> Arguments {
    let texts: Vec<OsString> = std::env::args_os().collect();
    let read = command().try_get_matches_from(&texts).and_then(|matches| Arguments::from_arg_matches(&matches));
    read.unwrap_or_else(|refused| hinted(refused, &texts).exit())
}

/// The commands and options: a number below 0 is a value, and its option says what is possible.
fn command() -> Command {
    Arguments::command().mut_subcommands(|command| {
        command.mut_args(|arg| {
            let takes = arg.get_action().takes_values();
            arg.allow_negative_numbers(takes)
        })
    })
}

/// The refusal with a tip where the form that was probably meant is known, and clap knows none.
fn hinted(mut refused: Error, texts: &[OsString]) -> Error {
    let text = |kind| match refused.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let tip = match refused.kind() {
        ErrorKind::UnknownArgument => {
            text(ContextKind::InvalidArg).and_then(|arg| unshared(&arg, texts).or_else(|| setting(&arg, texts)))
        }
        ErrorKind::InvalidSubcommand if refused.get(ContextKind::SuggestedSubcommand).is_none() => {
            let command = Arguments::command();
            let names = command.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name);
            text(ContextKind::InvalidSubcommand)
                .and_then(|name| study::near(&name, names).map(|near| format!("a similar subcommand exists: '{near}'")))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        let mut styled = StyledStr::new();
        let valid = Styles::styled();
        let valid = valid.get_valid();
        // Writing to a string does not fail.
        let _ = write!(styled, "{valid}{}{valid:#}", study::visible(&tip));
        // What clap takes for the nearest option is another.
        refused.remove(ContextKind::SuggestedArg);
        refused.remove(ContextKind::Usage);
        refused.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![styled]));
    }
    refused
}

/// Why a command is for one process, where it was asked to share its work among workers, and what several can do.
fn unshared(arg: &str, texts: &[OsString]) -> Option<String> {
    arg.strip_prefix("--")?.split('=').next().filter(|name| *name == "workers")?;
    let words = match texts.get(1)?.to_str()? {
        "compare" => {
            "compare reads studies that were run, also those of several workers: kvtrial run JOB --workers N --out DIR"
        }
        _ => "only a study is shared among workers: kvtrial run JOB --workers N",
    };
    Some(words.to_owned())
}

/// How to give a parameter of a job, or an option of a store, that was written as an option of the command.
fn setting(arg: &str, texts: &[OsString]) -> Option<String> {
    let name = arg.strip_prefix("--")?.split('=').next()?;
    let value = value_of(arg, texts).unwrap_or_else(|| "VALUE".into());
    let is_param = jobs::all().flat_map(|job| job.params).any(|param| param.name == name);
    match (is_param, is_of_stores(name)) {
        (true, _) => Some(format!("a parameter of a job is written '--set {name}={value}'")),
        (false, true) => Some(format!("an option of a store is written '{}'", of_a_store(name, &value))),
        (false, false) => None,
    }
}

/// How to write what was given as a parameter of a job and is none: an option of `run`, or of a store.
pub fn right_form(name: &str, value: &str) -> Option<String> {
    let command = Arguments::command();
    let is_own = |run: &Command| run.get_arguments().any(|arg| arg.get_long() == Some(name));
    match command.find_subcommand("run").is_some_and(is_own) {
        true => Some(format!("--{name} {value}")),
        false if is_of_stores(name) => Some(of_a_store(name, value)),
        false => None,
    }
}

/// The option of a store, without its value where that may be a password.
fn of_a_store(name: &str, value: &str) -> String {
    format!("-s {}", study::redact(&format!("NAME,{name}={value}")))
}

fn is_of_stores(name: &str) -> bool {
    name == "durability" || catalog::all().any(|store| store.has_option(name))
}

/// The value that was given with an option: behind its `=`, or as the next word.
fn value_of(arg: &str, texts: &[OsString]) -> Option<String> {
    let name = arg.split('=').next()?;
    let mut words = texts.iter().filter_map(|text| text.to_str());
    let given = words.find(|text| text.split('=').next() == Some(name))?;
    match given.split_once('=') {
        Some((_, value)) => Some(value.to_owned()),
        None => words.next().filter(|next| !next.starts_with('-')).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::{command, hinted};
    use std::ffi::OsString;

    fn refused(line: &str) -> String {
        let texts: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = command().try_get_matches_from(&texts).err();
        error.map_or_else(String::new, |error| hinted(error, &texts).to_string())
    }

    #[test]
    fn what_was_probably_meant_is_offered_in_its_right_form() {
        for (line, expected) in [
            ("kvtrial run ycsb --seconds 3", "'--set seconds=3'"),
            ("kvtrial run ycsb --seconds=3", "'--set seconds=3'"),
            ("kvtrial run ycsb --records --quick", "'--set records=VALUE'"),
            ("kvtrial run ycsb -s redis --durability os", "'-s NAME,durability=os'"),
            ("kvtrial run ycsb -s redis --io-threads 4", "'-s NAME,io-threads=4'"),
            ("kvtrial rnu ycsb", "'run'"),
            ("kvtrial run ycsb --rate -5", "use a number of operations per second above 0"),
            ("kvtrial run ycsb --clients -1", "use a whole number from 1 to 100000"),
            ("kvtrial run ycsb --out x --repeat 3", "--repeats"),
            ("kvtrial check redis --workers 3", "only a study is shared among workers"),
            ("kvtrial compare a b --workers=3", "compare reads studies that were run"),
        ] {
            let said = refused(line);
            assert!(said.contains(expected) && !said.contains("--seed"), "{line}: {said}");
        }
        assert!(!refused("kvtrial frobnicate").contains("tip"), "{}", refused("kvtrial frobnicate"));
    }
}
