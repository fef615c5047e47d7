//! Opening a store for one trial, and everything that hangs on it.

mod opened;

use crate::builder::Builder;
use crate::clock::ClockLibrary;
use crate::disk::allocated_bytes;
use crate::ground::Ground;
use crate::lease::Lease;
use crate::listener::listeners;
use crate::location::{Asking, Location, Reached};
use crate::memory_group::MemoryGroup;
use crate::node::Fallen;
use crate::nodes::{NodeState, Nodes};
use crate::process::{Exit, Pid};
use crate::tree;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::tls::{self, TLS};
use store::{Endpoint, Opener, Store, StoreError, StoreInfo};
use study::{NodeUse, ServerUse, Spec, Target};

pub use opened::OpenStore;

/// Returns where private directories are made by default: `TMPDIR`, or `/tmp`.
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

/// The settings with which stores are opened.
#[derive(Clone, Debug)]
pub struct Opening {
    base: PathBuf,
    server_cpus: Vec<usize>,
    server_memory_bytes: Option<u64>,
    ground: Option<Ground>,
    clocks: Option<ClockLibrary>,
    asking: Asking,
}

impl Opening {
    /// Makes settings with which private directories go under `base`, and servers may use every processor.
    pub fn new(base: impl Into<PathBuf>) -> Opening {
        Opening {
            base: base.into(),
            server_cpus: Vec::new(),
            server_memory_bytes: None,
            ground: None,
            clocks: None,
            asking: Asking::Asked,
        }
    }

    /// Lets private servers use only these processors.
    pub fn server_cpus(mut self, cpus: &[usize]) -> Opening {
        self.server_cpus = cpus.to_vec();
        self
    }

    /// Bounds the memory of private servers: all nodes of one together, by a control group.
    pub fn server_memory(mut self, bytes: Option<u64>) -> Opening {
        self.server_memory_bytes = bytes;
        self
    }

    /// Lays the files of private stores on a file system of their own.
    pub fn on(mut self, ground: Ground) -> Opening {
        self.ground = Some(ground);
        self
    }

    /// Starts private servers so that their clocks can be moved, where this is what moves them and the store says what time it has.
    pub fn clocks(mut self, library: Option<ClockLibrary>) -> Opening {
        self.clocks = library;
        self
    }

    /// Opens the user's own server only to read it: the server is not asked what it can do, because asking writes.
    pub fn only_to_read(mut self) -> Opening {
        self.asking = Asking::Unasked;
        self
    }

    /// Opens a store as its spec says.
    ///
    /// # Errors
    /// See [`open`].
    pub fn open(&self, info: &'static StoreInfo, spec: &Spec) -> Result<OpenStore, StoreError> {
        let (installation, connected) = self.prepare(info, spec)?;
        let store = match connected {
            Some(store) => layers::apply(info, spec, store)?,
            None => installation.location.open(info, spec)?,
        };
        Ok(OpenStore { _thaw: Thaw(installation.thaw.0.clone()), store, installation })
    }

    /// Makes the place where a store is to be opened, without opening the store: starts the private server, or makes the private directory.
    ///
    /// # Errors
    /// See [`open`].
    pub fn installation(&self, info: &'static StoreInfo, spec: &Spec) -> Result<Installation, StoreError> {
        self.prepare(info, spec).map(|(installation, _)| installation)
    }

    /// Makes the installation, and the first connection to a server that was started.
    fn prepare(
        &self,
        info: &'static StoreInfo,
        spec: &Spec,
    ) -> Result<(Installation, Option<Box<dyn Store>>), StoreError> {
        info.built()?;
        layers::check(info, spec)?;
        let unsupported = |problem: String| StoreError::Unsupported { store: info.name.into(), problem };
        let mut connected = None;
        let (reached, behind) = match (info.opener, &spec.target) {
            (Opener::Embedded(_), Target::Private) => {
                let lease = Lease::take(&self.base)?;
                self.ground.as_ref().map_or(Ok(()), |ground| ground.lay(&lease))?;
                (Reached::Directory(lease.store().to_owned()), Behind::Directory(lease))
            }
            (Opener::Embedded(_), Target::Path(path)) => (Reached::Directory(path.clone()), Behind::Users),
            (Opener::Embedded(_), Target::Server(_)) => {
                let name = info.name;
                return Err(unsupported(format!(
                    "it is a library, not a server; write '{name}', or '{name}:/a/path' for your own files"
                )));
            }
            (Opener::Server { .. }, Target::Private) => {
                let group = self.server_memory_bytes.map(MemoryGroup::new).transpose().map_err(unsupported)?;
                let memory = group.map(Arc::new);
                let builder = || Builder {
                    info,
                    spec: spec.clone(),
                    cpus: self.server_cpus.clone(),
                    memory: memory.clone(),
                    ground: self.ground.clone(),
                    clocks: self.clocks.clone(),
                };
                let (nodes, store) = crate::start::start(builder, &self.base)?;
                connected = Some(store);
                (Reached::Endpoints(nodes.endpoints()), Behind::Nodes(Arc::new(nodes)))
            }
            (Opener::Server { usual_port, .. }, Target::Server(authority)) => {
                let endpoints = Endpoint::of(authority, usual_port);
                let endpoints = if info.has_option(TLS.name) { tls::secured(spec, endpoints)? } else { endpoints };
                let mut found: Vec<Pid> = endpoints.iter().flat_map(|it| listeners(&it.address)).collect();
                found.sort_unstable();
                found.dedup();
                let behind = if found.is_empty() { Behind::Users } else { Behind::UsersHere(found) };
                (Reached::Endpoints(endpoints), behind)
            }
            (Opener::Server { usual_port, .. }, Target::Path(_)) => {
                let name = info.name;
                return Err(unsupported(format!(
                    "it is a server; write '{name}' for a private one, '{name}://127.0.0.1:{usual_port}' for your own"
                )));
            }
        };
        let asking = if matches!(spec.target, Target::Server(_)) { self.asking } else { Asking::Unasked };
        let location = Location { asking, ..behind.location(reached) };
        let thaw = Thaw(behind.nodes().cloned());
        Ok((Installation { thaw, spec: spec.clone(), location, behind }, connected))
    }
}

