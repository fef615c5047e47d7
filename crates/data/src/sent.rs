//! Files that another process has sent: they are read in place of the file of their path, which need not be here.

use crate::digest;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The most bytes of a piece.
const PIECE_BYTES: usize = 256 << 10;

/// Files that were sent here, for the life of the process; one for each path.
static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

struct Kept {
    path: PathBuf,
    digest: String,
    bytes: Arc<[u8]>,
}

/// What a file that is sent is, so that who gets it knows whether it came as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLabel {
    /// Its path, as the user wrote it.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The sha256 of its bytes.
    pub digest: String,
}

/// A file that is sent, as it was when it was read.
#[derive(Clone, Debug)]
pub struct FileToSend {
    label: FileLabel,
    bytes: Arc<[u8]>,
}

impl FileToSend {
    /// Reads a file; `None`: it has more than this many bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn read(path: &str, most_bytes: u64) -> io::Result<Option<FileToSend>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most_bytes {
            return Ok(None);
        }
        let label = FileLabel { path: path.into(), bytes: bytes.len() as u64, digest: digest::of_bytes(&bytes) };
        Ok(Some(FileToSend { label, bytes: bytes.into() }))
    }

    /// Returns what it is.
    pub fn label(&self) -> &FileLabel {
        &self.label
    }

    /// Keeps it: it is read here, too, as it was, whatever becomes of the file.
    pub fn keep(&self) {
        keep(self.label.clone(), Arc::clone(&self.bytes));
    }

    /// Returns the piece that begins at this byte.
    pub fn piece(&self, from: u64) -> &[u8] {
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(self.bytes.len());
        &self.bytes[from..self.bytes.len().min(from.saturating_add(PIECE_BYTES))]
    }
}

/// A file on its way here.
pub struct ArrivingFile {
    label: FileLabel,
    bytes: Vec<u8>,
}

impl ArrivingFile {
    /// Begins with none of it; `None`: it is here.
    pub fn of(label: &FileLabel) -> Option<ArrivingFile> {
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let is_here = kept.iter().any(|it| it.path == Path::new(&label.path) && it.digest == label.digest);
        (!is_here).then(|| ArrivingFile { label: label.clone(), bytes: Vec::new() })
    }

    /// Returns the first byte that is missing; `None`: there is none.
    pub fn lacks(&self) -> Option<u64> {
        let came = self.bytes.len() as u64;
        (came < self.label.bytes).then_some(came)
    }

    /// Adds the piece that begins there.
    ///
    /// # Errors
    /// It is none.
    pub fn add(&mut self, piece: &[u8]) -> Result<(), String> {
        self.bytes.extend_from_slice(piece);
        let is_right = !piece.is_empty() && self.bytes.len() as u64 <= self.label.bytes;
        if is_right { Ok(()) } else { Err(self.changed()) }
    }

    /// Keeps it: from now on it is read instead of a file of its path.
    ///
    /// # Errors
    /// Its bytes are not those that were sent.
    pub fn keep(self) -> Result<(), String> {
        if digest::of_bytes(&self.bytes) != self.label.digest {
            return Err(self.changed());
        }
        keep(self.label, self.bytes.into());
        Ok(())
    }

    fn changed(&self) -> String {
        format!("{}: its bytes have changed on the way here", self.label.path)
    }
}

fn keep(label: FileLabel, bytes: Arc<[u8]>) {
    let (path, digest) = (PathBuf::from(label.path), label.digest);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.retain(|it| it.path != path);
    kept.push(Kept { path, digest, bytes });
}

/// Returns whether a file of this path can be read: one that was sent, or one that is here.
pub fn is_file(path: &Path) -> bool {
    sent(path).is_some() || path.exists()
}

/// Returns the bytes of the file of this path that was sent.
pub(crate) fn sent(path: &Path) -> Option<Arc<[u8]>> {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.iter().find(|it| it.path == path).map(|it| Arc::clone(&it.bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{ArrivingFile, FileLabel, FileToSend, PIECE_BYTES, is_file};
    use crate::lines::Lines;
    use std::path::Path;

    fn of(directory: &tempfile::TempDir, name: &str, text: &str) -> FileToSend {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        FileToSend::read(path.to_str().unwrap(), 1 << 30).unwrap().unwrap()
    }

    fn come(label: &FileLabel, file: &FileToSend) -> Result<(), String> {
        let Some(mut arriving) = ArrivingFile::of(label) else { return Ok(()) };
        while let Some(from) = arriving.lacks() {
            arriving.add(file.piece(from))?;
        }
        arriving.keep()
    }

    #[test]
    fn a_file_that_was_sent_is_read_though_it_is_no_longer_there() {
        let directory = tempfile::tempdir().unwrap();
        let text = format!("{}\nlast", "x".repeat(2 * PIECE_BYTES));
        let file = of(&directory, "long.txt", &text);
        let path = Path::new(&file.label().path);
        std::fs::remove_file(path).unwrap();
        assert!(!is_file(path));
        come(file.label(), &file).unwrap();
        assert!(is_file(path) && ArrivingFile::of(file.label()).is_none());
        let mut lines = Lines::open(path).unwrap();
        assert_eq!(lines.next_line().unwrap().unwrap().1.len(), 2 * PIECE_BYTES);
        assert_eq!(lines.next_line().unwrap(), Some((2, "last")));
        // Another of the same path takes its place.
        let other = of(&directory, "long.txt", "other");
        come(other.label(), &other).unwrap();
        assert_eq!(Lines::open(path).unwrap().next_line().unwrap(), Some((1, "other")));
        let empty = of(&directory, "empty.txt", "");
        come(empty.label(), &empty).unwrap();
        assert_eq!(Lines::open(Path::new(&empty.label().path)).unwrap().next_line().unwrap(), None);
    }

    #[test]
    fn bytes_that_have_changed_on_the_way_are_refused_and_a_large_file_is_not_sent() {
        let directory = tempfile::tempdir().unwrap();
        let (file, altered) = (of(&directory, "a.txt", "true"), of(&directory, "b.txt", "trve"));
        for other in [altered, of(&directory, "short.txt", "tr"), of(&directory, "long.txt", "true true")] {
            let words = come(file.label(), &other).unwrap_err();
            assert!(words.ends_with("a.txt: its bytes have changed on the way here"), "{words}");
        }
        assert!(super::sent(Path::new(&file.label().path)).is_none());
        assert!(FileToSend::read(&file.label().path, 3).unwrap().is_none());
        assert!(FileToSend::read(&file.label().path, 4).unwrap().is_some());
    }
}
