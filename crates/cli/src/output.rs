//! Where kvtrial prints: colour or not, and readers that went away.

use crate::failure::CommandFailure;
use clap::ColorChoice;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use terminal::Colour;

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

/// Says something beside the output: a line on standard error. If it is closed or full, nobody is left to warn.
pub fn note(line: &str) {
    let _ = io::stderr().lock().write_all(format!("{}\n", shown(line)).as_bytes());
}

/// A word as a shell takes it: as it is where that is safe, else in quotes.
pub fn shell_word(text: &str) -> String {
    let is_safe = |letter: char| letter.is_alphanumeric() || "-_./:@,=+%".contains(letter);
    match !text.is_empty() && text.chars().all(is_safe) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Prints; a reader that went away (`| head`, a terminal that was closed) is no error, a full disk is one.
pub fn print(text: &str) -> Result<(), CommandFailure> {
    let mut out = io::stdout().lock();
    match out.write_all(shown(text).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if has_a_reader(&error) => Err(CommandFailure::usage(format!("standard output: {error}"))),
        _ => Ok(()),
    }
}

/// What a terminal shows and does not obey: beside text only the colours of [`terminal::Colour`]. A second fence; what comes from
/// outside has no such characters where it came in.
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        out += &study::visible(&rest[..at]);
        let sequence = &rest[at + 2..];
        match sequence.find(|letter: char| !letter.is_ascii_digit() && letter != ';') {
            Some(end) if sequence[end..].starts_with('m') => {
                out += &rest[at..at + 2 + end + 1];
                rest = &sequence[end + 1..];
            }
            _ => {
                out += &study::visible("\x1b[");
                rest = sequence;
            }
        }
    }
    out + &study::visible(rest)
}

/// Whether an error of writing is one that somebody should know of.
pub fn has_a_reader(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::BrokenPipe && error.raw_os_error() != Some(libc::EIO)
}

#[cfg(test)]
mod tests {
    use super::{shell_word, shown};

    #[test]
    fn a_word_is_printed_as_a_shell_takes_it() {
        assert_eq!(shell_word("kvtrial-study-1/a"), "kvtrial-study-1/a");
        assert_eq!(shell_word("my study"), "'my study'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn a_terminal_gets_colours_and_no_other_command() {
        assert_eq!(shown("\x1b[1;31mvoid\x1b[0m of β\n"), "\x1b[1;31mvoid\x1b[0m of β\n");
        assert_eq!(shown("a\x1b]0;title\x07\x1b[2J\x1b[31"), "a\\u001b]0;title\\u0007\\u001b[2J\\u001b[31");
        assert_eq!(shown("\u{202e}\x1b"), "\\u202e\\u001b");
    }
}