/// The base that a store rests on.
enum Behind {
    /// The user's own directory or server: never stopped, never removed, not measured.
    Users,
    /// The user's own server on this machine, whose listening processes were found: never stopped, never removed, but measured.
    UsersHere(Vec<Pid>),
    /// A private directory.
    Directory(Lease),
    /// A private deployment.
    Nodes(Arc<Nodes>),
}

impl Behind {
    fn nodes(&self) -> Option<&Arc<Nodes>> {
        match self {
            Behind::Nodes(nodes) => Some(nodes),
            _ => None,
        }
    }

    fn location(&self, reached: Reached) -> Location {
        let (directory, logs) = match self {
            Behind::Users | Behind::UsersHere(_) => (None, Vec::new()),
            Behind::Directory(lease) => (Some(lease.store().to_owned()), Vec::new()),
            Behind::Nodes(nodes) => (Some(nodes.lease().store().to_owned()), nodes.logs()),
        };
        let servers = self.nodes().map(|nodes| nodes.watched()).unwrap_or_default();
        Location { reached, servers, directory, logs, asking: Asking::Unasked }
    }
}

/// A guard that lets frozen nodes continue when it is dropped, so that disconnecting cannot hang on them.
struct Thaw(Option<Arc<Nodes>>);

impl Drop for Thaw {
    fn drop(&mut self) {
        if let Some(nodes) = &self.0 {
            nodes.thaw_all();
        }
    }
}

/// The place of a store while a trial lasts: the private server, the private directory, or the user's own. Dropping it stops the
/// server and removes the directory.
pub struct Installation {
    // The order is that of dropping.
    thaw: Thaw,
    spec: Spec,
    location: Location,
    behind: Behind,
}

impl Installation {
    /// Returns the spec of the store.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns everything that another process has to know to open the store.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Returns the resources that the server has used since it was started, all its processes together; the server is private or the user's own on
    /// this machine: CPU seconds, and the peak resident set (of several processes: their proportional sets, so that shared memory counts once, plus
    /// the difference of each to its own peak). `None` when there is no server, or it was not found. Looks through `/proc`, which takes milliseconds
    /// of kvtrial's own time: call this outside of timed work and outside of the measurement of kvtrial's own use.
    pub fn usage(&self) -> Option<ServerUse> {
        match &self.behind {
            Behind::Nodes(nodes) => Some(nodes.usage()),
            Behind::UsersHere(listeners) => Some(tree::usage(&tree::family(&tree::processes(), listeners))),
            Behind::Users | Behind::Directory(_) => None,
        }
    }

    /// Returns the CPU seconds of [`usage`](Installation::usage) alone, at less cost: memory is not looked at.
    pub fn server_cpu_s(&self) -> Option<f64> {
        match &self.behind {
            Behind::Nodes(nodes) => Some(nodes.cpu_s()),
            Behind::UsersHere(listeners) => Some(tree::cpu_s(&tree::family(&tree::processes(), listeners))),
            Behind::Users | Behind::Directory(_) => None,
        }
    }

    /// Returns the private deployment, where it has several nodes.
    fn several(&self) -> Option<&Nodes> {
        self.nodes().filter(|nodes| nodes.is_several())
    }

