//! Passwords that are not on the command line: a URL whose password is written `***`, as every report and study shows it.
//!
//! Such a password is that in the environment, that of the same URL in a file the environment names, or what is typed at the terminal.

use crate::failure::CommandFailure;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{IsTerminal, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::{Mutex, OnceLock, PoisonError};
use study::{Secret, Spec, Target};

/// The password itself.
const VARIABLE: &str = "KVTRIAL_PASSWORD";
/// The path of a file: one password, or a line for each URL.
const FILE_VARIABLE: &str = "KVTRIAL_PASSWORD_FILE";

/// What the environment had when kvtrial began.
static GIVEN: OnceLock<Option<Secret>> = OnceLock::new();
/// What was typed, by URL: nobody is asked twice.
static TYPED: Mutex<BTreeMap<String, Secret>> = Mutex::new(BTreeMap::new());

/// Takes the password out of the environment, which every server and worker inherits. The first thing that is done.
pub fn take_from_environment() {
    let _ = GIVEN.set(std::env::var(VARIABLE).ok().map(Secret::new)); // set once: main calls it once
    // SAFETY: no other thread has been started yet that could read the environment.
    unsafe { std::env::remove_var(VARIABLE) };
}

/// Puts the password in its place where a URL says that it is not there.
///
/// # Errors
/// It is to be had from nowhere, or the file cannot be read.
pub fn settle(spec: &mut Spec) -> Result<(), CommandFailure> {
    let url = spec.to_string();
    let Target::Server(server) = &mut spec.target else { return Ok(()) };
    if server.hides_its_password() {
        server.password = Some(wanted(&url)?);
    }
    Ok(())
}

fn wanted(url: &str) -> Result<Secret, CommandFailure> {
    if let Some(given) = GIVEN.get().cloned().flatten() {
        return Ok(given);
    }
    if let Some(found) = std::env::var_os(FILE_VARIABLE) {
        let path = std::path::Path::new(&found);
        let failed = |problem: String| CommandFailure::usage(format!("{FILE_VARIABLE}={}: {problem}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        return in_file(&text, url)
            .ok_or_else(|| failed(format!("it has no line for {url}; write that URL there, with its password")));
    }
    if let Some(typed) = typed().get(url) {
        return Ok(typed.clone());
    }
    let secret = asked_for(url)?;
    typed().insert(url.to_owned(), secret.clone());
    Ok(secret)
}

fn typed() -> std::sync::MutexGuard<'static, BTreeMap<String, Secret>> {
    TYPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The password in the text of a file: that of the line with the same URL, or the only line.
fn in_file(text: &str, url: &str) -> Option<Secret> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if let [only] = lines[..]
        && !only.contains("://")
    {
        return Some(Secret::new(only));
    }
    let place = |spec: &Spec| runner::place_of(spec);
    let url: Spec = url.parse().ok()?;
    let specs = lines.into_iter().filter_map(|line| line.parse::<Spec>().ok());
    specs.filter(|spec| place(spec) == place(&url)).find_map(|spec| match spec.target {
        Target::Server(server) => server.password,
        _ => None,
    })
}

/// Asks at the terminal, which does not show what is typed.
fn asked_for(url: &str) -> Result<Secret, CommandFailure> {
    let nowhere = || {
        CommandFailure::usage(format!(
            "the password of {url} is not known here: set {VARIABLE}, or name a file by {FILE_VARIABLE}, or run kvtrial at a terminal, \
             where it is asked for"
        ))
    };
    if !std::io::stdin().is_terminal() {
        return Err(nowhere());
    }
    let mut terminal = File::options().read(true).write(true).open("/dev/tty").map_err(|_| nowhere())?;
    write!(terminal, "Password of {url}: ").map_err(|_| nowhere())?;
    let silent = Silent::on(&terminal).ok_or_else(nowhere)?;
    let line = typed_line(&mut &terminal);
    drop(silent);
    let _ = writeln!(terminal); // what was typed shows no line end either
    line.map(Secret::new).ok_or(CommandFailure { message: "interrupted".into(), status: crate::failure::INTERRUPTED })
}

/// What is typed until the end of the line; `None`: Ctrl-C.
fn typed_line(input: &mut impl Read) -> Option<String> {
    const INTERRUPT: u8 = 3;
    const END: u8 = 4;
    const BACKSPACE: u8 = 8;
    const CLEAR: u8 = 21;
    const DELETE: u8 = 127;
    let mut line = Vec::new();
    let mut byte = [0];
    while input.read(&mut byte).ok()? == 1 {
        match byte[0] {
            INTERRUPT => return None,
            b'\n' | b'\r' | END => break,
            BACKSPACE | DELETE => {
                // A character may be several bytes.
                while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
            }
            CLEAR => line.clear(),
            other => line.push(other),
        }
    }
    String::from_utf8(line).ok()
}

/// A terminal that shows nothing of what is typed and hands it over byte by byte; as it was before when this is dropped.
struct Silent<'a> {
    terminal: &'a File,
    before: libc::termios,
}

impl Silent<'_> {
    fn on(terminal: &File) -> Option<Silent<'_>> {
        let mut before = std::mem::MaybeUninit::<libc::termios>::uninit();
        // SAFETY: the call fills the structure when it returns 0, and only then is it read.
        let before =
            unsafe { (libc::tcgetattr(terminal.as_raw_fd(), before.as_mut_ptr()) == 0).then(|| before.assume_init())? };
        let mut silent = before;
        silent.c_lflag &= !(libc::ECHO | libc::ICANON | libc::ISIG);
        set(terminal, &silent).then_some(Silent { terminal, before })
    }
}

impl Drop for Silent<'_> {
    fn drop(&mut self) {
        set(self.terminal, &self.before);
    }
}

fn set(terminal: &File, to: &libc::termios) -> bool {
    // SAFETY: plain system call on an open file, which reads the structure.
    unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSAFLUSH, to) == 0 }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{in_file, typed_line};

    #[test]
    fn a_file_has_one_password_or_a_line_for_each_url() {
        let found = |text: &str| in_file(text, "redis://:***@h:6379").map(|secret| secret.reveal().to_owned());
        assert_eq!(found("hush\n").unwrap(), "hush");
        assert_eq!(found("redis://:no@other:6379\nredis://:p%40w@h:6379\n").unwrap(), "p@w");
        assert_eq!(found("redis://:no@other:6379\n"), None);
        assert_eq!(found(""), None);
    }

    #[test]
    fn what_is_typed_ends_with_the_line_and_can_be_corrected() {
        let typed = |bytes: &[u8]| typed_line(&mut &*bytes);
        assert_eq!(typed(b"hush\nmore").unwrap(), "hush");
        assert_eq!(typed("hué\u{7f}sh\r".as_bytes()).unwrap(), "hush");
        assert_eq!(typed(b"wrong\x15hush").unwrap(), "hush");
        assert_eq!(typed(b"hu\x03"), None);
    }
}
