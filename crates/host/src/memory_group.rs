//! A control group that bounds the memory of servers, as a container would: of either version of the kernel's interface.
//!
//! The kernel counts what the processes hold and what of their files is in memory. Files give way when the group is full; where nothing can give
//! way, the kernel kills. Making a group takes root, or a part of the hierarchy that was given to the user.

use crate::process::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const PREFIX: &str = "kvtrial-";
/// The file with the processes of a group, and into which a process is put.
const PROCESSES: &str = "cgroup.procs";
/// The files with the bound: of version 1, with the swap of version 1, and of version 2.
const LIMIT_1: &str = "memory.limit_in_bytes";
const SWAP_1: &str = "memory.memsw.limit_in_bytes";
const LIMIT_2: &str = "memory.max";
const SWAP_2: &str = "memory.swap.max";
/// The files that count what the kernel has killed, of either version, and the word before that number.
const COUNTS: [&str; 2] = ["memory.oom_control", "memory.events"];
const KILLED: &str = "oom_kill ";
/// Tries to remove a group whose processes are ending, and the time between two.
const TRIES: u32 = 200;
const BETWEEN: Duration = Duration::from_millis(5);

/// A control group with a bound of memory. Dropping it removes it, once its processes have ended.
#[derive(Debug)]
pub struct MemoryGroup {
    directory: PathBuf,
    limit_bytes: u64,
}

impl MemoryGroup {
    /// Makes a group below that of this process, or where the hierarchy begins.
    ///
    /// # Errors
    /// The kernel has no such groups, or this user may not make one; with the remedy.
    pub fn new(limit_bytes: u64) -> Result<MemoryGroup, String> {
        MemoryGroup::below(Path::new("/sys/fs/cgroup"), limit_bytes)
    }

    fn below(mounted: &Path, limit_bytes: u64) -> Result<MemoryGroup, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (parent, limit, swap) = hierarchy(mounted)?;
        remove_left_behind(&parent);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        let refused = |what: &Path, error: &std::io::Error| {
            format!(
                "a control group for memory cannot be made ({}: {error}); run as root, or leave the limit out",
                what.display()
            )
        };
        fs::create_dir(&directory).map_err(|error| refused(&directory, &error))?;
        let group = MemoryGroup { directory, limit_bytes };
        let file = group.directory.join(limit);
        fs::write(&file, limit_bytes.to_string()).map_err(|error| refused(&file, &error))?;
        // Where swap is not counted, nothing is to be bounded.
        let none = if swap == SWAP_2 { 0 } else { limit_bytes };
        let _ = fs::write(group.directory.join(swap), none.to_string());
        Ok(group)
    }

    /// Puts a process into the group; what the process starts from then on is in it, too.
    ///
    /// # Errors
    /// The kernel's words.
    pub fn admit(&self, pid: Pid) -> Result<(), String> {
        let file = self.directory.join(PROCESSES);
        match fs::write(&file, pid.to_string()) {
            // A short command may have ended before.
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => Err(format!("{}: {error}", file.display())),
            _ => Ok(()),
        }
    }

    /// Returns the bound for which the kernel has killed a process of the group, in bytes; `None`: it has killed none.
    pub fn killed_for(&self) -> Option<u64> {
        let counts = COUNTS.iter().filter_map(|name| fs::read_to_string(self.directory.join(name)).ok());
        let killed =
            |counts: String| counts.lines().any(|line| line.strip_prefix(KILLED).is_some_and(|n| n.trim() != "0"));
        counts.into_iter().any(killed).then_some(self.limit_bytes)
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            match fs::remove_dir(&self.directory) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => std::thread::sleep(BETWEEN),
                _ => return,
            }
        }
    }
}

/// Returns where groups can be made, with the names of the files for a bound of memory and of swap.
fn hierarchy(mounted: &Path) -> Result<(PathBuf, &'static str, &'static str), String> {
    let first = mounted.join("memory");
    if first.join(LIMIT_1).exists() {
        return Ok((first, LIMIT_1, SWAP_1));
    }
    let controllers = fs::read_to_string(mounted.join("cgroup.subtree_control")).unwrap_or_default();
    if controllers.split_whitespace().any(|name| name == "memory") {
        return Ok((mounted.to_owned(), LIMIT_2, SWAP_2));
    }
    Err("this machine has no control groups for memory; leave the limit out".into())
}

/// Removes groups of a kvtrial that is gone. One with processes stays.
fn remove_left_behind(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{MemoryGroup, PROCESSES};

    #[test]
    fn a_group_of_either_version_has_its_bound_takes_processes_in_and_leaves_none_of_a_kvtrial_that_is_gone() {
        let one = tempfile::tempdir().unwrap();
        std::fs::create_dir(one.path().join("memory")).unwrap();
        std::fs::write(one.path().join("memory/memory.limit_in_bytes"), "9").unwrap();
        let two = tempfile::tempdir().unwrap();
        std::fs::write(two.path().join("cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        for (mounted, parent, limit) in [
            (one.path(), one.path().join("memory"), "memory.limit_in_bytes"),
            (two.path(), two.path().to_owned(), "memory.max"),
        ] {
            // No process has this number.
            std::fs::create_dir(parent.join("kvtrial-4194999-0")).unwrap();
            let group = MemoryGroup::below(mounted, 1 << 20).unwrap();
            assert!(!parent.join("kvtrial-4194999-0").exists());
            assert_eq!(std::fs::read_to_string(group.directory.join(limit)).unwrap(), "1048576");
            group.admit(77).unwrap();
            assert_eq!(std::fs::read_to_string(group.directory.join(PROCESSES)).unwrap(), "77");
            let counts =
                group.directory.join(if limit == "memory.max" { "memory.events" } else { "memory.oom_control" });
            std::fs::write(&counts, "under_oom 0\noom_kill 0\n").unwrap();
            assert_eq!(group.killed_for(), None);
            std::fs::write(&counts, "under_oom 0\noom_kill 1\n").unwrap();
            assert_eq!(group.killed_for(), Some(1 << 20));
        }
        let none = tempfile::tempdir().unwrap();
        assert!(MemoryGroup::below(none.path(), 1).unwrap_err().contains("leave the limit out"));
    }
}