    /// Returns the resources each node of a private deployment has used since it was started; empty unless there are several nodes. Takes as long as
    /// [`usage`](Installation::usage), for each.
    pub fn node_use(&self) -> Vec<NodeUse> {
        let states = self.several().map(Nodes::states).unwrap_or_default();
        let of = |state: NodeState| NodeUse {
            name: state.name,
            role: state.role,
            cpu_s: state.usage.cpu_s,
            peak_rss_bytes: state.usage.peak_rss_bytes,
            disk_bytes: state.disk_bytes,
        };
        states.into_iter().map(of).collect()
    }

    /// Returns the CPU seconds of [`node_use`](Installation::node_use) alone, by name, at less cost.
    pub fn node_cpu_s(&self) -> Vec<(String, f64)> {
        self.several().map(Nodes::cpu_s_of_each).unwrap_or_default()
    }

    /// Returns the number of bytes allocated on disk for the store's private directory, without logs; `None` when the directory is not ours.
    pub fn disk_bytes(&self) -> Option<u64> {
        match &self.behind {
            Behind::Nodes(nodes) => Some(allocated_bytes(nodes.lease().store(), &nodes.logs())),
            _ => self.location.disk_bytes(),
        }
    }

    /// Returns the nodes of the private deployment; `None` when there is none.
    pub fn nodes(&self) -> Option<&Nodes> {
        self.behind.nodes().map(|nodes| &**nodes)
    }

    /// Returns the first node of the private deployment that ended though nobody has ended it. Takes a microsecond per node.
    pub fn fallen(&self) -> Option<Fallen> {
        self.nodes().and_then(Nodes::fallen)
    }

    /// Returns how that first node ended.
    pub fn exit(&self) -> Option<Exit> {
        self.fallen().map(|fallen| fallen.exit)
    }

    /// Returns whether every node of the private deployment still runs, but those that were meant to end; true when there is none.
    pub fn is_alive(&self) -> bool {
        self.fallen().is_none()
    }

    /// Returns the end of the private server's log, ready to follow a message (`; its log ends: …`); empty when there is none.
    pub fn log_end(&self) -> String {
        self.nodes().map(Nodes::log_end).unwrap_or_default()
    }

    /// Returns the process id of the private server's program; where there are several nodes, of the first that was not taken down.
    pub fn server_pid(&self) -> Option<i32> {
        self.nodes().and_then(|nodes| nodes.pids().first().copied())
    }

    /// Returns where the private server listens, and how to log in; where there are several nodes, the first one's endpoint; `None` when there is
    /// none.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.location.endpoints().first()
    }

    /// Notes a process that works on the files of a private directory: if the directory is removed, the process is killed first. The process id must
    /// not be given to another process until [`leave`](Installation::leave).
    pub fn enter(&self, pid: i32) {
        if let Behind::Directory(lease) = &self.behind {
            lease.adopt(pid);
        }
    }

    /// Notes that the process that entered has ended.
    pub fn leave(&self, pid: i32) {
        if let Behind::Directory(lease) = &self.behind {
            lease.disown(pid);
        }
    }

    /// Stops the private server, removes the private directory.
    ///
    /// # Errors
    /// The files that could not be removed.
    pub fn close(self) -> Result<(), StoreError> {
        drop(self.thaw);
        match &self.behind {
            Behind::Users | Behind::UsersHere(_) => Ok(()),
            Behind::Directory(lease) => lease.end(),
            Behind::Nodes(nodes) => nodes.end(),
        }
    }

    /// Kills the server and leaves the private directory to the user. Returns the directory and how to open the store in it; these lines come
    /// first.
    ///
    /// # Errors
    /// There is no private directory, or nothing can be written there.
    pub fn keep(self, first: &str) -> Result<KeptDirectory, StoreError> {
        let (lease, open) = match &self.behind {
            Behind::Users | Behind::UsersHere(_) => {
                return Err(StoreError::Session("it has no private directory".into()));
            }
            Behind::Directory(lease) => (lease, self.own_spec(lease.store())),
            Behind::Nodes(nodes) => (nodes.lease(), nodes.start_commands()),
        };
        let open = format!("{first}{open}");
        lease.keep(&open)?;
        Ok(KeptDirectory { directory: lease.store().to_owned(), open })
    }

    /// Returns the spec that opens the files in a directory as a user's own.
    fn own_spec(&self, directory: &Path) -> String {
        Spec { target: Target::Path(directory.to_owned()), ..self.spec.clone() }.to_string()
    }

    /// Closes the installation when nobody needs the server any more: the server is neither asked to end nor waited for.
    ///
    /// # Errors
    /// The files that could not be removed.
    pub fn abandon(self) -> Result<(), StoreError> {
        match &self.behind {
            Behind::Users | Behind::UsersHere(_) => Ok(()),
            Behind::Directory(lease) => lease.end(),
            Behind::Nodes(nodes) => nodes.lease().end(),
        }
    }
}

/// A private directory that was left to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptDirectory {
    /// The directory of the store's files.
    pub directory: PathBuf,
    /// The way to open them: the commands that start the server, or the spec of an embedded store.
    pub open: String,
}
