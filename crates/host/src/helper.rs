//! A program that helps kvtrial and is no store: it lives as long as its guard, and not longer than kvtrial.

use crate::last_words::Words;
use crate::process::{self, Exit, Pid, signal};
use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The time that a helper may take to end when it is asked to.
const FAREWELL: Duration = Duration::from_secs(1);

/// A helper that runs. Dropping this ends it.
pub struct Helper {
    pid: Pid,
    words: Words,
}

impl Helper {
    /// Starts a program, whose output is kept in memory.
    ///
    /// # Errors
    /// The system's error, e.g. when the program does not exist.
    pub fn start(mut command: Command) -> io::Result<Helper> {
        let words = Words::new()?;
        command.stdout(words.output()?).stderr(words.output()?);
        Ok(Helper { pid: process::spawn_helper(command)?, words })
    }

    /// Returns what the program reads as its standard input: this text, which is in no file.
    ///
    /// # Errors
    /// The system's error.
    pub fn input(text: &str) -> io::Result<Stdio> {
        let (reader, mut writer) = io::pipe()?;
        io::Write::write_all(&mut writer, text.as_bytes())?; // less than a pipe holds
        Ok(reader.into())
    }

    /// Returns how the program ended, if it has, and its last words.
    pub fn exit(&self) -> Option<(Exit, String)> {
        process::exit_of(self.pid).map(|exit| (exit, self.words.last()))
    }

    /// Returns the process of the program.
    pub fn pid(&self) -> i32 {
        self.pid
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        signal(self.pid, libc::SIGTERM);
        process::see_off(self.pid, FAREWELL);
    }
}

#[cfg(test)]
mod tests {
    use super::Helper;
    use crate::Exit;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn a_helper_reads_what_it_is_told_and_is_gone_with_its_guard() {
        let mut command = Command::new("sh");
        command.args(["-c", "read line; echo heard $line; exec sleep 100"]).stdin(Helper::input("it\n").unwrap());
        let helper = Helper::start(command).unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while helper.words.last() != "heard it" {
            assert!(helper.exit().is_none() && Instant::now() < until);
            std::thread::sleep(Duration::from_millis(1));
        }
        let pid = helper.pid();
        drop(helper);
        assert_eq!(crate::process::exit_of(pid), Some(Exit::Gone));
    }
}
