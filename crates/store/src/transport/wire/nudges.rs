//! Ends waits that take long, so that a waiting thread can look at its clock.
//!
//! A time limit would do the same, but the kernel sets and clears a timer for it in every call that has to wait: half a microsecond of the seven that
//! an operation of one client takes. One periodic timer per session costs nothing in between.

use std::io;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::time::Duration;

/// The time between two interruptions of waits. A nudge that comes just before a wait is lost; the next one ends the wait.
pub(super) const NUDGE_EVERY: Duration = Duration::from_millis(20);

/// The signal, which is ignored where there is no handler for it.
const SIGNAL: libc::c_int = libc::SIGURG;

/// The interruptions of system calls in the thread that made them, every [`NUDGE_EVERY`], until dropped.
pub(super) struct Nudges {
    timer: libc::timer_t,
    /// A wait on another thread would not be nudged.
    not_send: PhantomData<*const ()>,
}

impl Nudges {
    /// Makes nudges for this thread.
    pub fn for_this_thread() -> io::Result<Nudges> {
        install_handler()?;
        unblock()?;
        let mut timer = null_mut();
        // SAFETY: sigevent is plain data for which all zeros is valid; gettid has no requirements; both pointers live through the call.
        let made = unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = SIGNAL;
            event.sigev_notify_thread_id = libc::gettid();
            libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer)
        };
        if made != 0 {
            return Err(io::Error::last_os_error());
        }
        let nudges = Nudges { timer, not_send: PhantomData };
        let every = libc::timespec { tv_sec: 0, tv_nsec: NUDGE_EVERY.as_nanos() as i64 };
        let setting = libc::itimerspec { it_interval: every, it_value: every };
        // SAFETY: the timer was just made; the setting lives through the call, the old one is not asked for.
        match unsafe { libc::timer_settime(nudges.timer, 0, &setting, null_mut()) } {
            0 => Ok(nudges),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Nudges {
    fn drop(&mut self) {
        // SAFETY: the timer was made by this value and is deleted once. A signal already on its way finds the handler, which stays.
        unsafe { libc::timer_delete(self.timer) };
    }
}

/// Installs a handler that does nothing. Without SA_RESTART it still ends the call it interrupts.
fn install_handler() -> io::Result<()> {
    extern "C" fn nothing(_: libc::c_int) {}
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: sigaction is plain data for which all zeros is valid (no flags, an empty mask); the handler touches nothing, so it may run
    // at any time; the old action is not asked for.
    let installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        libc::sigaction(SIGNAL, &action, null_mut())
    };
    if installed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Unblocks the signal: the parent of this process may have blocked it, and a nudge that is blocked ends nothing.
fn unblock() -> io::Result<()> {
    // SAFETY: sigset_t is plain data that sigemptyset makes an empty set; both pointers live through the calls, the old mask is not
    // asked for.
    let error = unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut signals);
        libc::sigaddset(&mut signals, SIGNAL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &signals, null_mut())
    };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

#[cfg(test)]
mod tests {
    use super::super::socket::Socket;
    use super::Nudges;
    use crate::Endpoint;
    use std::io::{ErrorKind, Read};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::time::{Duration, Instant};

    #[test]
    fn a_read_that_waits_for_ever_is_ended_again_and_again_also_where_the_signal_was_blocked() {
        let (mut here, there) = UnixStream::pair().unwrap();
        // SAFETY: a set of this one signal, blocked for this thread as another program may have done.
        unsafe {
            let mut signals: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&mut signals, libc::SIGURG);
            libc::pthread_sigmask(libc::SIG_BLOCK, &signals, std::ptr::null_mut());
        }
        let _nudges = Nudges::for_this_thread().unwrap();
        for _ in 0..3 {
            assert_eq!(here.read(&mut [0]).unwrap_err().kind(), ErrorKind::Interrupted);
        }
        drop(there);
        assert_eq!(here.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_server_that_takes_nobody_is_not_waited_for_longer_than_was_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let _nudges = Nudges::for_this_thread().unwrap();
        let connect = || Socket::connect(&Endpoint::unix(&path), Duration::from_millis(100));
        let _waits = connect().unwrap();
        let begin = Instant::now();
        let refused = connect().err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::Interrupted);
        assert!((100..2000).contains(&begin.elapsed().as_millis()), "{:?}", begin.elapsed());
    }
}
