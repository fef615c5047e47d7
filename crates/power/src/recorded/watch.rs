//! The side of the recorder: it hears each call before it is carried out.

use super::call::{Call, CallFate};
use libc::{seccomp_notif, seccomp_notif_resp};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// Receives the descriptor by which the calls of a process are heard.
///
/// # Errors
/// It sent none.
pub fn receive(process: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = 0_u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut control = [0_u64; 4];
    // SAFETY: the kernel writes into buffers that outlive the call, and no more than these hold; a descriptor that comes is ours alone.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        if libc::recvmsg(process.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) != 1 {
            return Err(io::Error::last_os_error());
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()))
    }
}

/// Hears the calls of a process and of those that it starts, each with the thread that makes it, until the last of them has ended. What
/// becomes of each is decided when it is noted.
pub fn hear(calls: &OwnedFd, note: &mut dyn FnMut(u32, Call) -> CallFate) {
    while is_next(calls) {
        // SAFETY: it is plain data for which all zeros is valid; the kernel demands these.
        let mut reported: seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel writes one report.
        if unsafe { libc::ioctl(calls.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut reported) } != 0 {
            match io::Error::last_os_error().raw_os_error() {
                // It has ended meanwhile.
                Some(libc::EINTR | libc::ENOENT) => continue,
                _ => return,
            }
        }
        let flags = match note(reported.pid, Call::of(&reported.data)) {
            CallFate::CarriedOut => libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
            CallFate::Returns => 0,
        };
        let mut go_on = seccomp_notif_resp { id: reported.id, val: 0, error: 0, flags };
        // SAFETY: the kernel reads one answer. To a thread that has ended there is none.
        unsafe { libc::ioctl(calls.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut go_on) };
    }
}

/// Waits for a call; `false`: nobody is left who could make one.
fn is_next(calls: &OwnedFd) -> bool {
    let mut awaited = libc::pollfd { fd: calls.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    loop {
        // SAFETY: the kernel writes into the one entry.
        let ready = unsafe { libc::poll(&raw mut awaited, 1, -1) };
        if ready == 1 {
            return awaited.revents & libc::POLLIN != 0;
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return false;
        }
    }
}
