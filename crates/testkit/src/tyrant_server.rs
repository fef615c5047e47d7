//! Test support: a server that speaks Tokyo Tyrant's binary protocol, and memcached's as Tokyo Tyrant does, over the real Tokyo Cabinet library.
//!
//! It stands in for `ttserver`, which no package repository carries, so that the adapter is tested over real sockets against the
//! real storage library. It is not Tokyo Tyrant, calls itself by its own name in every answer, and is never offered to users.
//! Its speed means nothing.
//!
//! In a test of this workspace: [`TyrantServer::start`] runs one on threads of the test; [`install`] puts the program of the same
//! server into a directory under the name `ttserver`, for tests that set `PATH` and let it be found and started.

mod cabinet;
mod conversation;
mod text;

use cabinet::Cabinet;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The place to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A loopback port; 0 takes any that is free.
    Tcp(u16),
    /// A unix socket, which is made.
    Unix(PathBuf),
}

/// A running server; it ends, and closes its database, when dropped.
pub struct TyrantServer {
    port: u16,
    listen: Listen,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    cabinet: Cabinet,
    ending: AtomicBool,
    open: Mutex<Vec<Stream>>,
}

/// Returns what the server calls itself.
pub fn name() -> Result<String, String> {
    Ok(format!("kvtrial test server for the Tyrant protocol, Tokyo Cabinet {}", cabinet::version()?))
}

impl TyrantServer {
    /// Opens or creates a hash database file and serves it.
    ///
    /// # Errors
    /// When the library is not installed, the file cannot be opened or the place to listen is taken.
    pub fn start(listen: Listen, database: &Path) -> Result<TyrantServer, String> {
        let cabinet = Cabinet::open(database)?;
        let words = |error: io::Error| format!("{listen:?}: {error}");
        let (listener, port) = match &listen {
            Listen::Tcp(port) => {
                let listener = TcpListener::bind(("127.0.0.1", *port)).map_err(words)?;
                let port = listener.local_addr().map_err(words)?.port();
                (Listener::Tcp(listener), port)
            }
            Listen::Unix(path) => (Listener::Unix(UnixListener::bind(path).map_err(words)?), 0),
        };
        let shared = Arc::new(Shared { cabinet, ending: AtomicBool::new(false), open: Mutex::default() });
        let acceptor = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Ok(TyrantServer { port, listen, shared, acceptor: Some(acceptor) })
    }

    /// Its port, when it listens on one.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for TyrantServer {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::SeqCst);
        // One more connection wakes the acceptor, which then sees that it is over.
        let _ = match &self.listen {
            Listen::Tcp(_) => TcpStream::connect(("127.0.0.1", self.port)).map(drop),
            Listen::Unix(path) => UnixStream::connect(path).map(drop),
        };
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        if let Listen::Unix(path) = &self.listen {
            let _ = std::fs::remove_file(path);
        }
    }
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A connection of either kind.
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn try_clone(&self) -> io::Result<Stream> {
        Ok(match self {
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
            Stream::Unix(stream) => Stream::Unix(stream.try_clone()?),
        })
    }

    fn shut(&self) {
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(std::net::Shutdown::Both),
            Stream::Unix(stream) => stream.shutdown(std::net::Shutdown::Both),
        };
    }
}

fn accept(listener: &Listener, shared: &Arc<Shared>) {
    let mut workers = Vec::new();
    loop {
        let stream = match listener {
            Listener::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }),
            Listener::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
        };
        if shared.ending.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else { continue };
        let Ok(copy) = stream.try_clone() else { continue };
        shared.open.lock().unwrap_or_else(PoisonError::into_inner).push(copy);
        let shared = Arc::clone(shared);
        workers.push(std::thread::spawn(move || serve(stream, &shared.cabinet)));
    }
    for stream in shared.open.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        stream.shut();
    }
    for worker in workers {
        let _ = worker.join();
    }
}

/// Answers until the client leaves or says something that is not the protocol.
fn serve(stream: Stream, cabinet: &Cabinet) {
    let _ = match &stream {
        Stream::Tcp(socket) => conversation::hold(socket, socket, cabinet),
        Stream::Unix(socket) => conversation::hold(socket, socket, cabinet),
    };
    stream.shut();
}

/// Puts the program of this server into a directory under the name `ttserver`.
///
/// # Errors
/// When it cannot be built or linked.
pub fn install(directory: &Path) -> Result<PathBuf, String> {
    crate::built::install("kvtrial-test-tyrant", directory, "ttserver")
}
