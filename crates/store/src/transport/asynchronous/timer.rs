//! A timer finer than tokio's (which ticks in milliseconds): one timerfd per session, set again only when it must fire earlier.

use crate::StoreError;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tokio::io::unix::AsyncFd;

/// A timer that wakes the loop at a time.
pub(super) struct Timer {
    fd: AsyncFd<File>,
    set_for: Option<Instant>,
}

impl Timer {
    /// Makes a timer that is not set; needs the session's runtime around it.
    pub(super) fn new() -> Result<Timer, StoreError> {
        // SAFETY: the call takes no pointers; a descriptor it returns is new and nobody else's.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        if fd < 0 {
            return Err(trouble(std::io::Error::last_os_error()));
        }
        // SAFETY: as above.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        // SAFETY: a `File` keeps its descriptor open, and always the same one, until it is dropped.
        let fd = unsafe { AsyncFd::register_with_interest(file, tokio::io::Interest::READABLE) };
        let fd = fd.map_err(|error| trouble(error.into()))?;
        Ok(Timer { fd, set_for: None })
    }

    /// Notes that the timer has fired, because its waker was woken.
    pub(super) fn fired(&mut self) {
        self.set_for = None;
    }

    /// Returns whether `time` has come; if not, `waker` is woken then (or earlier, and this must be asked again).
    pub(super) fn poll(&mut self, time: Instant, waker: &Waker) -> Result<bool, StoreError> {
        if self.set_for.is_some_and(|set_for| set_for <= time) {
            return Ok(false);
        }
        let now = Instant::now();
        if now >= time {
            return Ok(true);
        }
        self.set(time - now)?;
        self.set_for = Some(time);
        // Forgets what fired before and leaves the waker. Each expiry is a new event, so the expiry count need not be read.
        while let Poll::Ready(ready) = self.fd.poll_read_ready(&mut Context::from_waker(waker)) {
            ready.map_err(trouble)?.clear_ready();
        }
        Ok(false)
    }

    fn set(&self, wait: std::time::Duration) -> Result<(), StoreError> {
        let at = libc::timespec {
            tv_sec: wait.as_secs().min(i32::MAX as u64) as libc::time_t,
            tv_nsec: libc::c_long::from(wait.subsec_nanos().max(1) as i32),
        };
        let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let spec = libc::itimerspec { it_interval: never, it_value: at };
        // SAFETY: `spec` lives through the call; the old value is not asked for.
        let result = unsafe { libc::timerfd_settime(self.fd.as_raw_fd(), 0, &spec, std::ptr::null_mut()) };
        if result == 0 { Ok(()) } else { Err(trouble(std::io::Error::last_os_error())) }
    }
}

fn trouble(error: std::io::Error) -> StoreError {
    StoreError::Session(format!("timer of the driver's runtime: {error}"))
}
