//! One node of a running deployment: its processes, from its start to its end.

use crate::interrupt;
use crate::log::Logs;
use crate::process::{Exit, Pid, exit_of, signal};
use crate::tree::{self, Process};
use crate::user::User;
use std::fmt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use study::ServerUse;

/// The time a server may take to end when it is asked to.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The time a server may take to end when the user waits.
const INTERRUPTED_STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The time that processes may take to end or freeze after a signal.
const SIGNAL_TIMEOUT: Duration = Duration::from_secs(5);

/// A node that was started.
pub struct Running {
    /// The node as it was planned.
    pub node: store::Node,
    /// The node's own directory.
    pub directory: PathBuf,
    /// The file for the node's output.
    pub output: PathBuf,
    /// The node's logs.
    pub logs: Logs,
    /// The user who runs the node; `None`: the user of kvtrial.
    pub user: Option<User>,
    /// The present state of the node.
    pub life: Life,
    /// The resources that the node's earlier lives have used.
    pub spent: ServerUse,
    /// How far its time of day is ahead of the machine's, in milliseconds; negative where it is behind.
    pub clock_ms: i64,
}

/// The state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The node runs, or has ended by itself.
    Runs(Pid),
    /// The node was frozen.
    Frozen(Pid),
    /// The node was stopped or killed.
    Down,
}

impl Life {
    /// Returns the process of the node's program; `None` when it was taken down.
    pub fn pid(self) -> Option<Pid> {
        match self {
            Life::Runs(pid) | Life::Frozen(pid) => Some(pid),
            Life::Down => None,
        }
    }
}

impl Running {
    /// Returns the resources the node has used in all its lives.
    pub fn usage(&self) -> ServerUse {
        let now = self.life.pid().map_or_else(ServerUse::default, |pid| tree::usage(&of(pid)));
        ServerUse {
            cpu_s: self.spent.cpu_s + now.cpu_s,
            peak_rss_bytes: self.spent.peak_rss_bytes.max(now.peak_rss_bytes),
        }
    }

    /// Returns how the node ended, when nobody has ended it.
    pub fn fallen(&self) -> Option<Fallen> {
        let exit = exit_of(self.life.pid()?)?;
        Some(Fallen { node: self.node.name.clone(), exit, log_end: self.logs.quote(), memory_limit_bytes: None })
    }
}

/// A node that ended though nobody has ended it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallen {
    /// The name of the node; empty for a single node.
    pub node: String,
    /// The way in which the node ended.
    pub exit: Exit,
    /// The end of the node's log, ready to follow a message (`; its log ends: …`); empty when there is none.
    pub log_end: String,
    /// The bound of the node's memory for which the kernel killed it, in bytes; `None`: it ended in another way.
    pub memory_limit_bytes: Option<u64>,
}

impl fmt::Display for Fallen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node.as_str() {
            "" => write!(f, "{}", self.exit)?,
            node => write!(f, "{node} {}", self.exit)?,
        }
        match self.memory_limit_bytes {
            Some(bytes) => write!(f, ", because it needed more memory than the {} MiB it may take", bytes >> 20),
            None => Ok(()),
        }
    }
}

/// Returns the processes of the node whose program this is.
pub fn of(pid: Pid) -> Vec<Process> {
    tree::descent(&tree::processes(), &[pid])
}

/// Stops all processes of a node where they are, and returns when they have stopped.
pub fn freeze(pid: Pid) {
    until(SIGNAL_TIMEOUT, || {
        let going: Vec<Process> = of(pid).into_iter().filter(Process::goes_on).collect();
        going.iter().for_each(|process| signal(process.pid, libc::SIGSTOP));
        going.is_empty()
    });
}

/// Lets all processes of a node continue.
pub fn thaw(pid: Pid) {
    of(pid).iter().for_each(|process| signal(process.pid, libc::SIGCONT));
}

/// Kills all processes of a node, and returns when they have ended. The id of the node's program is not given to another process.
pub fn kill(pid: Pid) {
    kill_found(vec![pid], tree::descent);
}

/// Kills all processes of the nodes below a directory, also processes whose parents have just died, and returns when they have ended. The result is
/// the moment before the first process was killed.
pub fn kill_below(directory: &Path, programs: &[Pid]) -> Instant {
    kill_found(programs.to_vec(), |all, known| tree::members(all, known, directory))
}

fn kill_found(mut known: Vec<Pid>, find: impl Fn(&[Process], &[Pid]) -> Vec<Process>) -> Instant {
    let mut begun = None;
    until(SIGNAL_TIMEOUT, || {
        let mut living = find(&tree::processes(), &known);
        living.retain(|process| process.state != b'Z');
        begun.get_or_insert_with(Instant::now);
        living.iter().for_each(Process::kill);
        // A process of PostgreSQL leads a session of its own: once its parent is dead, nothing says any more whose it is.
        known.extend(living.iter().map(|process| process.pid));
        living.is_empty()
    });
    begun.unwrap_or_else(Instant::now)
}

/// Asks nodes to end, and waits until they have ended, or for as long as a server may take.
pub fn ask_to_end(nodes: &[(Pid, i32)]) {
    let living: Vec<(Pid, i32)> = nodes.iter().copied().filter(|(pid, _)| exit_of(*pid).is_none()).collect();
    living.iter().for_each(|(pid, stop_signal)| signal(*pid, *stop_signal));
    let begun = Instant::now();
    while living.iter().any(|(pid, _)| exit_of(*pid).is_none()) {
        let timeout = if interrupt::requested() { INTERRUPTED_STOP_TIMEOUT } else { STOP_TIMEOUT };
        if begun.elapsed() >= timeout {
            return;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn until(timeout: Duration, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() && begun.elapsed() < timeout {
        thread::sleep(Duration::from_millis(2));
    }
}
