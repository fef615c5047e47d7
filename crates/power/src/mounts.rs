//! Mounting and unmounting, by the system's own programs: what waits for the disk is then never the process that serves it.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long the last process may take to leave a file system.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

/// An empty ext4: nothing of it is left to be written later.
const MAKE: [&str; 9] = [
    "-q",
    "-F",
    "-b",
    "4096",
    "-E",
    "lazy_itable_init=0,lazy_journal_init=0,nodiscard",
    // A file per 32 KiB.
    "-i",
    "32768",
    "-m0",
];

/// Makes an ext4 in a file.
///
/// # Errors
/// The program's words.
pub fn make(file: &Path) -> Result<(), String> {
    run(Command::new("mkfs.ext4").args(MAKE).arg(file))
}

/// Mounts the ext4 in a file, by a loop device that goes with the mount.
///
/// # Errors
/// The program's words.
pub fn mount(file: &Path, place: &Path) -> Result<(), String> {
    run(Command::new("mount").args(["-t", "ext4", "-o", "loop"]).arg(file).arg(place)).map_err(|words| {
        let is_loop = words.contains("loop device") || words.contains("loop_control");
        let remedy =
            if is_loop { "; losetup -a shows who has the loop devices, and --how kill needs none" } else { "" };
        format!("{words}{remedy}")
    })
}

/// Unmounts what is mounted at a place; what somebody still has open there goes when it is closed.
///
/// # Errors
/// The program's words.
pub fn unmount(place: &Path) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match run(Command::new("umount").arg(place)) {
            Ok(()) => return Ok(()),
            Err(words) if !words.contains("busy") => return Err(words),
            Err(_) if begun.elapsed() > PATIENCE => return run(Command::new("umount").arg("-l").arg(place)),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// Unmounts everything that is mounted at a place.
pub fn unmount_all(place: &Path) {
    while device(place).is_some() && unmount(place).is_ok() {}
}

/// Leaves nothing in a new file system, and makes it its owner's own.
///
/// # Errors
/// The system's, with the place.
pub fn tidy(place: &Path) -> Result<(), String> {
    let own = |error: io::Error| format!("{}: {error}", place.display());
    fs::remove_dir(place.join("lost+found")).map_err(own)?;
    fs::set_permissions(place, Permissions::from_mode(0o700)).map_err(own)
}

/// Returns the number of the device that is mounted at a place, as the system lists it: `7:0`.
pub fn device(place: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let name = place.to_string_lossy().replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011");
    let line = mounts.lines().rfind(|line| line.split(' ').nth(4) == Some(&name))?;
    line.split(' ').nth(2).map(str::to_owned)
}

/// Runs a program; its words where it fails.
fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.env("PATH", "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin").env("LC_ALL", "C");
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = [output.stderr, output.stdout].concat();
    let words = String::from_utf8_lossy(&words).split_whitespace().collect::<Vec<_>>().join(" ");
    Err(if words.starts_with(&name) { words } else { format!("{name}: {words}") })
}
