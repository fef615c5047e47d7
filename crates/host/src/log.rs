//! The end of a server's log, for errors.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use study::Secret;

/// The number of lines of a log that an error quotes, and the bytes at the log's end in which they are looked for.
const QUOTED_LINES: usize = 15;
const QUOTED_BYTES: u64 = 8 << 10;

/// The logs of a server, and the password that must not be quoted from them: some servers write all their settings there.
pub struct Logs {
    files: Vec<PathBuf>,
    secret: Secret,
}

impl Logs {
    /// Makes the logs of a server that knows this password, in these files.
    pub fn new(files: Vec<PathBuf>, secret: Secret) -> Logs {
        Logs { files, secret }
    }

    /// Returns the log files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the last lines of the logs, to follow a message; empty when the logs are.
    pub fn quote(&self) -> String {
        let text: String = self.files.iter().filter_map(|log| tail(log).ok()).collect();
        let text = if self.secret.reveal().is_empty() { text } else { text.replace(self.secret.reveal(), "***") };
        let text = study::visible(&text.replace('\r', "")).into_owned();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(QUOTED_LINES)..];
        if last.is_empty() { String::new() } else { format!("; its log ends:\n  {}", last.join("\n  ")) }
    }
}

fn tail(log: &Path) -> io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(QUOTED_BYTES)))?;
    let mut text = Vec::new();
    file.take(QUOTED_BYTES).read_to_end(&mut text)?;
    text.push(b'\n');
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::Logs;
    use std::path::PathBuf;
    use study::Secret;

    fn end_of(files: &[PathBuf]) -> String {
        Logs::new(files.to_vec(), Secret::new("tulip")).quote()
    }

    #[test]
    fn the_last_lines_are_quoted_however_long_the_log_and_whatever_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let (long, binary) = (dir.path().join("long"), dir.path().join("binary"));
        let lines: Vec<String> = (0..100_000).map(|number| format!("line {number}\n\n")).collect();
        std::fs::write(&long, lines.concat()).unwrap();
        let quoted = end_of(&[long.clone(), dir.path().join("missing")]);
        let expected: Vec<String> = (99_985..100_000).map(|number| format!("\n  line {number}")).collect();
        assert_eq!(quoted, format!("; its log ends:{}", expected.concat()));
        std::fs::write(&binary, b"a\xff\0b").unwrap();
        assert!(end_of(&[long, binary]).ends_with("line 99999\n  a\u{fffd}\\u0000b"));
        assert_eq!(end_of(&[dir.path().join("missing")]), "");
    }

    #[test]
    fn a_password_that_a_server_writes_into_its_log_is_not_quoted() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        std::fs::write(&log, "CONFIG: plain_secret=tulip\nready, tulip\n").unwrap();
        assert_eq!(end_of(&[log]), "; its log ends:\n  CONFIG: plain_secret=***\n  ready, ***");
    }
}
