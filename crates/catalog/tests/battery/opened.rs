//! A store opened in a private directory.

use std::path::Path;
use store::{Capabilities, Endpoint, Opener, Store};
use study::Spec;
use tempfile::TempDir;
use testkit::Client;
use testkit::tyrant_server::{Listen, TyrantServer};

/// A store in a private directory that is removed afterwards; the Tyrant stores over the test server.
pub struct Opened {
    store: Option<Box<dyn Store>>,
    server: Option<TyrantServer>,
    spec: Spec,
    directory: TempDir,
}

impl Opened {
    pub fn fresh(spec: &str) -> Opened {
        let directory = TempDir::with_prefix("kvtrial-battery-").unwrap();
        let spec = spec.parse().unwrap();
        let mut opened = Opened { store: None, server: None, spec, directory };
        opened.reopen();
        opened
    }

    pub fn store(&self) -> &dyn Store {
        self.store.as_deref().unwrap()
    }

    pub fn capabilities(&self) -> &Capabilities {
        self.store().capabilities()
    }

    pub fn spec(&self) -> String {
        self.spec.to_string()
    }

    pub fn client(&self) -> Client {
        Client::of(self.store())
    }

    /// Closes the store and opens it again over the same files.
    pub fn reopen(&mut self) {
        self.store = None;
        self.server = None;
        let info = kvtrial_catalog::find(&self.spec.name).unwrap();
        self.store = Some(match info.opener {
            Opener::Embedded(_) => open(&self.spec, self.directory.path()),
            Opener::Server { connect, .. } => {
                let database = self.directory.path().join("casket.tch");
                let socket = self.directory.path().join("tyrant.sock");
                let unix = self.spec.name == "tyrant-unix";
                let listen = if unix { Listen::Unix(socket.clone()) } else { Listen::Tcp(0) };
                let server = TyrantServer::start(listen, &database).unwrap();
                let endpoint = if unix { Endpoint::unix(socket) } else { Endpoint::loopback(server.port()) };
                self.server = Some(server);
                connect(&self.spec, &[endpoint]).unwrap()
            }
        });
    }
}

/// Opens an embedded store over a directory.
pub fn open(spec: &Spec, directory: &Path) -> Box<dyn Store> {
    let info = kvtrial_catalog::find(&spec.name).unwrap();
    layers::check(info, spec).unwrap();
    let Opener::Embedded(open) = info.opener else { panic!("{} is not embedded", spec.name) };
    open(spec, directory).unwrap_or_else(|error| panic!("{spec}: {error}"))
}
