//! Brings everything that was made before the clock to the disk before the clock starts.

use crate::lease::disk_of;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;

/// The treatment of handles on files once the files are on the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Handles {
    /// The handles are closed.
    Closed,
    /// The handles stay open as long as this process, which has a store open there: by POSIX, closing any handle on a file gives up every lock that
    /// the process has on the file, the store's locks among them.
    Kept,
}

/// Writes everything below a directory to the disk, and returns when it is there. The files of a server's setup can then neither be lost with writes
/// that the server acknowledges, nor be written in the time that is measured.
///
/// The writing of all files is begun before any file is waited for, so that the disk gets all of them in one go. Only these files are written:
/// unwritten data of other programs stays as it is.
///
/// # Errors
/// The system's error, with the file that the disk does not take.
pub fn settle(directory: &Path, handles: Handles) -> Result<(), (PathBuf, io::Error)> {
    let disk = disk_of(directory);
    if !power::is_recorded(&disk) {
        return bring(directory, handles);
    }
    // What is durable is known from recorded calls only, these among them.
    let recorded =
        || power::enter(&disk).map_err(|error| (disk.clone(), error)).and_then(|()| bring(directory, handles));
    thread::scope(|scope| scope.spawn(recorded).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn bring(directory: &Path, handles: Handles) -> Result<(), (PathBuf, io::Error)> {
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
            finish(&mut begun, handles)?;
        }
    }
    finish(&mut begun, handles)
}

/// The number of files open at once: well below the limit of any system.
const MOST_OPEN_FILES: usize = 512;

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

/// Asks the system to write a file, without waiting. Where that is not possible `finish` does all of it.
fn begin(file: &File) {
    // SAFETY: the call touches no memory.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

fn finish(begun: &mut Vec<(PathBuf, File)>, handles: Handles) -> Result<(), (PathBuf, io::Error)> {
    for (path, file) in begun.drain(..) {
        match file.sync_all() {
            // A file system that has nothing to sync says so.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            Err(error) => return Err((path, error)),
            Ok(()) => {}
        }
        if handles == Handles::Kept {
            std::mem::forget(file);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Handles, settle};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_no_file_and_what_has_gone_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(directory.path().join("socket")).unwrap();
        symlink("/no/such/file", directory.path().join("link")).unwrap();
        settle(directory.path(), Handles::Closed).unwrap();
        settle(&directory.path().join("gone"), Handles::Closed).unwrap();
    }

    /// Returns whether another process may lock the file of a store that has it locked here.
    fn is_locked_against_others(file: &std::path::Path) -> bool {
        let tries = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)";
        !std::process::Command::new("python3").args(["-c", tries]).arg(file).output().unwrap().status.success()
    }

    #[test]
    fn a_store_that_is_open_here_keeps_the_locks_on_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let file = std::fs::File::create(&path).unwrap();
        // SAFETY: the lock is plain data; the call touches nothing else.
        let locked = unsafe {
            let mut lock: libc::flock = std::mem::zeroed();
            lock.l_type = libc::F_WRLCK as libc::c_short;
            libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock)
        };
        assert_eq!(locked, 0);
        settle(directory.path(), Handles::Kept).unwrap();
        assert!(is_locked_against_others(&path));
        settle(directory.path(), Handles::Closed).unwrap();
        assert!(!is_locked_against_others(&path), "the test can fail");
    }
}
