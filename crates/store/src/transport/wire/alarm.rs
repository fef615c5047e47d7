//! A timer that can be watched: a thread that waits for several sessions hears when one of them has something to do though nothing has come.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

/// A timer of the kernel; silent until it is set.
pub(super) struct Alarm {
    fd: OwnedFd,
    set: Option<Instant>,
}

impl Alarm {
    pub fn new() -> io::Result<Alarm> {
        // SAFETY: it takes two numbers and touches no memory.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made, and nobody else has it.
        Ok(Alarm { fd: unsafe { OwnedFd::from_raw_fd(fd) }, set: None })
    }

    /// Sets the timer to this time, or silences it: also when it has gone off.
    #[inline]
    pub fn set(&mut self, time: Option<Instant>) -> io::Result<()> {
        if self.set == time { Ok(()) } else { self.change(time) }
    }

    #[cold]
    fn change(&mut self, time: Option<Instant>) -> io::Result<()> {
        // A time of zero silences it, so what is due goes off in a nanosecond.
        let left = time.map_or(Duration::ZERO, |time| super::socket::left(time).max(Duration::from_nanos(1)));
        let left = libc::timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let setting = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: left };
        // SAFETY: the descriptor is a timer's; the setting lives through the call, the old one is not asked for.
        if unsafe { libc::timerfd_settime(self.fd.as_raw_fd(), 0, &setting, null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        self.set = time;
        Ok(())
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
