//! The side of a process that is recorded: it asks the kernel to report its calls, and gives who hears them the means to.

use super::SOCKET;
use super::call::{ArgumentBits, REFUSED, noted};
use libc::sock_filter;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Returns whether what processes do to the files of a store is recorded; its disk is in this directory.
pub fn is_recorded(disk: &Path) -> bool {
    disk.join(SOCKET).exists()
}

/// Has a command recorded, with all that it starts, where its store is.
///
/// # Errors
/// Nobody hears its calls.
pub fn hold(command: &mut Command, disk: &Path) -> io::Result<()> {
    if !is_recorded(disk) {
        return Ok(());
    }
    let (program, recorder) = (program(), UnixStream::connect(disk.join(SOCKET))?);
    // SAFETY: the closure runs between fork and exec; it makes system calls only, and allocates nothing.
    unsafe { command.pre_exec(move || report(&program, &recorder)) };
    Ok(())
}

/// Has this thread recorded, with those that it starts from now on, where its store is. One that is already stays so.
///
/// # Errors
/// The kernel cannot report its calls, or nobody hears them.
pub fn enter(disk: &Path) -> io::Result<()> {
    if !is_recorded(disk) {
        return Ok(());
    }
    match report(&program(), &UnixStream::connect(disk.join(SOCKET))?) {
        // One that reports its calls cannot report them twice.
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(()),
        reported => reported,
    }
}

/// Has the kernel report the calls of this thread to who is at the other end.
fn report(program: &[sock_filter], recorder: &UnixStream) -> io::Result<()> {
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: the kernel reads the program, which outlives the call, and gives out a new descriptor, which is ours to close.
    unsafe {
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        let listen = |flags: libc::c_ulong| {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const filter)
        };
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        // A call that is reported is not begun again by a signal; kernels before 5.19 do not know how.
        let calls = match listen(flags | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
            -1 if io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) => listen(flags),
            calls => calls,
        };
        if calls < 0 {
            return Err(io::Error::last_os_error());
        }
        let sent = send(recorder.as_raw_fd(), calls as RawFd);
        libc::close(calls as RawFd);
        sent
    }
}

/// Sends a descriptor (unix(7), `SCM_RIGHTS`).
fn send(to: RawFd, descriptor: RawFd) -> io::Result<()> {
    let mut byte = 0_u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut control = [0_u64; 4];
    // SAFETY: all that the message points to lives until it is sent; the control buffer is aligned, and longer than the one header in it.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(descriptor);
        libc::sendmsg(to, &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The machine's number in a report (linux/audit.h).
#[cfg(target_arch = "x86_64")]
const MACHINE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const MACHINE: u32 = 0xC000_00B7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: u32 = 0;

/// Where a report has the number of the call, the machine's number, and the arguments.
const NUMBER: u32 = 0;
const MACHINE_AT: u32 = 4;
const ARGUMENTS: u32 = 16;

const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;

fn step(code: u32, value: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k: value }
}

fn load(at: u32) -> sock_filter {
    step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at)
}

fn end(value: u32) -> sock_filter {
    step(libc::BPF_RET | libc::BPF_K, value)
}

/// Skips the first number of steps if the last value loaded is this one, else the second.
fn skip_if(test: u32, value: u32, if_true: usize, if_false: usize) -> sock_filter {
    let code = libc::BPF_JMP | test | libc::BPF_K;
    sock_filter { code: code as u16, jt: if_true as u8, jf: if_false as u8, k: value }
}

/// Makes the program by which the kernel decides what it reports (seccomp(2)).
fn program() -> Vec<sock_filter> {
    let mut steps = vec![load(MACHINE_AT), skip_if(libc::BPF_JEQ, MACHINE, 1, 0), end(ALLOWED), load(NUMBER)];
    let mut rule = |number: libc::c_long, conditions: &[ArgumentBits], then: u32| {
        let unless = |(at, bits): &ArgumentBits| {
            let argument = load(ARGUMENTS + 8 * *at as u32);
            [argument, skip_if(libc::BPF_JSET, *bits, 1, 0), end(ALLOWED)]
        };
        let body: Vec<_> = conditions.iter().flat_map(unless).chain([end(then)]).collect();
        steps.push(skip_if(libc::BPF_JEQ, number as u32, 0, body.len()));
        steps.extend(body);
    };
    REFUSED.iter().for_each(|number| rule(*number, &[], libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32));
    noted().iter().for_each(|(number, conditions)| rule(*number, conditions, libc::SECCOMP_RET_USER_NOTIF));
    steps.push(end(ALLOWED));
    steps
}
