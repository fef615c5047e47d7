//! A private directory that lives as long as its lease, and the processes in it.

use crate::network::Namespace;
use crate::process::Pid;
use crate::registry::{self, PlaceId};
use crate::tree::{MARK, Process};
use crate::user::{User, effective_uid};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use store::{CommandLine, StoreError};

/// The most looks at processes that come and go all the time.
const MOST_LOOKS: u32 = 10;

/// A lease on a private directory `kvtrial-PID-XXXXXX`; dropping the lease kills the processes in the directory and removes it.
pub struct Lease {
    id: PlaceId,
    root: PathBuf,
    store: PathBuf,
    output: PathBuf,
}

/// The name of the file for the output of a process that belongs to no named node.
const NAMELESS: &str = "server";

/// The name of the directory for the store's files.
const STORE: &str = "store";

/// The name of the directory for the output of processes.
const OUTPUT: &str = "output";

/// The name of the directory for a disk of kvtrial's own, where there is one.
const DISK: &str = "disk";

/// The name of the directory for what is added to the clocks of nodes, where they can be moved.
const CLOCKS: &str = "clocks";

/// The name of the file in a directory that is kept.
const NOTE: &str = "how-to-open";

/// The variables that a server may need and that are passed on unchanged; all others are not passed on.
const PASSED_ON: [&str; 4] = ["PATH", "LD_LIBRARY_PATH", "JAVA_HOME", "TZ"];

impl Lease {
    /// Makes a private directory under `base`, after removing the directories that killed kvtrials have left there.
    ///
    /// # Errors
    /// `base` cannot be written to.
    pub fn take(base: &Path) -> Result<Lease, StoreError> {
        let base = std::path::absolute(base).unwrap_or_else(|_| base.to_owned());
        let make = || {
            sweep_once(&base);
            let root = tempfile::Builder::new()
                .prefix(&format!("kvtrial-{}-", std::process::id()))
                .rand_bytes(6)
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(&base)?;
            let lock = File::open(root.path())?;
            lock.lock()?;
            DirBuilder::new().mode(0o700).create(root.path().join(STORE))?;
            DirBuilder::new().mode(0o700).create(root.path().join(OUTPUT))?;
            Ok((root.keep(), lock))
        };
        let (id, root) = registry::add(make).map_err(|error| {
            let remedy = match error.kind() {
                io::ErrorKind::Interrupted => "",
                io::ErrorKind::StorageFull => {
                    "; free some space there, or name another directory with --base or TMPDIR"
                }
                _ => "; name a directory that can be written to with --base or TMPDIR",
            };
            StoreError::open(
                format!("private directory in {}", base.display()),
                format!("{}{remedy}", system_words(&error)),
            )
        })?;
        Ok(Lease { id, store: root.join(STORE), output: root.join(OUTPUT), root })
    }

    /// Returns the directory for the store's files, empty at first.
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// Returns the directory for a disk of kvtrial's own; it is not there yet.
    pub fn disk(&self) -> PathBuf {
        disk_of(&self.store)
    }

    /// Returns the file for the output of a node's processes; the name of a single node is empty.
    pub fn output_of(&self, name: &str) -> PathBuf {
        self.output.join(if name.is_empty() { NAMELESS } else { name })
    }

    /// Returns the file that says what is added to the time of day of a node; it is not there yet.
    pub fn clock_of(&self, name: &str) -> PathBuf {
        self.root.join(CLOCKS).join(if name.is_empty() { NAMELESS } else { name })
    }

    /// Gives the store's directory to a user, and lets the user reach it.
    ///
    /// # Errors
    /// The system's error.
    pub fn give_to(&self, user: User) -> io::Result<()> {
        fs::set_permissions(&self.root, Permissions::from_mode(0o711))?;
        user.own(&self.store)
    }

