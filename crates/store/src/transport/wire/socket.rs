//! One connected stream socket, the few system calls made on it, and the epoll instance that watches many.

#[cfg(feature = "tls")]
use super::secret::Secret;
use crate::Endpoint;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::net::{self, RecvFlags, SendFlags, recv};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use study::Address;

/// The time below which a wait gets a limit; a longer wait ends at the next nudge.
pub(crate) const PRECISE_BELOW: Duration = Duration::from_millis(40);

/// The patience of a read: whether it may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// The read takes the bytes that are there.
    Now,
    /// The read waits for some bytes, until the next of the session's [`Nudges`](super::nudges::Nudges).
    Blocking,
}

/// The event that a connection is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Bytes to read.
    Read,
    /// Bytes to read, or room to write.
    ReadOrWrite,
}

/// The result of beginning to connect.
pub(crate) enum Begun {
    /// The connection is up.
    Connected(Socket),
    /// The kernel is connecting: the socket becomes writable at the end, see [`Socket::finish`].
    Connecting(Socket),
    /// A name has to be looked up, or a handshake follows.
    WouldWait,
}

/// A connected socket.
pub(crate) struct Socket {
    fd: OwnedFd,
    #[cfg(feature = "tls")]
    secret: Option<Box<Secret>>,
}

