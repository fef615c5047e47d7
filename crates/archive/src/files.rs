//! Files that are written whole or not at all, and never where a link leads.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Writes a file of a study's directory in one step. A link of that name is replaced by the file; where it leads nothing is written.
///
/// # Errors
/// What the system or the writer says; what was there is untouched.
pub fn replace_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    replacing(Path::new(&fresh), path, |file| buffered(file, write))
}

/// Writes a file somebody named, in one step as [`replace_file`]; nothing beside it is touched. What is no file (a pipe, a device, an
/// open descriptor such as `/dev/stdout`) is written to as it is.
///
/// # Errors
/// What the system or the writer says; of a file, what was there is untouched.
pub fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    if leads_to_no_file(path) || is_descriptor(path) {
        return buffered(File::options().write(true).open(path)?, write);
    }
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
    // Not a name of the user's: what has it was left by a process that was killed.
    let fresh = format!(".{}.kvtrial-{}", name.to_string_lossy(), std::process::id());
    replacing(&path.with_file_name(fresh), path, |file| buffered(file, write))
}

fn buffered(file: File, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 16, file);
    write(&mut file)?;
    file.flush()
}

fn leads_to_no_file(path: &Path) -> bool {
    let kind = fs::metadata(path).map(|found| found.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_char_device() || kind.is_block_device() || kind.is_socket())
}

/// Whether a path is an entry of a process's open descriptors, or a link to one: what it leads to was opened by the program that started
/// this process.
fn is_descriptor(path: &Path) -> bool {
    let within = |path: &Path| {
        let directory = path.parent().and_then(|parent| parent.canonicalize().ok());
        directory.is_some_and(|directory| directory.starts_with("/proc") && directory.ends_with("fd"))
    };
    let next = |path: &Path| -> Option<PathBuf> { Some(path.parent()?.join(fs::read_link(path).ok()?)) };
    within(path) || next(path).is_some_and(|target| within(&target))
}

/// Writes a new file and renames it over the old one; what was written of it is removed when that fails. Neither name is followed
/// where it is a link.
pub(crate) fn replacing<T>(fresh: &Path, old: &Path, write: impl FnOnce(File) -> io::Result<T>) -> io::Result<T> {
    let begun = match fs::remove_file(fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => File::options().write(true).create_new(true).open(fresh),
    };
    let written = begun.and_then(write).and_then(|done| fs::rename(fresh, old).map(|()| done));
    if written.is_err() {
        // Only to give room back; that it failed is in the first error.
        drop(fs::remove_file(fresh));
    }
    written
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::write_file;
    use std::fs::{self, File};
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    #[test]
    fn a_link_is_replaced_and_a_descriptor_written_to() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let save = |path: &Path| write_file(path, |file| file.write_all(b"report"));
        fs::write(at("victim"), "mine").unwrap();
        fs::write(at("report.new"), "mine too").unwrap();
        symlink(at("victim"), at("report")).unwrap();
        save(&at("report")).unwrap();
        assert!(!at("report").is_symlink());
        assert_eq!(fs::read_to_string(at("report")).unwrap(), "report");
        assert_eq!(fs::read_to_string(at("victim")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(at("report.new")).unwrap(), "mine too");
        // As `--out /dev/stdout` with a file behind it.
        let opened = File::create(at("redirected")).unwrap();
        symlink(format!("/proc/self/fd/{}", opened.as_raw_fd()), at("stdout")).unwrap();
        save(&at("stdout")).unwrap();
        assert!(at("stdout").is_symlink());
        assert_eq!(fs::read_to_string(at("redirected")).unwrap(), "report");
        save(Path::new("/dev/null")).unwrap();
        assert!(save(place.path()).is_err() && save(&at("absent/report")).is_err());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 5);
    }
}
