//! Processes of kvtrial's own that do its work: a fork server, and the workers it forks.
//!
//! The fork server is this program once more, with one thread. It reads what trials need, and forks a worker for each trial: that
//! shares the memory, takes a millisecond, and gives each trial a heap nobody has used before it. A worker that dies (of SIGBUS, of
//! the system's lack of memory, of an abort in a library) takes nobody with it. Both are killed by the kernel when the process that began them
//! ends in whatever way; both are in a process group of their own, so that what is typed at the terminal does not reach them.

use crate::channel::{self, Receiver, Sender};
use crate::last_words::Words;
use crate::process::{self, Exit, Pid, signal};
use std::fs;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::Duration;
use store::CommandLine;

/// The number by which the system takes a worker sooner than others when memory runs out (0: as soon as others, 1000: first of all).
const OOM_SCORE: &str = "700";

/// The time that the fork server may take to end when nobody needs it any more.
const FAREWELL: Duration = Duration::from_secs(1);

/// The fork server, seen from outside.
pub struct ForkServer {
    pid: Pid,
    words: Words,
    ends: Option<(Sender, Receiver)>,
}

impl ForkServer {
    /// Starts the fork server with this command line, which leads to [`inside`].
    ///
    /// # Errors
    /// The system's error.
    pub fn start(line: &CommandLine) -> io::Result<ForkServer> {
        let words = Words::new()?;
        let (ours, theirs) = channel::pair()?;
        let mut command = Command::new(&line.program);
        command.args(&line.args).stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(words.output()?);
        let pid = process::spawn_helper(command)?;
        Ok(ForkServer { pid, words, ends: Some(channel::ends(ours)) })
    }

    /// Returns the sender to the fork server, or to the worker that is at work.
    pub fn sender(&self) -> Option<&Sender> {
        self.ends.as_ref().map(|ends| &ends.0)
    }

    /// Returns the receiver from the fork server, or from the worker that is at work.
    pub fn receiver(&mut self) -> Option<&mut Receiver> {
        self.ends.as_mut().map(|ends| &mut ends.1)
    }

    /// Returns how the fork server ended, if it has, and its last words.
    pub fn exit(&self) -> Option<(Exit, String)> {
        process::exit_of(self.pid).map(|exit| (exit, self.words.last()))
    }
}

impl Drop for ForkServer {
    /// The end of the channel is its sign to end.
    fn drop(&mut self) {
        self.ends = None;
        process::see_off(self.pid, FAREWELL);
    }
}

/// Notes that a worker whose fork server is gone has ended; it has become a child of this process then.
pub fn reap(pid: Pid) {
    process::reap(pid);
}

/// Kills a worker at once. Its id is not given to another process until the fork server gets its next command.
pub fn kill(pid: Pid) {
    signal(pid, libc::SIGKILL);
}

/// Returns the fork server's ends of the channel, which is its standard input.
pub fn inside() -> (Sender, Receiver) {
    // SAFETY: standard input was handed over by `ForkServer::start` and nobody else in this process uses it.
    channel::ends(unsafe { OwnedFd::from_raw_fd(libc::STDIN_FILENO) })
}

/// A worker, seen from the fork server.
pub struct Forked {
    pid: Pid,
    words: Words,
}

impl Forked {
    /// Forks a worker, which does `work` and ends with the status that `work` returns. Only a process with one thread may call this: another thread
    /// could hold a lock that nobody frees in the worker.
    ///
    /// # Errors
    /// The system's error, such as too little memory or too many processes.
    pub fn fork(work: impl FnOnce() -> i32) -> io::Result<Forked> {
        let words = Words::new()?;
        let fork_server = std::process::id().cast_signed();
        // SAFETY: this process has one thread, so the child finds no lock held by a thread it does not have.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                become_worker(fork_server, &words);
                let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(PANICKED);
                // SAFETY: ends the process at once: what libraries do at exit is none of a trial's.
                unsafe { libc::_exit(status) }
            }
            pid => Ok(Forked { pid, words }),
        }
    }

    /// Waits until the worker ends, and returns its exit and last words. Its id is not given to another process until this is dropped.
    pub fn wait(&self) -> (Exit, String) {
        loop {
            // SAFETY: siginfo_t is plain data for which all zeros is valid; waitid only writes into it. The dead stays a zombie.
            let result = unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                libc::waitid(libc::P_PID, self.pid.unsigned_abs(), &mut info, libc::WEXITED | libc::WNOWAIT)
            };
            if result == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return (process::exit_of(self.pid).unwrap_or(Exit::Gone), self.words.last());
            }
        }
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        process::reap(self.pid);
    }
}

/// The status of a worker that panicked, the same as Rust's.
const PANICKED: i32 = 101;

/// Does the first steps of a process that was just forked.
fn become_worker(fork_server: Pid, words: &Words) {
    // SAFETY: these calls only change this process: it ends with its parent; a file that may not grow is a refused write, not a
    // signal, however the fork server was started; a crash leaves no core file (writing one of a large store takes minutes); output goes into
    // `words`.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != fork_server {
            libc::_exit(0); // it has ended meanwhile
        }
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
        libc::dup2(words.descriptor(), libc::STDOUT_FILENO);
        libc::dup2(words.descriptor(), libc::STDERR_FILENO);
    }
    // Where it may not, it is taken as soon as others are.
    let _ = fs::write("/proc/self/oom_score_adj", OOM_SCORE);
}
