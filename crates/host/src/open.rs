//! Opening a store for one trial, and everything that hangs on it.

use crate::disk::allocated_bytes;
use crate::lease::Lease;
use crate::process::{Ending, Pid, signal};
use crate::server::{Recipe, Server};
use crate::settle::settle;
use crate::tree;
use std::path::{Path, PathBuf};
use store::{Endpoint, Facts, Opener, Store, StoreError, StoreInfo, layers};
use study::{ServerUse, Spec, Target};

/// Where private directories are made unless told otherwise: `TMPDIR`, or `/tmp`.
pub fn default_base() -> PathBuf {
    std::env::temp_dir()
}

/// Opens a store as its spec says: starts a private server or makes a private directory under `base`, or takes the user's own.
///
/// # Errors
/// Bad options, a missing program, a server that does not start (with the end of its log), a path that cannot be opened.
pub fn open(info: &'static StoreInfo, spec: &Spec, base: &Path) -> Result<OpenStore, StoreError> {
    Opening::new(base).open(info, spec)
}

/// How stores are opened.
#[derive(Clone, Debug)]
pub struct Opening {
    base: PathBuf,
    server_cpus: Vec<usize>,
}

impl Opening {
    /// Private directories go under `base`; servers may use every processor.
    pub fn new(base: impl Into<PathBuf>) -> Opening {
        Opening { base: base.into(), server_cpus: Vec::new() }
    }

    /// Private servers may use only these processors.
    pub fn server_cpus(mut self, cpus: &[usize]) -> Opening {
        self.server_cpus = cpus.to_vec();
        self
    }

    /// Opens a store as its spec says.
    ///
    /// # Errors
    /// See [`open`].
    pub fn open(&self, info: &'static StoreInfo, spec: &Spec) -> Result<OpenStore, StoreError> {
        info.check_options(spec)?;
        let (layered, spec) = (spec, &layers::beneath(spec));
        let unsupported = |problem: String| StoreError::Unsupported { store: info.name.into(), problem };
        let (store, behind) = match (info.opener, &spec.target) {
            (Opener::Embedded(open), Target::Private) => {
                let lease = Lease::take(&self.base)?;
                let store = open(spec, lease.store())?;
                settle(lease.store()).map_err(|(path, source)| StoreError::Io { path, source })?;
                (store, Behind::Directory(lease))
            }
            (Opener::Embedded(open), Target::Path(path)) => (open(spec, path)?, Behind::Users),
            (Opener::Embedded(_), Target::Server(_)) => {
                let name = info.name;
                return Err(unsupported(format!(
                    "it is a library, not a server; write '{name}', or '{name}:/a/path' for your own files"
                )));
            }
            (Opener::Server { plan, connect, .. }, Target::Private) => {
                let (base, cpus) = (&self.base, &self.server_cpus);
                let (server, store) = Recipe { info, spec, base, cpus, plan, connect }.start()?;
                (store, Behind::Server(server))
            }
            (Opener::Server { connect, usual_port, .. }, Target::Server(authority)) => {
                (connect(spec, &Endpoint::of(authority, usual_port))?, Behind::Users)
            }
            (Opener::Server { usual_port, .. }, Target::Path(_)) => {
                let name = info.name;
                return Err(unsupported(format!(
                    "it is a server; write '{name}' for a private one, '{name}://127.0.0.1:{usual_port}' for your own"
                )));
            }
        };
        let store = layers::apply(layered, store)?;
        let thaw = Thaw { pid: behind.server().map(Server::pid) };
        Ok(OpenStore { thaw, store, spec: layered.clone(), behind })
    }
}

/// What a store rests on.
enum Behind {
    /// The user's own directory or server: never stopped, never removed, not measured.
    Users,
    /// A private directory.
    Directory(Lease),
    /// A private server.
    Server(Server),
}

impl Behind {
    fn server(&self) -> Option<&Server> {
        match self {
            Behind::Server(server) => Some(server),
            _ => None,
        }
    }
}

/// Lets a frozen server go on when dropped, so that disconnecting cannot hang on it.
struct Thaw {
    pid: Option<Pid>,
}

impl Drop for Thaw {
    fn drop(&mut self) {
        if let Some(pid) = self.pid {
            signal(pid, libc::SIGCONT);
        }
    }
}

/// A store opened for one trial. Dropping it disconnects, stops the private server and removes the private directory.
pub struct OpenStore {
    // The order is that of dropping: the store before what it rests on.
    thaw: Thaw,
    store: Box<dyn Store>,
    spec: Spec,
    behind: Behind,
}

impl OpenStore {
    /// The store itself.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The spec it was opened from.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// What the private server has used since it was started, all its processes together: CPU seconds, and the peak resident
    /// set (of several processes: their proportional sets, so that memory they share counts once, plus what each was larger at
    /// its own peak). `None` when there is no private server. Looks through `/proc`, which takes milliseconds of kvtrial's own time:
    /// call it outside of what is timed and outside of what kvtrial's own use is taken of.
    pub fn usage(&self) -> Option<ServerUse> {
        match &self.behind {
            Behind::Server(server) => Some(tree::usage(&server.lease().settled_members())),
            _ => None,
        }
    }

    /// The CPU seconds of [`usage`](OpenStore::usage) alone, for less: memory is not looked at.
    pub fn server_cpu_s(&self) -> Option<f64> {
        self.server().map(|server| tree::cpu_s(&server.lease().settled_members()))
    }

    /// Bytes allocated on disk for the store's private directory, without logs; `None` when it is not ours.
    pub fn disk_bytes(&self) -> Option<u64> {
        match &self.behind {
            Behind::Users => None,
            Behind::Directory(lease) => Some(allocated_bytes(lease.store(), &[])),
            Behind::Server(server) => Some(allocated_bytes(server.lease().store(), server.logs())),
        }
    }

    /// How the private server ended, if it has; it should not have.
    pub fn ending(&self) -> Option<Ending> {
        self.server().and_then(Server::ending)
    }

    /// Whether the private server still runs; true when there is none.
    pub fn is_alive(&self) -> bool {
        self.ending().is_none()
    }

    /// The end of the private server's log, ready to follow a message (`; its log ends: …`); empty when there is none.
    pub fn log_end(&self) -> String {
        self.server().map(Server::quote).unwrap_or_default()
    }

    /// Process id of the private server's program.
    pub fn server_pid(&self) -> Option<i32> {
        self.server().map(Server::pid)
    }

    /// Where the private server listens, and how to log in; `None` when there is none.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.server().map(Server::endpoint)
    }

    /// What the store says of itself; and of a private server that others can use, that they can.
    ///
    /// # Errors
    /// When the store cannot be reached or refuses.
    pub fn facts(&self) -> Result<Facts, StoreError> {
        let mut facts = self.store.facts()?;
        if self.endpoint().is_some_and(|endpoint| endpoint.tcp().is_some() && endpoint.password.is_none()) {
            facts.config.insert("access".into(), "any user of this machine: a port without a password".into());
        }
        Ok(facts)
    }

    /// Disconnects, stops the private server, removes the private directory.
    ///
    /// # Errors
    /// What could not be removed.
    pub fn close(self) -> Result<(), StoreError> {
        drop(self.thaw);
        drop(self.store);
        match &self.behind {
            Behind::Users => Ok(()),
            Behind::Directory(lease) => lease.end(),
            Behind::Server(server) => server.stop(),
        }
    }

    fn server(&self) -> Option<&Server> {
        self.behind.server()
    }
}

impl std::fmt::Debug for OpenStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenStore").field("spec", &self.spec).field("server_pid", &self.server_pid()).finish()
    }
}
