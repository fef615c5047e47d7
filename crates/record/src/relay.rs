//! The way of the bytes: read from one side, written to the other as they are, and copied. Nothing here looks into them.

use crate::chunk::{Chunk, Happened};
use crate::copies::Copies;
#[cfg(feature = "tls")]
use crate::tls::TlsWire;
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use store::tls::Trust;
use study::Address;

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 64 << 10;

/// A connection, over TCP or a unix socket.
pub(crate) enum Wire {
    Tcp(TcpStream),
    Unix(UnixStream),
    #[cfg(feature = "tls")]
    Tls(Box<TlsWire>),
}

impl Wire {
    /// Connects to the store.
    pub(crate) fn connect(address: &Address, usual_port: u16, trust: Option<&Trust>) -> io::Result<Wire> {
        match address {
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), port.unwrap_or(usual_port)))?;
                stream.set_nodelay(true)?;
                match trust {
                    None => Ok(Wire::Tcp(stream)),
                    #[cfg(feature = "tls")]
                    Some(trust) => TlsWire::connect(stream, host, trust).map(|wire| Wire::Tls(Box::new(wire))),
                    #[cfg(not(feature = "tls"))]
                    Some(_) => Err(io::Error::other("this build has no TLS; build kvtrial with --features full")),
                }
            }
            Address::Unix(path) => UnixStream::connect(path).map(Wire::Unix),
        }
    }

    fn another(&self) -> io::Result<Wire> {
        match self {
            Wire::Tcp(stream) => stream.try_clone().map(Wire::Tcp),
            Wire::Unix(stream) => stream.try_clone().map(Wire::Unix),
            #[cfg(feature = "tls")]
            Wire::Tls(wire) => wire.another().map(|wire| Wire::Tls(Box::new(wire))),
        }
    }

    fn shut(&self, how: Shutdown) {
        // A side that is closed already needs no closing.
        let _ = match self {
            Wire::Tcp(stream) => stream.shutdown(how),
            Wire::Unix(stream) => stream.shutdown(how),
            #[cfg(feature = "tls")]
            Wire::Tls(wire) => wire.shut(how),
        };
    }

    /// Lets the other side see an end that was no orderly one, as the store's was.
    pub(crate) fn reset(&self) {
        let stream = match self {
            Wire::Tcp(stream) => stream,
            #[cfg(feature = "tls")]
            Wire::Tls(wire) => wire.socket(),
            Wire::Unix(_) => return,
        };
        let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Wire::Tcp(stream) => stream.read(buffer),
            Wire::Unix(stream) => stream.read(buffer),
            #[cfg(feature = "tls")]
            Wire::Tls(wire) => wire.read(buffer),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Wire::Tcp(stream) => stream.write(bytes),
            Wire::Unix(stream) => stream.write(bytes),
            #[cfg(feature = "tls")]
            Wire::Tls(wire) => wire.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Passes on everything between a client and the store, until both sides have ended.
pub(crate) fn relay(client: Wire, store: Wire, connection: u32, began: Instant, copies: &Copies) -> io::Result<()> {
    let (client_again, store_again) = (client.another()?, store.another()?);
    let copy = |what| {
        let time_us = began.elapsed().as_micros() as u64;
        copies.leave(Chunk { connection, time_us, what });
    };
    copy(Happened::Opened);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pass(store_again, client_again, |bytes, to| {
                to.write_all(bytes)?;
                copy(Happened::Answered(bytes.to_vec()));
                Ok(())
            });
        });
        pass(client, store, |bytes, to| {
            // Before it is sent: the copy of the reply must come behind it.
            copy(Happened::Asked(bytes.to_vec()));
            to.write_all(bytes)
        });
    });
    copy(Happened::Closed);
    Ok(())
}

/// Passes on what one side sends. An orderly end is passed on as such, so that what the other side still has to say arrives.
fn pass(mut from: Wire, mut to: Wire, send: impl Fn(&[u8], &mut Wire) -> io::Result<()>) {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return to.shut(Shutdown::Write),
            Ok(read) => {
                if send(&buffer[..read], &mut to).is_err() {
                    from.shut(Shutdown::Both);
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => {
                to.reset();
                to.shut(Shutdown::Both);
                return;
            }
        }
    }
}
