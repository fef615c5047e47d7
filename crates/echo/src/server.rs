//! Sockets: one thread, one epoll instance, level triggered.

use crate::command::{Parsed, RequestWords};
use crate::map::Map;
use hashbrown::HashMap;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

/// The address to listen on. Only this machine can reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A port of the loopback interface.
    Loopback(u16),
    /// A unix socket.
    Unix(PathBuf),
}

/// Room for one read at least.
const READ_BYTES: usize = 64 << 10;

/// Buffers longer than this are given back when they are empty.
const KEPT_BYTES: usize = 4 << 20;

/// The number of the listening socket; connections count from 1.
const LISTENER: u64 = 0;

/// Serves until the process is ended.
///
/// # Errors
/// The system's, when the address cannot be listened at or no more events can be waited for.
pub fn serve(listen: &Listen) -> io::Result<()> {
    match listen {
        Listen::Loopback(port) => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port))?;
            listener.set_nonblocking(true)?;
            Server::new(&listener)?.run(|| {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            })
        }
        Listen::Unix(path) => {
            let listener = UnixListener::bind(path)?;
            listener.set_nonblocking(true)?;
            Server::new(&listener)?.run(|| {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(Stream::Unix(stream))
            })
        }
    }
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}

struct Server {
    epoll: OwnedFd,
    connections: HashMap<u64, Connection>,
    opened: u64,
    map: Map,
    request: RequestWords,
}

impl Server {
    fn new(listener: &impl AsFd) -> io::Result<Server> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let (connections, map, request) = (HashMap::new(), Map::default(), RequestWords::default());
        Ok(Server { epoll, connections, opened: LISTENER, map, request })
    }

    fn run(mut self, accept: impl Fn() -> io::Result<Stream>) -> io::Result<()> {
        let mut events = Vec::with_capacity(256);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(&accept)?,
                    number => self.serve(number)?,
                }
            }
        }
    }

    fn accept(&mut self, accept: &impl Fn() -> io::Result<Stream>) -> io::Result<()> {
        loop {
            match accept() {
                Ok(stream) => {
                    self.opened += 1;
                    epoll::add(&self.epoll, &stream, EventData::new_u64(self.opened), EventFlags::IN)?;
                    self.connections.insert(self.opened, Connection::new(stream));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whatever is to be done on a connection; one that has ended is closed, which unregisters it.
    fn serve(&mut self, number: u64) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(()) };
        let before = connection.watched();
        if !connection.turn(&mut self.map, &mut self.request) {
            self.connections.remove(&number);
            return Ok(());
        }
        let now = connection.watched();
        if now != before {
            epoll::modify(&self.epoll, &connection.stream, EventData::new_u64(number), now)?;
        }
        Ok(())
    }
}

struct Connection {
    stream: Stream,
    /// Bytes received are `input[..filled]`; all of it is initialised.
    input: Vec<u8>,
    filled: usize,
    /// Answers, of which the first `sent` bytes have left.
    out: Vec<u8>,
    sent: usize,
}

impl Connection {
    fn new(stream: Stream) -> Connection {
        Connection { stream, input: vec![0; READ_BYTES], filled: 0, out: Vec::new(), sent: 0 }
    }

    fn watched(&self) -> EventFlags {
        if self.out.is_empty() { EventFlags::IN } else { EventFlags::IN | EventFlags::OUT }
    }

    /// One read, the answers to all that is whole, one write. `false` when the connection is over.
    fn turn(&mut self, map: &mut Map, request: &mut RequestWords) -> bool {
        match self.stream.read(&mut self.input[self.filled..]) {
            Ok(0) => return false,
            Ok(received) => self.filled += received,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return false,
        }
        let mut at = 0;
        loop {
            let rest = &self.input[at..self.filled];
            match request.parse(rest) {
                Parsed::RequestWords(size) => {
                    map.answer(request, rest, &mut self.out);
                    at += size;
                }
                Parsed::Incomplete => break,
                Parsed::Broken => return false,
            }
        }
        self.input.copy_within(at..self.filled, 0);
        self.filled -= at;
        if self.filled == self.input.len() {
            // Twice as long each time, so that a long request is looked through few times.
            self.input.resize(2 * self.filled, 0);
        } else if self.filled == 0 && self.input.len() > KEPT_BYTES {
            self.input = vec![0; READ_BYTES];
        }
        self.flush()
    }

    fn flush(&mut self) -> bool {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        self.sent = 0;
        if self.out.capacity() > KEPT_BYTES {
            self.out = Vec::new();
        }
        self.out.clear();
        true
    }
}
