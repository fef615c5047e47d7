//! `kvtrial new`: a script to begin with.

use crate::args::NewArguments;
use crate::failure::{self, CommandFailure};
use crate::output::print;
use std::fs::OpenOptions;
use std::io::Write;

/// Writes NAME.lua; a file that is there is left alone.
pub fn new(arguments: &NewArguments) -> Result<u8, CommandFailure> {
    let stem = arguments.name.strip_suffix(".lua").unwrap_or(&arguments.name);
    let path = format!("{stem}.lua");
    let example = script::EXAMPLES.iter().find(|example| example.name == arguments.like);
    let text = example.map_or("", |example| example.text);
    let trouble = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => CommandFailure::usage(format!("{path} exists already; use another name")),
        _ => CommandFailure::usage(format!("{path}: {error}")),
    };
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(trouble)?;
    file.write_all(text.as_bytes()).map_err(trouble)?;
    print(&format!(
        "{path} is written, like the example {}. Run it: kvtrial run {path} -s lmdb -s redis-unix\nIts parameters: kvtrial jobs {path}\n",
        arguments.like
    ))?;
    Ok(failure::GOOD)
}
