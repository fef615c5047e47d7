//! A store of the registry with its private server, started as kvtrial starts it.

use crate::client::Client;
use host::{Nodes, OpenStore};
use std::sync::OnceLock;
use store::{Capabilities, Connect, Endpoint, Opener, OperationKind, Store, StoreError, StoreInfo};
use study::Spec;

/// A store and what stands behind it. What a test does not expect panics.
pub struct Rig {
    spec: Spec,
    open: OpenStore,
}

/// Returns what the registry says of a store.
pub fn info(name: &str) -> &'static StoreInfo {
    catalog::find(name).unwrap_or_else(|| panic!("no store named {name}"))
}

/// Returns how an adapter connects to servers that run.
pub fn connect_of(name: &str) -> Connect {
    let Opener::Server { connect, .. } = info(name).opener else { panic!("{name} is no server") };
    connect
}

impl Rig {
    /// Opens the store of a spec; a server is started, and answers.
    pub fn start(spec: &str) -> Rig {
        let spec: Spec = spec.parse().unwrap_or_else(|error| panic!("{spec}: {error}"));
        let open = host::open(info(&spec.name), &spec, &std::env::temp_dir());
        Rig { open: open.unwrap_or_else(|error| panic!("{error}")), spec }
    }

    /// Returns a rig that all tests of a file share.
    pub fn shared(spec: &str, cell: &'static OnceLock<Rig>) -> &'static Rig {
        cell.get_or_init(|| Rig::start(spec))
    }

    /// Returns the store.
    pub fn store(&self) -> &dyn Store {
        self.open.store()
    }

    /// Returns the store's name in the registry.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Connects to the store once more.
    ///
    /// # Errors
    /// When its server cannot be reached.
    pub fn connect(&self) -> Result<Box<dyn Store>, StoreError> {
        layers::connect(info(&self.spec.name), &self.spec, &self.endpoints())
    }

    /// Returns what the store can do.
    pub fn capabilities(&self) -> &Capabilities {
        self.store().capabilities()
    }

    /// Returns whether the store does this operation itself.
    pub fn has(&self, kind: OperationKind) -> bool {
        self.capabilities().has(kind)
    }

    /// Opens a session.
    pub fn client(&self, clients: u32, pipeline: u32) -> Client {
        Client::new(self.store(), clients, pipeline)
    }

    /// Returns where the server listens.
    pub fn endpoint(&self) -> &Endpoint {
        self.open.endpoint().unwrap_or_else(|| panic!("{} has no server", self.spec))
    }

    /// Returns where all nodes of a deployment listen.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        self.nodes().endpoints()
    }

    /// Returns the port of a server that listens on one.
    pub fn port(&self) -> u16 {
        let endpoint = self.endpoint();
        endpoint.tcp().unwrap_or_else(|| panic!("{endpoint} is no port")).1
    }

    /// Returns the process id of the server.
    pub fn pid(&self) -> i32 {
        self.open.server_pid().unwrap_or_else(|| panic!("{} has no server", self.spec))
    }

    /// Returns the server as a user reaches it by URL: `root:…@127.0.0.1:2379`, without the login where the server asks for none.
    pub fn authority(&self) -> String {
        let endpoint = self.endpoint();
        let login = endpoint.user.as_ref().zip(endpoint.password.as_ref());
        let login = login.map_or(String::new(), |(user, password)| format!("{user}:{}@", password.reveal()));
        format!("{login}127.0.0.1:{}", self.port())
    }

    /// Returns the password the server was given, or nothing.
    pub fn password(&self) -> String {
        self.endpoint().password.as_ref().map(|password| password.reveal().to_owned()).unwrap_or_default()
    }

    /// Returns the arguments the server was started with.
    pub fn arguments(&self) -> Vec<String> {
        let line = std::fs::read(format!("/proc/{}/cmdline", self.pid())).unwrap_or_default();
        String::from_utf8_lossy(&line).split('\0').map(str::to_owned).collect()
    }

    /// Returns what stands behind this name in the server's arguments.
    pub fn argument(&self, name: &str) -> String {
        let arguments = self.arguments();
        let found = arguments.iter().find_map(|argument| argument.strip_prefix(name));
        found.unwrap_or_else(|| panic!("no {name} in {arguments:?}")).to_owned()
    }

    /// Returns the path of a file beside the server's data.
    pub fn file(&self, name: &str) -> String {
        let arguments = self.arguments();
        let directory = arguments.iter().find_map(|argument| argument.split('=').next_back()?.strip_suffix("/data"));
        format!("{}/{name}", directory.unwrap_or_else(|| panic!("no data in {arguments:?}")))
    }

    /// Bytes on disk.
    pub fn disk_bytes(&self) -> u64 {
        self.open.disk_bytes().unwrap_or_else(|| panic!("{} has no directory", self.spec))
    }

    /// Kills the server without warning.
    pub fn kill(&self) {
        self.nodes().kill("").unwrap_or_else(|error| panic!("{error}"));
    }

    /// Starts a killed server again, in its directory and at its endpoint.
    pub fn start_again(&self) {
        self.nodes().restart("").unwrap_or_else(|error| panic!("{error}"));
    }

    /// Kills a node of several without warning.
    pub fn kill_node(&self, name: &str) {
        self.nodes().kill(name).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Starts a killed node of several again, in its directory and at its endpoint.
    pub fn start_node_again(&self, name: &str) {
        self.nodes().restart(name).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Returns whether each node that was started again has what the others wrote meanwhile.
    pub fn has_caught_up(&self) -> bool {
        self.nodes().caught_up().unwrap_or_else(|| panic!("this store does not say it")).is_ok()
    }

    /// Starts one node more and lets it join the others; where it serves clients.
    pub fn add_node(&self) -> Endpoint {
        let name = self.nodes().join().unwrap_or_else(|error| panic!("{error}"));
        let added = self.nodes().states().into_iter().find(|node| node.name == name);
        added.unwrap_or_else(|| panic!("{name} is not there")).endpoint
    }

    /// Kills the server and starts it again.
    pub fn restart(&self) {
        self.kill();
        self.start_again();
    }

    /// Lets the server keep its connections and answer nobody.
    pub fn freeze(&self) {
        self.nodes().freeze("").unwrap_or_else(|error| panic!("{error}"));
    }

    /// Lets a frozen server go on.
    pub fn thaw(&self) {
        self.nodes().thaw("").unwrap_or_else(|error| panic!("{error}"));
    }

    /// Ends the server and removes its directory.
    pub fn close(self) {
        self.open.close().unwrap_or_else(|error| panic!("{error}"));
    }

    fn nodes(&self) -> &Nodes {
        self.open.nodes().unwrap_or_else(|| panic!("{} has no server", self.spec))
    }
}