    /// Starts a program in a directory of the store's, in a minimal environment, and in a network of its own where it has one; its output goes to the
    /// file `output`.
    ///
    /// # Errors
    /// The system's error, e.g. when the program does not exist.
    pub fn spawn(
        &self,
        line: &CommandLine,
        directory: &Path,
        output: &Path,
        user: Option<User>,
        network: Option<Namespace>,
        cpus: Vec<usize>,
    ) -> io::Result<Pid> {
        use std::os::unix::process::CommandExt;
        let output = OpenOptions::new().create(true).append(true).mode(0o600).open(output)?;
        let mut command = Command::new(&line.program);
        command
            .args(&line.args)
            .env_clear()
            .envs(PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("HOME", directory)
            .env("TMPDIR", directory)
            .env("LC_ALL", "C.UTF-8")
            .envs(line.env.iter().map(|(name, value)| (name, value)))
            .env(MARK, &self.root)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        if let Some(user) = user {
            command.uid(user.uid).gid(user.gid);
        }
        network.into_iter().for_each(|network| network.hold(&mut command));
        power::hold(&mut command, &self.disk())?;
        registry::spawn(self.id, command, cpus)
    }

    /// Clears away a process that has ended.
    pub fn forget(&self, pid: Pid) {
        registry::forget(self.id, pid);
    }

    /// Takes in a process that somebody else has started: the process is killed before the directory is removed.
    pub fn adopt(&self, pid: Pid) {
        registry::adopt(self.id, pid);
    }

    /// Gives a process up again.
    pub fn disown(&self, pid: Pid) {
        registry::disown(self.id, pid);
    }

    /// Returns the processes in the directory now.
    pub fn members(&self) -> Vec<Process> {
        registry::members(self.id)
    }

    /// Returns the processes in the directory, after two looks in a row that saw the same processes: of a process that ends during a look neither its
    /// own time is seen nor, where its parent was looked at before, the time its parent has inherited.
    pub fn settled_members(&self) -> Vec<Process> {
        let ids = |members: &[Process]| members.iter().map(|process| process.pid).collect::<Vec<_>>();
        let mut seen = self.members();
        for _ in 0..MOST_LOOKS {
            let before = ids(&seen);
            seen = self.members();
            if ids(&seen) == before {
                break;
            }
        }
        seen
    }

    /// Kills the processes in the directory and removes it.
    ///
    /// # Errors
    /// The files that could not be removed.
    pub fn end(&self) -> Result<(), StoreError> {
        registry::end(self.id).map_err(|source| StoreError::Io { path: self.root.clone(), source })
    }
}

impl Lease {
    /// Kills the processes in the directory and leaves the directory to the user, with a file in it that says how to open the store there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, how_to_open: &str) -> Result<(), StoreError> {
        let text = format!(
            "Kept by `kvtrial crash --keep`. Remove the directory when you are done. To open the store:\n{how_to_open}\n"
        );
        registry::keep(self.id, NOTE, &text).map_err(|source| StoreError::Io { path: self.root.join(NOTE), source })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A caller who wants to know what went wrong calls `end` first.
        let _ = self.end();
    }
}

/// Returns the directory for a disk of kvtrial's own, beside that of a store.
pub fn disk_of(store: &Path) -> PathBuf {
    store.with_file_name(DISK)
}

/// Returns the system's words for an error, without its number.
pub fn system_words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Removes, once per process and base, the directories whose kvtrial is gone. Directories that cannot be removed are left alone.
fn sweep_once(base: &Path) {
    static SWEPT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if swept.iter().any(|known| known == base) {
        return;
    }
    swept.push(base.to_owned());
    sweep(base);
}

fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if let Some(lock) = stale(&path) {
            let _ = registry::end_stale(path, lock);
        }
    }
}

/// Returns the lock on a directory that a kvtrial of this user has left: the directory is named and filled like one, its process is gone, and nobody
/// holds the lock on it (which also shows a process that this process table does not show, as in another container).
fn stale(path: &Path) -> Option<File> {
    let pid = owner(path.file_name()?.to_str()?)?;
    let meta = path.symlink_metadata().ok()?;
    if !meta.is_dir() || meta.uid() != effective_uid() || !is_filled_like_ours(path) {
        return None;
    }
    if pid != std::process::id() && Path::new(&format!("/proc/{pid}")).exists() {
        return None;
    }
    let lock = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path).ok()?;
    lock.try_lock().ok()?;
    Some(lock)
}

