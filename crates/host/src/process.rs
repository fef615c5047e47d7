//! One child process: how it is started, and how it ended.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

/// A process id as the kernel counts them.
pub type Pid = libc::pid_t;

/// The way in which a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// The process ended by itself, with this status.
    Status(i32),
    /// The process was ended by this signal.
    Signal(i32),
    /// The process was cleared away already.
    Gone,
}

impl Exit {
    /// Returns whether the process was ended by SIGKILL, which the system sends when memory runs out.
    pub fn was_killed(self) -> bool {
        self == Exit::Signal(libc::SIGKILL)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Status(status) => write!(f, "ended with status {status}"),
            Exit::Signal(signal) => match name(*signal) {
                "" => write!(f, "was ended by signal {signal}"),
                name => write!(f, "was ended by signal {signal} ({name})"),
            },
            Exit::Gone => f.write_str("is gone"),
        }
    }
}

/// Returns the name of a signal that ends processes.
fn name(signal: i32) -> &'static str {
    match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => "",
    }
}

/// Returns how a child has ended, if it has. The child stays a zombie, so that its id is not given to another process before [`reap`] is called.
pub fn exit_of(pid: Pid) -> Option<Exit> {
    // SAFETY: siginfo_t is plain data for which all zeros is valid; waitid only writes into it.
    let (result, info) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let result =
            libc::waitid(libc::P_PID, pid.unsigned_abs(), &mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT);
        (result, info)
    };
    if result != 0 {
        return Some(Exit::Gone);
    }
    // SAFETY: waitid has filled the fields of a child's siginfo (or left them zero: still running).
    let (child, status) = unsafe { (info.si_pid(), info.si_status()) };
    match (child, info.si_code) {
        (0, _) => None,
        (_, libc::CLD_EXITED) => Some(Exit::Status(status)),
        _ => Some(Exit::Signal(status)),
    }
}

/// Waits until a child that was asked to end has, kills it when that takes longer, and reaps it.
pub fn see_off(pid: Pid, farewell: Duration) {
    let begun = Instant::now();
    while exit_of(pid).is_none() {
        if begun.elapsed() > farewell {
            signal(pid, libc::SIGKILL);
        }
        thread::sleep(Duration::from_millis(1));
    }
    reap(pid);
}

/// Takes a child that has ended out of the process table; does nothing to any other process.
pub fn reap(pid: Pid) {
    // SAFETY: waitpid accepts a null status and touches no memory of ours.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) };
}

/// Sends a signal to a process, or with a negative id to its group. A process that is gone is no error. The id 0 gets no signal, because to the
/// system it is kvtrial's own group.
pub fn signal(pid: Pid, signal: i32) {
    if pid != 0 {
        // SAFETY: kill touches no memory.
        unsafe { libc::kill(pid, signal) };
    }
}

/// The number of open files that a process is allowed, where the system lets us: enough for any number of clients, and few enough that no server
/// makes tables of that length.
const OPEN_FILES: libc::rlim_t = 65_536;

/// Raises the number of files (and so connections) this process and its children may have open, as far as the system lets us.
/// A login usually begins with 1,024.
pub fn raise_open_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls only touch `limit`; they may be made between fork and exec.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < OPEN_FILES.min(limit.rlim_max) {
            limit.rlim_cur = OPEN_FILES.min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// The sign of a private server's processes: the microseconds that they may compute without waiting where they are scheduled in real time, 958 years.
/// Nobody else has this limit, and a process hands it on whatever becomes of its environment, its session and its directory.
pub const SIGN_US: libc::rlim_t = 0x006b_7674_7269_616c;

/// Gives this process the sign, where the system lets us.
fn sign() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls only touch `limit`; they may be made between fork and exec.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_RTTIME, &mut limit) == 0 && SIGN_US <= limit.rlim_max {
            limit.rlim_cur = SIGN_US;
            libc::setrlimit(libc::RLIMIT_RTTIME, &limit);
        }
    }
}

/// Starts a program in a session of its own, with a high limit of open files and the sign. The kernel kills the program when kvtrial ends, however that happens.
///
/// # Errors
/// The system's error, e.g. when the program does not exist.
pub fn spawn(mut command: Command, cpus: Vec<usize>) -> io::Result<Pid> {
    // SAFETY: the closure runs between fork and exec; it only makes system calls and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            if libc::setsid() == -1 {
                return Err(io::Error::last_os_error());
            }
            raise_open_files();
            sign();
            if cpus.is_empty() { Ok(()) } else { crate::affinity::pin_thread(&cpus) }
        })
    };
    spawn_bound(command)
}

/// Starts a program of kvtrial's own, in a process group of its own. The program ends as programs of [`spawn`] do; it is no server, so it stays in
/// kvtrial's session.
///
/// # Errors
/// The system's error.
pub fn spawn_helper(mut command: Command) -> io::Result<Pid> {
    command.process_group(0);
    spawn_bound(command)
}

/// Starts a program that is killed when kvtrial ends.
fn spawn_bound(mut command: Command) -> io::Result<Pid> {
    let parent = std::process::id();
    // SAFETY: the closure runs between fork and exec; it only makes system calls and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1 {
                return Err(io::Error::last_os_error());
            }
            if libc::getppid().unsigned_abs() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        })
    };
    let (reply, answer) = mpsc::sync_channel(1);
    let gone = || io::Error::other("the thread that starts processes is gone");
    spawner()?.send(Request { command, reply }).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}

struct Request {
    command: Command,
    reply: SyncSender<io::Result<Pid>>,
}

/// Returns the thread that starts all children. A child is killed when the *thread* that started it ends, so this thread never ends.
fn spawner() -> io::Result<&'static Sender<Request>> {
    static SPAWNER: OnceLock<io::Result<Sender<Request>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        // SAFETY: prctl with these arguments touches no memory. Descendants whose parent ends become our children, so that
        // a server that puts itself into the background is still found.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        let (sender, requests) = mpsc::channel::<Request>();
        thread::Builder::new().name("spawner".into()).spawn(move || {
            for mut request in requests {
                let pid = request.command.spawn().map(|child| child.id().cast_signed());
                let _ = request.reply.send(pid);
            }
        })?;
        Ok(sender)
    });
    spawner.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::signal;

    #[test]
    fn nobody_is_killed_where_no_process_is_known() {
        // SAFETY: the child makes system calls only, in a session of its own.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as above.
            unsafe {
                libc::setsid();
                signal(0, libc::SIGKILL);
                libc::_exit(7);
            }
        }
        let mut status = 0;
        // SAFETY: the child is ours and not yet waited for.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status}");
    }
}
