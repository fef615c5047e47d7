//! The last words of a process: its output, kept in memory so that it outlives the process.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::process::Stdio;

/// The bytes at the end that are looked at, and the lines of them that are quoted.
const BYTES: u64 = 4 << 10;
const LINES: usize = 6;

/// A file without a name that takes the output of a process.
pub struct Words(File);

impl Words {
    /// Makes an empty file.
    ///
    /// # Errors
    /// The system's error.
    pub fn new() -> io::Result<Words> {
        // SAFETY: the name is a C string; the call makes a descriptor that belongs to nobody else.
        let file = unsafe {
            match libc::memfd_create(c"kvtrial-words".as_ptr(), libc::MFD_CLOEXEC) {
                -1 => return Err(io::Error::last_os_error()),
                descriptor => File::from_raw_fd(descriptor),
            }
        };
        Ok(Words(file))
    }

    /// Returns the output for a process to be started.
    ///
    /// # Errors
    /// The system's error.
    pub fn output(&self) -> io::Result<Stdio> {
        Ok(self.0.try_clone()?.into())
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Returns the last lines as one line, without control characters; empty when nothing was printed.
    pub fn last(&self) -> String {
        let length = self.0.metadata().map_or(0, |meta| meta.len());
        let mut bytes = vec![0; length.min(BYTES) as usize];
        let begin = length - bytes.len() as u64;
        if self.0.read_exact_at(&mut bytes, begin).is_err() {
            return String::new();
        }
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<String> = text.lines().map(|line| plain(line.trim())).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(LINES)..].join(" | ")
    }
}

/// Returns text without control characters: they are shown as they are written in a program.
fn plain(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::Words;
    use std::os::unix::fs::FileExt;

    #[test]
    fn the_last_lines_are_quoted_in_one_without_control_characters() {
        let words = Words::new().unwrap();
        assert_eq!(words.last(), "");
        let lines: Vec<String> = (0..5000).map(|number| format!("line {number}\n\n")).collect();
        let text = [lines.concat().as_bytes(), b"a\x1b[2Jb\x07\xff"].concat();
        words.0.write_all_at(&text, 0).unwrap();
        let last = words.last();
        assert!(last.starts_with("line 4995 | line 4996") && last.contains(r"a\u{1b}[2Jb\u{7}"), "{last}");
        assert!(!last.chars().any(char::is_control));
    }
}
