//! Where kvtrial prints: colour or not, and readers that went away.

use crate::failure::Failure;
use clap::ColorChoice;
use report::Colour;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

/// `--color`; said once, before anything is printed.
static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Takes note of `--color`.
pub fn choose(choice: ColorChoice) {
    CHOICE.get_or_init(|| choice);
}

/// Whether standard output has colours.
pub fn colour() -> Colour {
    on(&io::stdout())
}

/// Whether standard error has colours: the live view is there.
pub fn error_colour() -> Colour {
    on(&io::stderr())
}

/// As `--color` says; by itself, colour on a terminal that has some, unless `NO_COLOR` is set (no-color.org).
fn on(stream: &impl IsTerminal) -> Colour {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let can = || set("NO_COLOR").is_none() && set("TERM").is_some_and(|term| term != "dumb") && stream.is_terminal();
    match CHOICE.get().unwrap_or(&ColorChoice::Auto) {
        ColorChoice::Always => Colour::Always,
        ColorChoice::Never => Colour::Never,
        ColorChoice::Auto => {
            if can() {
                Colour::Always
            } else {
                Colour::Never
            }
        }
    }
}

/// Prints; a reader that went away (`| head`) is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::usage(error)),
        _ => Ok(()),
    }
}
