//! A connection to the store over TLS, whose two ways two threads use at the same time.

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Error};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::tls::{Trust, config, explained};

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 64 << 10;

/// A connection over TLS.
pub(crate) struct TlsWire {
    socket: TcpStream,
    shared: Arc<SharedTls>,
    /// Bytes as they came.
    raw: Vec<u8>,
}

struct SharedTls {
    state: Mutex<ClientConnection>,
    /// Held while packed bytes are written, so that they stay in their order. Never taken while the state is held.
    writing: Mutex<()>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(error: Error) -> io::Error {
    io::Error::other(explained(error))
}

impl TlsWire {
    /// Agrees with the server on the encryption, and checks who it is.
    pub(crate) fn connect(mut socket: TcpStream, host: &str, trust: &Trust) -> io::Result<TlsWire> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let config = config(trust).map_err(io::Error::other)?;
        let mut state = ClientConnection::new(config, name).map_err(failed)?;
        while state.is_handshaking() {
            state.complete_io(&mut socket).map_err(|error| io::Error::new(error.kind(), explained(error)))?;
        }
        let shared = SharedTls { state: Mutex::new(state), writing: Mutex::default() };
        Ok(TlsWire { socket, shared: Arc::new(shared), raw: Vec::new() })
    }

    pub(crate) fn another(&self) -> io::Result<TlsWire> {
        Ok(TlsWire { socket: self.socket.try_clone()?, shared: Arc::clone(&self.shared), raw: Vec::new() })
    }

    /// Ends one way or both; the end of what is sent is an orderly one of TLS.
    pub(crate) fn shut(&self, how: Shutdown) -> io::Result<()> {
        if how != Shutdown::Read {
            locked(&self.shared.state).send_close_notify();
            self.send(&locked(&self.shared.writing))?;
        }
        self.socket.shutdown(how)
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Writes what is packed. The socket may wait, and the state is free meanwhile: else both sides could wait for each other.
    fn send(&self, _writing: &MutexGuard<'_, ()>) -> io::Result<()> {
        let mut packed = Vec::new();
        loop {
            {
                let mut state = locked(&self.shared.state);
                while state.wants_write() {
                    state.write_tls(&mut packed)?;
                }
            }
            if packed.is_empty() {
                return Ok(());
            }
            (&self.socket).write_all(&packed)?;
            packed.clear();
        }
    }
}

impl Read for TlsWire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match locked(&self.shared.state).reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // An end without that of TLS is one, too: the store was killed.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            self.raw.resize(BUFFER_BYTES, 0);
            let read = (&self.socket).read(&mut self.raw)?;
            let mut state = locked(&self.shared.state);
            let mut rest = &self.raw[..read];
            loop {
                state.read_tls(&mut rest)?;
                state.process_new_packets().map_err(failed)?;
                if rest.is_empty() {
                    break;
                }
            }
            let answers = state.wants_write();
            drop(state);
            // One who writes already will send it.
            if answers && let Ok(writing) = self.shared.writing.try_lock() {
                self.send(&writing)?;
            }
        }
    }
}

impl Write for TlsWire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let writing = locked(&self.shared.writing);
        let written = locked(&self.shared.state).writer().write(bytes)?;
        self.send(&writing)?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