impl Socket {
    /// Connects to an endpoint; TCP without delay of small segments.
    pub fn connect(endpoint: &Endpoint, timeout: Duration) -> io::Result<Socket> {
        match &endpoint.address {
            Address::Unix(path) => {
                // While the server's queue is full it waits, until it is nudged.
                let begin = Instant::now();
                let stream = loop {
                    match UnixStream::connect(path) {
                        Err(error) if error.kind() == io::ErrorKind::Interrupted && begin.elapsed() < timeout => {}
                        connected => break connected?,
                    }
                };
                Ok(Socket::plain(stream))
            }
            Address::Tcp { host, port } => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
                for address in (host.as_str(), port.unwrap_or(0)).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, timeout) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            #[cfg(feature = "tls")]
                            let secret = Secret::agreed(endpoint, &stream, timeout)?;
                            return Ok(Socket {
                                #[cfg(feature = "tls")]
                                secret,
                                ..Socket::plain(stream)
                            });
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    /// Begins to connect, without waiting.
    pub fn start(endpoint: &Endpoint) -> io::Result<Begun> {
        let flags = net::SocketFlags::CLOEXEC | net::SocketFlags::NONBLOCK;
        let open = |family| net::socket_with(family, net::SocketType::STREAM, flags, None);
        let (fd, begun) = match &endpoint.address {
            Address::Unix(path) => {
                let fd = open(net::AddressFamily::UNIX)?;
                let begun = net::connect(&fd, &net::SocketAddrUnix::new(path)?);
                (fd, begun)
            }
            Address::Tcp { host, port } => {
                let Some(ip) = host.parse::<IpAddr>().ok().filter(|_| endpoint.tls.is_none()) else {
                    return Ok(Begun::WouldWait);
                };
                let fd = open(if ip.is_ipv4() { net::AddressFamily::INET } else { net::AddressFamily::INET6 })?;
                net::sockopt::set_tcp_nodelay(&fd, true)?;
                let begun = net::connect(&fd, &SocketAddr::new(ip, port.unwrap_or(0)));
                (fd, begun)
            }
        };
        let socket = Socket::plain(fd);
        match begun {
            Ok(()) => socket.block().map(|()| Begun::Connected(socket)),
            Err(rustix::io::Errno::INPROGRESS) => Ok(Begun::Connecting(socket)),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether the connection that was begun is up by now.
    pub fn finish(&self) -> io::Result<bool> {
        let mut polled = [PollFd::new(&self.fd, PollFlags::OUT)];
        if !wait(&mut polled, Duration::ZERO)? {
            return Ok(false);
        }
        net::sockopt::socket_error(&self.fd)??;
        self.block().map(|()| true)
    }

    /// Makes each call say from now on whether it may wait.
    fn block(&self) -> io::Result<()> {
        Ok(rustix::io::ioctl_fionbio(&self.fd, false)?)
    }

    fn plain(stream: impl Into<OwnedFd>) -> Socket {
        Socket {
            fd: stream.into(),
            #[cfg(feature = "tls")]
            secret: None,
        }
    }

    /// Sends as many bytes as the kernel takes at once, and returns how many. The caller offers the rest again.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(feature = "tls")]
        if let Some(secret) = &self.secret {
            return secret.send(&self.fd, bytes);
        }
        send(&self.fd, bytes)
    }

    /// Receives into a slice; returns 0 when the other side has closed.
    #[inline]
    pub fn receive(&self, into: &mut [u8], read: Read) -> io::Result<usize> {
        #[cfg(feature = "tls")]
        if let Some(secret) = &self.secret {
            return secret.receive(&self.fd, into, read);
        }
        receive(&self.fd, into, read)
    }

    /// Receives into the unused capacity of `into`, behind its contents; returns 0 when the other side has closed.
    pub fn receive_more(&self, into: &mut Vec<u8>, read: Read) -> io::Result<usize> {
        debug_assert!(into.capacity() > into.len(), "a read into nothing looks like a closed connection");
        #[cfg(feature = "tls")]
        if let Some(secret) = &self.secret {
            let held = into.len();
            into.resize(into.capacity(), 0);
            let received = secret.receive(&self.fd, &mut into[held..], read);
            into.truncate(held + received.as_ref().map_or(0, |size| *size));
            return received;
        }
        uninterrupted(read, || Ok(recv(&self.fd, spare_capacity(into), read.flags())?.1))
    }

    /// Waits precisely. Returns whether something can be done; also when the socket broke, which the next call on the socket will report.
    pub fn wait(&self, interest: Interest, limit: Duration) -> io::Result<bool> {
        #[cfg(feature = "tls")]
        if self.secret.as_ref().is_some_and(|secret| secret.has_ready()) {
            return Ok(true);
        }
        let events = match interest {
            Interest::Read => PollFlags::IN,
            Interest::ReadOrWrite => PollFlags::IN | PollFlags::OUT,
        };
        wait(&mut [PollFd::new(&self.fd, events)], limit)
    }
}

/// Sends as many bytes as the kernel takes at once.
#[inline]
pub(super) fn send(fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(net::send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
}

/// Receives into a slice.
#[inline]
pub(super) fn receive(fd: &OwnedFd, into: &mut [u8], read: Read) -> io::Result<usize> {
    uninterrupted(read, || Ok(recv(fd, &mut *into, read.flags())?.1))
}

impl Read {
    #[inline]
    fn flags(self) -> RecvFlags {
        match self {
            Read::Now => RecvFlags::DONTWAIT,
            Read::Blocking => RecvFlags::empty(),
        }
    }
}

/// A read that does not wait is made again when a signal kept it from looking (Linux looks first; valgrind does not): of bytes that are
/// there the poller tells only once.
#[inline]
fn uninterrupted(read: Read, mut receive: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<usize> {
    loop {
        match receive() {
            Err(rustix::io::Errno::INTR) if read == Read::Now => {}
            received => return Ok(received?),
        }
    }
}

/// Sleeps precisely.
pub(super) fn sleep(limit: Duration) -> io::Result<()> {
    wait(&mut [], limit).map(|_| ())
}

/// Waits with `ppoll`. A signal ends a wait early, which every caller allows.
fn wait(polled: &mut [PollFd<'_>], limit: Duration) -> io::Result<bool> {
    match poll(polled, Some(&timespec(limit))) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn timespec(time: Duration) -> Timespec {
    // A year is as good as for ever, and fits everywhere.
    Timespec { tv_sec: time.as_secs().min(365 * 86_400) as i64, tv_nsec: time.subsec_nanos().into() }
}

/// An epoll instance. Sockets are registered once, edge triggered, so that the kernel does not look at each a second time at the next wait; closing a
/// socket unregisters it. After a report of bytes, read until a read is not filled.
pub(crate) struct Poller {
    fd: OwnedFd,
    events: Vec<epoll::Event>,
    precision: Precision,
}

/// The unit of the time limit that the kernel's wait gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    /// `epoll_pwait2` (Linux 5.11).
    Nanoseconds,
    /// `epoll_wait`.
    Milliseconds,
}

/// The number of reports of one wait.
pub(super) const EVENTS: usize = 256;

impl Poller {
    /// Makes a new instance.
    pub fn new() -> io::Result<Poller> {
        let fd = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Poller { fd, events: Vec::with_capacity(EVENTS), precision: Precision::Nanoseconds })
    }

    /// Watches a socket for bytes to read, under this number.
    pub fn add(&self, socket: &Socket, number: u32) -> io::Result<()> {
        Ok(epoll::add(&self.fd, &socket.fd, epoll::EventData::new_u64(number.into()), flags(Interest::Read))?)
    }

    /// Watches a socket for room to write as well.
    pub fn add_opening(&self, socket: &Socket, number: u32) -> io::Result<()> {
        let data = epoll::EventData::new_u64(number.into());
        Ok(epoll::add(&self.fd, &socket.fd, data, flags(Interest::ReadOrWrite))?)
    }

    /// Watches another instance, which is reported as long as there is something to do.
    pub fn add_instance(&self, instance: BorrowedFd<'_>, number: u32) -> io::Result<()> {
        Ok(epoll::add(&self.fd, instance, epoll::EventData::new_u64(number.into()), epoll::EventFlags::IN)?)
    }

    /// Changes the event that a socket is watched for. Bytes that are there already are reported again.
    pub fn change(&self, socket: &Socket, number: u32, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.fd, &socket.fd, epoll::EventData::new_u64(number.into()), flags(interest))?)
    }

    /// Waits, and returns on how many sockets there is something to do. [`ready`](Poller::ready) names them. Without a limit it waits until the next
    /// of the session's [`Nudges`](super::nudges::Nudges), and the kernel need not set a timer.
    #[inline]
    pub fn wait(&mut self, limit: Option<Duration>) -> io::Result<usize> {
        self.events.clear();
        if self.precision == Precision::Milliseconds {
            return self.wait_milliseconds(limit);
        }
        let timeout = limit.map(timespec);
        // SAFETY: EVENTS events fit the vector's capacity and have the kernel's layout; the timespec is alive, or there is none (null: no
        // limit); no signal mask is given (size 8: the kernel's). rustix would round the limit up to milliseconds.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                self.events.as_mut_ptr(),
                EVENTS as i32,
                timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                std::ptr::null::<libc::sigset_t>(),
                8usize,
            )
        };
        if found < 0 {
            return self.wait_failed(limit);
        }
        // SAFETY: the kernel has filled this many, at most the capacity it was given.
        unsafe { self.events.set_len(found as usize) };
        Ok(found as usize)
    }

