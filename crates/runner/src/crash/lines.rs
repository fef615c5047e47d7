//! Lines that come into the logs of a store.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often the logs are looked at.
const LOOK: Duration = Duration::from_micros(500);

/// Lines with a text in some logs.
pub(super) struct LogLines {
    text: Vec<u8>,
    logs: Vec<Log>,
}

struct Log {
    path: PathBuf,
    /// The bytes of it that were looked at.
    seen_bytes: u64,
    /// The line that is not over.
    line: Vec<u8>,
}

impl LogLines {
    /// Finds those that come from now on. A log that is not there yet is looked at from its beginning.
    pub(super) fn from_now_on(logs: Vec<PathBuf>, text: &str) -> LogLines {
        let log = |path: PathBuf| {
            let seen_bytes = path.metadata().map_or(0, |meta| meta.len());
            Log { path, seen_bytes, line: Vec::new() }
        };
        LogLines { text: text.as_bytes().to_vec(), logs: logs.into_iter().map(log).collect() }
    }

    /// Waits for the next one; `false`: none came until then.
    pub(super) fn next(&mut self, until: Instant) -> bool {
        loop {
            // One that cannot be read now has perhaps just been renamed.
            if self.logs.iter_mut().any(|log| log.has_more(&self.text).unwrap_or(false)) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Log {
    /// Returns whether the text is in what has come since it was last looked at.
    fn has_more(&mut self, text: &[u8]) -> io::Result<bool> {
        let mut file = File::open(&self.path)?;
        let bytes = file.metadata()?.len();
        if bytes < self.seen_bytes {
            // It was emptied, or is another one.
            self.seen_bytes = 0;
            self.line.clear();
        }
        file.seek(SeekFrom::Start(self.seen_bytes))?;
        self.seen_bytes += file.read_to_end(&mut self.line)? as u64;
        let is_there = self.line.split(|byte| *byte == b'\n').any(|line| has(line, text));
        let begin = self.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.line.drain(..if is_there { self.line.len() } else { begin });
        Ok(is_there)
    }
}

fn has(line: &[u8], text: &[u8]) -> bool {
    line.windows(text.len().max(1)).any(|part| part == text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::LogLines;
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::time::{Duration, Instant};

    #[test]
    fn a_line_counts_once_when_it_comes_and_none_from_before() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
        fs::write(&one, "saved\n").unwrap();
        let mut lines = LogLines::from_now_on(vec![one.clone(), other.clone()], "saved");
        let mut next = || lines.next(Instant::now() + Duration::from_millis(3));
        let write =
            |text: &str| OpenOptions::new().append(true).open(&one).unwrap().write_all(text.as_bytes()).unwrap();
        assert!(!next(), "it came before");
        write("begun\nDB sa");
        assert!(!next());
        write("ved on disk");
        assert!(next(), "the two parts are one line");
        assert!(!next(), "it was seen");
        write("\nsa\nved\n");
        assert!(!next(), "these are two lines");
        fs::write(&other, "saved\n").unwrap();
        assert!(next(), "a log that was not there before");
        fs::write(&one, "saved\n").unwrap();
        assert!(next(), "a log that was emptied");
    }

    #[test]
    fn it_is_waited_for() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut lines = LogLines::from_now_on(vec![file.path().to_owned()], "ready");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| lines.next(Instant::now() + Duration::from_secs(20)));
            std::thread::sleep(Duration::from_millis(20));
            fs::write(file.path(), "12:00 ready to go\n").unwrap();
            assert!(waits.join().unwrap());
        });
    }
}
