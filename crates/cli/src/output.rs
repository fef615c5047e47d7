//! Where kvtrial prints: colour or not, and readers that went away.

use crate::failure::CommandFailure;
use clap::ColorChoice;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use study::visible;
use terminal::Colour;

/// `--color`; said once, before anything is printed.
static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Takes note of `--color`.
pub fn choose(choice: ColorChoice) {
    CHOICE.get_or_init(|| choice);
}

/// Whether standard output has colours.
fn colour() -> Colour {
    on(&io::stdout())
}

/// Returns whether standard error has colours: the live view is there.
pub fn error_colour() -> Colour {
    on(&io::stderr())
}

/// Returns whether standard output is a terminal.
pub fn is_read_by_people() -> bool {
    io::stdout().is_terminal()
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

/// Says something beside the output: a line on standard error. If it is closed or full, nobody is left to warn.
pub fn note(line: &str) {
    let _ = io::stderr().lock().write_all(format!("{}\n", visible(line)).as_bytes());
}

/// Returns a word as a shell takes it: as it is where that is safe, else in quotes.
pub fn shell_word(text: &str) -> String {
    let is_safe = |letter: char| letter.is_alphanumeric() || "-_./:@,=+%".contains(letter);
    match !text.is_empty() && text.chars().all(is_safe) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Prints the text; a reader that went away (`| head`, a terminal that was closed) is no error, a full disk is one. Text from outside
/// commands no terminal.
pub fn print(text: &str) -> Result<(), CommandFailure> {
    written(&visible(text))
}

/// Prints as [`print()`] does, with kvtrial's own colours, where there are any.
pub fn print_painted(text: &dyn Fn(Colour) -> String) -> Result<(), CommandFailure> {
    written(&painted(text, colour()))
}

/// Returns a text in its colours, as [`print_painted`] has it.
pub fn shown(text: &dyn Fn(Colour) -> String) -> String {
    painted(text, colour())
}

/// A text with its colours, unless there is something in it without them that would command a terminal: then its own would not be told from
/// those.
fn painted(text: &dyn Fn(Colour) -> String, colour: Colour) -> String {
    let plain = text(Colour::Never);
    match (colour, visible(&plain)) {
        (Colour::Always, Cow::Borrowed(_)) => text(Colour::Always),
        (_, harmless) => harmless.into_owned(),
    }
}

fn written(text: &str) -> Result<(), CommandFailure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if has_a_reader(&error) => Err(CommandFailure::usage(format!("standard output: {error}"))),
        _ => Ok(()),
    }
}

/// Returns whether an error of writing is one that somebody should know of.
pub fn has_a_reader(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::BrokenPipe && error.raw_os_error() != Some(libc::EIO)
}

#[cfg(test)]
mod tests {
    use super::{painted, shell_word};
    use terminal::Colour;

    #[test]
    fn a_word_is_printed_as_a_shell_takes_it() {
        assert_eq!(shell_word("kvtrial-study-1/a"), "kvtrial-study-1/a");
        assert_eq!(shell_word("my study"), "'my study'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn a_terminal_gets_colours_of_kvtrials_own_and_no_other_command() {
        let text = |said: &'static str| {
            move |colour| match colour {
                Colour::Always => format!("\x1b[1mvoid\x1b[0m {said}"),
                Colour::Never => format!("void {said}"),
            }
        };
        assert_eq!(painted(&text("of β\n"), Colour::Always), "\x1b[1mvoid\x1b[0m of β\n");
        assert_eq!(painted(&text("of β\n"), Colour::Never), "void of β\n");
        for colour in [Colour::Always, Colour::Never] {
            assert_eq!(painted(&text("\x1b[32mvalid\x1b[0m"), colour), "void \\u001b[32mvalid\\u001b[0m");
            assert_eq!(painted(&text("\x1b]0;title\x07\u{202e}"), colour), "void \\u001b]0;title\\u0007\\u202e");
        }
    }
}
