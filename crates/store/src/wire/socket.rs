//! One connected stream socket, the few system calls made on it, and the epoll instance that watches many.

use crate::Endpoint;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use study::Address;

/// A blocking read gives up after this time, so that the caller can look at its clock. Set once on the socket: a time limit that is
/// given with each read would cost a system call.
pub(super) const BLOCKING_READ: Duration = Duration::from_millis(20);

/// Reads that must end within this time are waited for with `ppoll`, which is precise; the time limit of a blocking read is rounded
/// up to the kernel's tick of up to 10 ms.
pub(super) const PRECISE_BELOW: Duration = Duration::from_millis(40);

/// Whether a read may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// Take what is there.
    Now,
    /// Wait up to [`BLOCKING_READ`].
    Blocking,
}

/// What a connection is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    /// Bytes to read.
    Read,
    /// Bytes to read, or room to write.
    ReadOrWrite,
}

impl Interest {
    /// The bits of poll and epoll, which are the same.
    fn bits(self) -> i16 {
        match self {
            Interest::Read => libc::POLLIN,
            Interest::ReadOrWrite => libc::POLLIN | libc::POLLOUT,
        }
    }
}

/// A connected socket.
pub(super) struct Socket {
    fd: OwnedFd,
}

impl Socket {
    /// Connects; TCP without delay of small segments.
    pub fn connect(endpoint: &Endpoint, timeout: Duration) -> io::Result<Socket> {
        match &endpoint.address {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(BLOCKING_READ))?;
                Ok(Socket { fd: stream.into() })
            }
            Address::Tcp { host, port } => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
                for address in (host.as_str(), port.unwrap_or(0)).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, timeout) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            stream.set_read_timeout(Some(BLOCKING_READ))?;
                            return Ok(Socket { fd: stream.into() });
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    /// Sends what the kernel takes at once, and says how much that was.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the pointer and the length are those of a live slice; the descriptor is ours and open.
        let sent = unsafe {
            libc::send(self.fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
    }

    /// Receives into a slice; 0 when the other side has closed.
    #[inline]
    pub fn receive(&self, into: &mut [u8], read: Read) -> io::Result<usize> {
        // SAFETY: the pointer and the length are those of a live slice.
        unsafe { self.receive_raw(into.as_mut_ptr(), into.len(), read) }
    }

    /// Receives into the unused capacity of `into`, behind what it holds; 0 when the other side has closed.
    pub fn receive_more(&self, into: &mut Vec<u8>, read: Read) -> io::Result<usize> {
        let spare = into.spare_capacity_mut();
        let (start, room) = (spare.as_mut_ptr(), spare.len());
        debug_assert!(room > 0, "a read into nothing looks like a closed connection");
        // SAFETY: the spare capacity is `room` writable bytes, of which the kernel has filled the first `received`.
        unsafe {
            let received = self.receive_raw(start.cast(), room, read)?;
            into.set_len(into.len() + received);
            Ok(received)
        }
    }

    /// # Safety
    /// `room` bytes from `start` on must be writable.
    #[inline]
    unsafe fn receive_raw(&self, start: *mut u8, room: usize, read: Read) -> io::Result<usize> {
        let flags = match read {
            Read::Now => libc::MSG_DONTWAIT,
            Read::Blocking => 0,
        };
        // SAFETY: what the caller promised; the descriptor is ours and open.
        let received = unsafe { libc::recv(self.fd.as_raw_fd(), start.cast(), room, flags) };
        if received < 0 { Err(io::Error::last_os_error()) } else { Ok(received as usize) }
    }

    /// Waits precisely. Returns whether something can be done; also when the socket broke, which the next call on it will tell.
    pub fn wait(&self, interest: Interest, limit: Duration) -> io::Result<bool> {
        wait(Some(self.fd.as_raw_fd()), interest, limit)
    }
}

/// Sleeps precisely.
pub(super) fn sleep(limit: Duration) -> io::Result<()> {
    wait(None, Interest::Read, limit).map(|_| ())
}

fn wait(fd: Option<RawFd>, interest: Interest, limit: Duration) -> io::Result<bool> {
    let mut polled = libc::pollfd { fd: fd.unwrap_or(-1), events: interest.bits(), revents: 0 };
    let limit = timespec(limit);
    // SAFETY: one pollfd and one timespec, both alive; no signal mask. A negative descriptor is ignored.
    let ready = unsafe { libc::ppoll(&mut polled, 1, &limit, std::ptr::null()) };
    match ready {
        0 => Ok(false),
        1.. => Ok(true),
        _ => interrupted_is_nothing(io::Error::last_os_error()).map(|_| false),
    }
}

