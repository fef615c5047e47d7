//! TLS over a connected socket that does not wait.

use super::socket::{Read, receive, send};
use crate::Endpoint;
use crate::tls;
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// One end of an encrypted connection. It encrypts the bytes for the kernel, and decrypts the bytes from the kernel.
pub(super) struct Secret(RefCell<State>);

struct State {
    connection: ClientConnection,
    /// Bytes that are encrypted, and not yet whole with the kernel: they are not called sent, and will be offered again.
    owed: usize,
    /// Bytes that are decrypted and not yet taken.
    ready: usize,
}

impl Secret {
    /// Shakes hands over a connection just made; `None` where the endpoint asks for no TLS.
    pub fn agreed(endpoint: &Endpoint, stream: &TcpStream, timeout: Duration) -> io::Result<Option<Box<Secret>>> {
        let (Some(trust), Some((host, _))) = (&endpoint.tls, endpoint.tcp()) else { return Ok(None) };
        let config = tls::config(trust).map_err(|error| io::Error::other(error.to_string()))?;
        let name = ServerName::try_from(host.to_owned()).map_err(|error| io::Error::other(format!("TLS: {error}")))?;
        let mut connection = ClientConnection::new(config, name).map_err(|error| broken(&error))?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut &*stream).map_err(in_words)?;
        }
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(None)?;
        Ok(Some(Box::new(Secret(RefCell::new(State { connection, owed: 0, ready: 0 })))))
    }

    /// Returns whether there are bytes to take without asking the kernel.
    pub fn has_ready(&self) -> bool {
        self.0.borrow().ready > 0
    }

    /// Sends as many bytes as the kernel takes at once, and returns how many of `bytes` the kernel has. A part that the kernel took of more is owed:
    /// the caller offers the same bytes again.
    pub fn send(&self, fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
        let state = &mut *self.0.borrow_mut();
        let mut sent = 0;
        // To the end, or until the kernel takes no more: only then will it say when it does again.
        while sent < bytes.len() {
            if state.owed == 0 {
                state.owed = io::Write::write(&mut state.connection.writer(), &bytes[sent..])?;
            }
            while state.connection.wants_write() {
                match state.connection.write_tls(&mut Line { fd, read: Read::Now }) {
                    Ok(_) => {}
                    Err(_) if sent > 0 => return Ok(sent),
                    Err(error) => return Err(error),
                }
            }
            sent += std::mem::take(&mut state.owed);
        }
        Ok(sent)
    }

    /// Receives until `into` is full or there is no more; 0 when the other side has closed.
    pub fn receive(&self, fd: &OwnedFd, into: &mut [u8], read: Read) -> io::Result<usize> {
        let state = &mut *self.0.borrow_mut();
        let mut taken = 0;
        loop {
            match io::Read::read(&mut state.connection.reader(), &mut into[taken..]) {
                Ok(0) => return Ok(taken),
                Ok(size) => {
                    state.ready = state.ready.saturating_sub(size);
                    taken += size;
                    if taken == into.len() {
                        return Ok(taken);
                    }
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(taken),
                Err(error) => return Err(error),
            }
            let line = &mut Line { fd, read: if taken > 0 { Read::Now } else { read } };
            match state.connection.read_tls(line) {
                Ok(_) => {
                    let decrypted = state.connection.process_new_packets().map_err(|error| broken(&error))?;
                    state.ready = decrypted.plaintext_bytes_to_read();
                }
                Err(_) if taken > 0 => return Ok(taken),
                Err(error) => return Err(error),
            }
        }
    }
}

fn broken(error: &rustls::Error) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, tls::words(error))
}

/// The outcome of a handshake, in words.
fn in_words(error: io::Error) -> io::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(inner) => broken(inner),
        None if error.kind() == ErrorKind::WouldBlock => {
            io::Error::new(ErrorKind::TimedOut, "TLS: no answer; does the server speak TLS at this port?")
        }
        None => io::Error::new(error.kind(), format!("TLS: {error}; does the server speak TLS at this port?")),
    }
}

/// The socket below, as `rustls` reads and writes it.
struct Line<'a> {
    fd: &'a OwnedFd,
    read: Read,
}

impl io::Read for Line<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        receive(self.fd, into, self.read)
    }
}

impl io::Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send(self.fd, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
