//! Every private place of this process, so that all can be ended from anywhere: by their owner, by the signal thread, at exit.
//!
//! Processes are started and reaped under one lock only: no process can start after [`end_all`], and no id is signalled after
//! the kernel may have given it to somebody else.

use crate::process::{self, Exit, Pid};
use crate::tree::{self, Process};
use crate::{clock, guard, mounts, sysv};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The name of a private place while the place lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceId(u64);

struct Entry {
    id: PlaceId,
    root: PathBuf,
    roots: Vec<Pid>,
    /// The lock, held while the place lives: the sign for other kvtrials that the place is not stale.
    _lock: File,
}

struct Registry {
    entries: Vec<Entry>,
    last_id: u64,
    closed: bool,
}

/// The time that killed processes may take to vanish before the directory is removed anyway.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { entries: Vec::new(), last_id: 0, closed: false });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a private place with `make` (which returns the place's directory and the lock on it) and remembers the place.
///
/// # Errors
/// The error of `make`, or that everything has been ended.
pub fn add(make: impl FnOnce() -> io::Result<(PathBuf, File)>) -> io::Result<(PlaceId, PathBuf)> {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| {
        // SAFETY: `at_exit` is a plain function without arguments that lives as long as the program.
        unsafe { libc::atexit(at_exit) };
    });
    let mut registry = registry();
    registry.check_open()?;
    let (root, lock) = make()?;
    guard::watch(&root);
    registry.last_id += 1;
    let id = PlaceId(registry.last_id);
    registry.entries.push(Entry { id, root: root.clone(), roots: Vec::new(), _lock: lock });
    Ok((id, root))
}

/// Starts a process that belongs to a place.
///
/// # Errors
/// The system's error, or that the place has been ended.
pub fn spawn(id: PlaceId, command: Command, cpus: Vec<usize>) -> io::Result<Pid> {
    let mut registry = registry();
    registry.check_open()?;
    let entry = registry.entries.iter_mut().find(|entry| entry.id == id).ok_or_else(ended)?;
    let pid = process::spawn(command, cpus)?;
    entry.roots.push(pid);
    guard::note(pid);
    Ok(pid)
}

/// Clears away a process of a place that has ended.
pub fn forget(id: PlaceId, pid: Pid) {
    if let Some(entry) = registry().entries.iter_mut().find(|entry| entry.id == id) {
        process::reap(pid);
        guard::forget(pid);
        entry.roots.retain(|root| *root != pid);
    }
}

/// Takes in a process that somebody else has started, and reaps.
pub fn adopt(id: PlaceId, pid: Pid) {
    if let Some(entry) = registry().entries.iter_mut().find(|entry| entry.id == id) {
        entry.roots.push(pid);
    }
}

/// Gives such a process up again: its id may soon belong to another process.
pub fn disown(id: PlaceId, pid: Pid) {
    if let Some(entry) = registry().entries.iter_mut().find(|entry| entry.id == id) {
        entry.roots.retain(|root| *root != pid);
    }
}

/// Returns the processes that belong to a place now.
pub fn members(id: PlaceId) -> Vec<Process> {
    let found =
        registry().entries.iter().find(|entry| entry.id == id).map(|entry| (entry.roots.clone(), entry.root.clone()));
    found.map_or_else(Vec::new, |(roots, root)| tree::members(&tree::processes(), &roots, &root))
}

/// Kills the processes that still run in a place and removes its directory. Does nothing the second time.
///
/// # Errors
/// The files that could not be removed.
pub fn end(id: PlaceId) -> io::Result<()> {
    let mut registry = registry();
    let Some(at) = registry.entries.iter().position(|entry| entry.id == id) else { return Ok(()) };
    let entry = registry.entries.swap_remove(at);
    entry.end(registry.entries.is_empty())
}

/// Kills the processes that still run in a place and leaves its directory where it is, with a file of this name and text in it, so that no kvtrial
/// takes the directory for one that was left behind.
///
/// # Errors
/// The file could not be written; then the place is ended later, as any other.
pub fn keep(id: PlaceId, name: &str, text: &str) -> io::Result<()> {
    let mut registry = registry();
    let Some(at) = registry.entries.iter().position(|entry| entry.id == id) else { return Ok(()) };
    fs::write(registry.entries[at].root.join(name), text)?;
    let entry = registry.entries.swap_remove(at);
    guard::keep(&entry.root);
    entry.kill_all(registry.entries.is_empty());
    mounts::release(&entry.root);
    Ok(())
}

/// Kills the private servers of this process and removes every private directory; none can be made afterwards. For the end of the program: kvtrial
/// also does this on interruption, and when the process exits.
pub fn end_all() {
    let mut registry = registry();
    registry.closed = true;
    while let Some(entry) = registry.entries.pop() {
        // Nobody is left to be told.
        let _ = entry.end(registry.entries.is_empty());
    }
}

extern "C" fn at_exit() {
    end_all();
}

/// Kills the processes that a dead kvtrial left in a place, and removes its directory.
///
/// # Errors
/// The files that could not be removed.
pub fn end_stale(root: PathBuf, lock: File) -> io::Result<()> {
    let roots = tree::marked(&tree::processes(), &root);
    Entry { id: PlaceId(0), root, roots, _lock: lock }.end(false)
}

fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "kvtrial is ending")
}

impl Registry {
    fn check_open(&self) -> io::Result<()> {
        if self.closed { Err(ended()) } else { Ok(()) }
    }
}

impl Entry {
    fn end(self, last: bool) -> io::Result<()> {
        self.kill_all(last);
        mounts::release(&self.root);
        remove(&self.root)
    }

    /// `last`: no other place lives, so that an orphan can only be of this one.
    fn kill_all(&self, last: bool) {
        let deadline = Instant::now() + KILL_TIMEOUT;
        let mut roots = self.roots.clone();
        loop {
            let all = tree::processes();
            let mut members = tree::members(&all, &roots, &self.root);
            // The dead of others are theirs to bury.
            members.retain(|member| member.state != b'Z' || member.is_ours());
            if last {
                members.extend(all.into_iter().filter(is_adopted_orphan));
            }
            for member in &members {
                if member.state == b'Z' {
                    process::reap(member.pid);
                } else {
                    // Its children may become orphans in another session: they are found by their parent now or never.
                    roots.push(member.pid);
                    member.kill();
                }
            }
            let roots_gone = self.roots.iter().all(|root| process::exit_of(*root) == Some(Exit::Gone));
            if (members.is_empty() && roots_gone) || Instant::now() > deadline {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        sysv::remove_made_by(&roots);
        clock::remove_shared(&roots);
        self.roots.iter().for_each(|root| guard::forget(*root));
    }
}

/// Returns whether this is a process of a private server, in a session of its own, that became our child because its parent ended. What became our
/// child because the user's own command put it into the background is the user's.
fn is_adopted_orphan(process: &Process) -> bool {
    // SAFETY: getsid touches no memory.
    let own_session = unsafe { libc::getsid(0) };
    process.is_ours() && process.session != own_session && process.is_signed()
}

/// Removes a directory, and removes it again when a dying process has just made another file in it.
fn remove(root: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        match fs::remove_dir_all(root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty && tries < 5 => tries += 1,
            result => return result,
        }
    }
}
