//! `kvtrial new`: a script to begin with, or a store of one's own.

use crate::args::NewArguments;
use crate::failure::{self, CommandFailure};
use crate::output::print;
use catalog::PluginTemplate;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

/// Writes NAME.lua, or the source of a plugin; a file that is there is left alone.
pub fn new(arguments: &NewArguments) -> Result<u8, CommandFailure> {
    let language = arguments.plugin.as_deref();
    let template = catalog::PLUGIN_TEMPLATES.iter().find(|template| Some(template.language) == language);
    match template {
        Some(template) => plugin(&arguments.name, template),
        None => script(&arguments.name, &arguments.like),
    }
}

fn script(name: &str, like: &str) -> Result<u8, CommandFailure> {
    let stem = name.strip_suffix(".lua").unwrap_or(name);
    let path = format!("{stem}.lua");
    let example = script::EXAMPLES.iter().find(|example| example.name == like);
    write(&path, example.map_or("", |example| example.text))?;
    print(&format!(
        "{path} is written, like the example {like}. Run it: kvtrial run {path} -s lmdb -s redis-unix\nIts parameters: kvtrial jobs {path}\n"
    ))?;
    Ok(failure::GOOD)
}

fn plugin(name: &str, template: &PluginTemplate) -> Result<u8, CommandFailure> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ['-', '_'].contains(&letter);
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(CommandFailure::usage(format!(
            "'{name}' is not a name for a store; use letters, digits, - and _, as in mystore"
        )));
    }
    let path = format!("{name}.{}", template.ending);
    for (beside, text) in template.beside {
        // One that is there already serves several stores.
        if !std::fs::read_to_string(beside).is_ok_and(|there| there == *text) {
            write(beside, text)?;
        }
    }
    write(&path, &template.source(name))?;
    let beside: Vec<&str> = template.beside.iter().map(|(name, _)| *name).collect();
    print(&format!(
        "{path} is written, with {}: a hash map, ready to check.\nBuild: {}\nCheck: kvtrial check plugin:./{name}.so\n\
         Run:   kvtrial run ycsb -s plugin:./{name}.so -s lmdb\n",
        beside.join(" and "),
        template.build(name),
    ))?;
    Ok(failure::GOOD)
}

fn write(path: &str, text: &str) -> Result<(), CommandFailure> {
    let trouble = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => CommandFailure::usage(format!("{path} exists already; use another name")),
        _ => CommandFailure::usage(format!("{path}: {error}")),
    };
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(trouble)?;
    file.write_all(text.as_bytes()).map_err(trouble)
}