    #[cold]
    fn wait_failed(&mut self, limit: Option<Duration>) -> io::Result<usize> {
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => Ok(0), // every caller allows a wait that ends early
            Some(libc::ENOSYS) => {
                self.precision = Precision::Milliseconds;
                self.wait(limit)
            }
            _ => Err(error),
        }
    }

    /// Rounded down, so that it does not end late.
    #[cold]
    fn wait_milliseconds(&mut self, limit: Option<Duration>) -> io::Result<usize> {
        let timeout = limit.map(|limit| timespec(Duration::from_millis(limit.as_millis() as u64)));
        match epoll::wait(&self.fd, spare_capacity(&mut self.events), timeout.as_ref()) {
            Ok(_) => Ok(self.events.len()),
            Err(rustix::io::Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns report `index` of the last wait.
    #[inline]
    pub fn ready(&self, index: usize) -> Ready {
        let epoll::Event { flags, data } = self.events[index];
        Ready {
            number: data.u64() as u32,
            readable: flags != epoll::EventFlags::OUT,
            writable: flags.contains(epoll::EventFlags::OUT),
            ended: flags.intersects(ENDED),
        }
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The other side has hung up, or the connection broke.
const ENDED: epoll::EventFlags = epoll::EventFlags::RDHUP.union(epoll::EventFlags::HUP).union(epoll::EventFlags::ERR);

fn flags(interest: Interest) -> epoll::EventFlags {
    let read = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
    match interest {
        Interest::Read => read,
        Interest::ReadOrWrite => read | epoll::EventFlags::OUT,
    }
}

/// The state of a watched socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    /// The number under which the socket was added.
    pub number: u32,
    /// Whether there are bytes, or the connection has ended, which a read will report.
    pub readable: bool,
    /// Whether the kernel takes bytes again.
    pub writable: bool,
    /// Whether the connection has ended; bytes may be there before the end.
    pub ended: bool,
}

/// Returns the time left until `time`; zero when it has passed.
#[inline]
pub(super) fn left(time: Instant) -> Duration {
    time.saturating_duration_since(Instant::now())
}