/// A signal ends a wait early, which every caller allows.
fn interrupted_is_nothing(error: io::Error) -> io::Result<usize> {
    if error.kind() == io::ErrorKind::Interrupted { Ok(0) } else { Err(error) }
}

fn timespec(time: Duration) -> libc::timespec {
    // A year is as good as for ever, and fits everywhere.
    let seconds = time.as_secs().min(365 * 86_400);
    libc::timespec { tv_sec: seconds as libc::time_t, tv_nsec: libc::c_long::from(time.subsec_nanos() as i32) }
}

/// An epoll instance. Sockets are registered once, level triggered; closing one unregisters it.
pub(super) struct Poller {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
    precision: Precision,
}

/// What the kernel's wait is given its time limit in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    /// `epoll_pwait2` (Linux 5.11).
    Nanoseconds,
    /// `epoll_wait`.
    Milliseconds,
}

/// Reports of one wait.
pub(super) const EVENTS: usize = 256;

impl Poller {
    /// A new instance.
    pub fn new() -> io::Result<Poller> {
        // SAFETY: no memory is passed; the descriptor returned is new and nobody else's.
        let fd = unsafe {
            let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Poller { fd, events: Vec::with_capacity(EVENTS), precision: Precision::Nanoseconds })
    }

    /// Watches a socket for bytes to read, under this number.
    pub fn add(&self, socket: &Socket, number: u32) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, socket, number, Interest::Read)
    }

    /// Changes what a socket is watched for.
    pub fn change(&self, socket: &Socket, number: u32, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, socket, number, interest)
    }

    fn control(&self, action: i32, socket: &Socket, number: u32, interest: Interest) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest.bits() as u32, u64: u64::from(number) };
        // SAFETY: one epoll_event, alive; both descriptors are open.
        let done = unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), action, socket.fd.as_raw_fd(), &mut event) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits, and returns how many sockets there is something to do on. [`ready`](Poller::ready) names them.
    #[inline]
    pub fn wait(&mut self, limit: Duration) -> io::Result<usize> {
        self.events.clear();
        let found = self.wait_raw(limit);
        if found < 0 {
            return self.wait_failed(limit);
        }
        // SAFETY: the kernel has filled this many, at most the capacity it was given.
        unsafe { self.events.set_len(found as usize) };
        Ok(found as usize)
    }

    #[inline]
    fn wait_raw(&mut self, limit: Duration) -> i64 {
        // SAFETY: EVENTS events fit the vector's capacity; the timespec is alive; no signal mask is given (size 8: the kernel's).
        unsafe {
            match self.precision {
                Precision::Nanoseconds => libc::syscall(
                    libc::SYS_epoll_pwait2,
                    self.fd.as_raw_fd(),
                    self.events.as_mut_ptr(),
                    EVENTS as i32,
                    &timespec(limit),
                    std::ptr::null::<libc::sigset_t>(),
                    8usize,
                ),
                Precision::Milliseconds => i64::from(libc::epoll_wait(
                    self.fd.as_raw_fd(),
                    self.events.as_mut_ptr(),
                    EVENTS as i32,
                    i32::try_from(limit.as_millis()).unwrap_or(i32::MAX),
                )),
            }
        }
    }

    #[cold]
    fn wait_failed(&mut self, limit: Duration) -> io::Result<usize> {
        let error = io::Error::last_os_error();
        if error.raw_os_error() == Some(libc::ENOSYS) && self.precision == Precision::Nanoseconds {
            self.precision = Precision::Milliseconds;
            return self.wait(limit);
        }
        interrupted_is_nothing(error)
    }

    /// Report `index` of the last wait.
    #[inline]
    pub fn ready(&self, index: usize) -> Ready {
        let event = self.events[index];
        let writable = event.events & libc::EPOLLOUT as u32;
        Ready { number: event.u64 as u32, readable: event.events != writable, writable: writable != 0 }
    }
}

/// What can be done on a watched socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ready {
    /// The number it was added under.
    pub number: u32,
    /// There are bytes, or the connection has ended, which a read will tell.
    pub readable: bool,
    /// The kernel takes bytes again.
    pub writable: bool,
}

/// Time left until `time`; none when it has passed.
#[inline]
pub(super) fn left(time: Instant) -> Duration {
    time.saturating_duration_since(Instant::now())
}
