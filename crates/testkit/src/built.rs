//! Programs of this crate for tests that set `PATH` and let them be found and started.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Puts a program of this crate into a directory under a name. It was built with the tests, or is built now.
///
/// # Errors
/// When it cannot be built or linked.
pub(crate) fn install(program: &str, directory: &Path, name: &str) -> Result<PathBuf, String> {
    let test = std::env::current_exe().map_err(|error| error.to_string())?;
    // A test's program lies in <target>/<profile>/deps.
    let profile = test.parent().and_then(Path::parent).ok_or("this program lies in no target directory")?;
    let path = profile.join(program);
    match std::env::var_os("CARGO") {
        Some(cargo) if is_stale(&path) => build(&cargo, program, profile)?,
        None if !path.is_file() => return Err(format!("{} is not built; run this test through cargo", path.display())),
        _ => {}
    }
    let link = directory.join(name);
    std::os::unix::fs::symlink(&path, &link).map_err(|error| format!("{}: {error}", link.display()))?;
    Ok(link)
}

/// Whether a program is not there, or a source of this crate is newer: a test that is run by itself does not bring it up to date.
fn is_stale(program: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|it| it.modified()).ok();
    let Some(built) = changed(program) else { return true };
    let mut folders = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if changed(&path).is_some_and(|it| it > built) {
                return true;
            }
        }
    }
    false
}

/// Brings the program up to date in the profile's directory, where this test was built.
fn build(cargo: &OsStr, program: &str, profile: &Path) -> Result<(), String> {
    let target = profile.parent().ok_or("this program lies in no target directory")?;
    let mut command = Command::new(cargo);
    command
        .args(["build", "--quiet", "--package", "kvtrial-testkit", "--bin", program])
        .arg("--target-dir")
        .arg(target);
    if profile.file_name().is_some_and(|name| name == "release") {
        command.arg("--release");
    }
    match command.current_dir(env!("CARGO_MANIFEST_DIR")).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("building {program}: {status}")),
        Err(error) => Err(format!("building {program}: {error}")),
    }
}