/// Returns whether a directory contains only files that a lease makes.
fn is_filled_like_ours(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return false };
    entries.flatten().all(|entry| [STORE, OUTPUT, DISK, CLOCKS].iter().any(|ours| entry.file_name() == *ours))
}

/// Returns the process id in the name of a private directory.
fn owner(name: &str) -> Option<u32> {
    let (pid, random) = name.strip_prefix("kvtrial-")?.split_once('-')?;
    let genuine = random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
    genuine.then(|| pid.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::{Lease, owner, sweep};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;
    use std::process::Command;

    /// The id of a process that has just ended.
    fn dead_pid() -> u32 {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn a_lease_is_private_and_gone_when_dropped() {
        let base = tempfile::tempdir().unwrap();
        let lease = Lease::take(base.path()).unwrap();
        let root = lease.store().parent().unwrap().to_owned();
        assert_eq!(root.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(root.file_name().unwrap().to_str().unwrap().starts_with(&format!("kvtrial-{}-", std::process::id())));
        fs::write(lease.store().join("file"), "x").unwrap();
        drop(lease);
        assert!(!root.exists());
    }

    #[test]
    fn only_directories_whose_kvtrial_is_gone_are_swept() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: String| base.path().join(name);
        let live = Lease::take(base.path()).unwrap();
        let stale = at(format!("kvtrial-{}-AbCd12", dead_pid()));
        let running = at("kvtrial-1-AbCd12".into());
        let filled_otherwise = at(format!("kvtrial-{}-report", dead_pid()));
        let named_otherwise =
            [at(format!("kvtrial-{}-reports", dead_pid())), at("kvtrial-study".into()), at("kvtrial-x-AbCd12".into())];
        let locked = at(format!("kvtrial-{}-Locked", dead_pid()));
        let linked = at(format!("kvtrial-{}-Linked", dead_pid()));
        let file = at(format!("kvtrial-{}-Filefi", dead_pid()));
        for dir in [&stale, &running, &locked].into_iter().chain(&named_otherwise) {
            fs::create_dir_all(dir.join("store/deep")).unwrap();
        }
        fs::create_dir_all(filled_otherwise.join("plots")).unwrap();
        symlink(&named_otherwise[1], &linked).unwrap();
        fs::write(&file, "").unwrap();
        let lock = fs::File::open(&locked).unwrap();
        lock.lock().unwrap();
        sweep(base.path());
        assert!(!stale.exists());
        for kept in [&running, &locked, &linked, &file, &filled_otherwise, &live.store().to_owned()]
            .into_iter()
            .chain(&named_otherwise)
        {
            assert!(kept.exists(), "{} was removed", kept.display());
        }
        // A process that another test starts just now holds the same open file until it is another program.
        lock.unlock().unwrap();
        sweep(base.path());
        assert!(!locked.exists());
    }

    #[test]
    fn a_name_is_a_private_directory_s_only_when_it_is_exactly_one() {
        assert_eq!(owner("kvtrial-42-aB3dEf"), Some(42));
        for name in [
            "kvtrial-42-aB3dE",
            "kvtrial-42-aB3dEf1",
            "kvtrial--aB3dEf",
            "kvtrial-4x-aB3dEf",
            "trial-42-aB3dEf",
            "kvtrial-42-a/3dEf",
        ] {
            assert_eq!(owner(name), None, "{name}");
        }
    }

    #[test]
    fn a_base_that_cannot_be_written_to_is_named_with_the_remedy() {
        for base in ["/proc/kvtrial", "/dev/null"] {
            let error = Lease::take(Path::new(base)).err().unwrap().to_string();
            assert!(error.contains(base) && error.contains("TMPDIR"), "{error}");
        }
    }
}
