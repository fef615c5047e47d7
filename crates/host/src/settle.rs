//! Brings what was made before the clock to the disk before the clock.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes everything below a directory to the disk, and returns when it is there: what setting a server up wrote can then neither be
/// lost with what the server acknowledges, nor be written in the time that is measured.
///
/// All files are begun before any is waited for, so that the disk has them in one go. Only these files: what other programs have
/// not written yet is theirs.
///
/// # Errors
/// The system's, with the file: what the disk does not take.
pub fn settle(directory: &Path) -> Result<(), (PathBuf, io::Error)> {
    let mut begun = Vec::new();
    let mut paths = vec![directory.to_owned()];
    while let Some(path) = paths.pop() {
        let Ok(meta) = path.symlink_metadata() else { continue };
        if meta.is_dir() {
            paths.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else if !meta.is_file() {
            continue;
        }
        match open(&path) {
            Ok(file) => {
                begin(&file);
                begun.push((path, file));
            }
            // Servers remove their own temporary files.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err((path, error)),
        }
        if begun.len() >= MOST_OPEN_FILES {
            finish(&mut begun)?;
        }
    }
    finish(&mut begun)
}

/// Files open at once: well below what any system allows.
const MOST_OPEN_FILES: usize = 512;

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

/// Asks for the writing of a file without waiting for it. Where that is not possible `finish` does it all.
fn begin(file: &File) {
    // SAFETY: the call touches no memory.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

fn finish(begun: &mut Vec<(PathBuf, File)>) -> Result<(), (PathBuf, io::Error)> {
    for (path, file) in begun.drain(..) {
        match file.sync_all() {
            // A file system that has nothing to sync says so.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            Err(error) => return Err((path, error)),
            Ok(()) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::settle;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_no_file_and_what_has_gone_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(directory.path().join("socket")).unwrap();
        symlink("/no/such/file", directory.path().join("link")).unwrap();
        settle(directory.path()).unwrap();
        settle(&directory.path().join("gone")).unwrap();
    }
}
