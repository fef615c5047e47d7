//! A store opened in a private directory, and one client of it with owned replies.

use std::path::Path;
use std::task::Context;
use std::time::{Duration, Instant};
use store::{Capabilities, Endpoint, Opener, Operation, Reply, Session, SessionPlan, Sink, Slot, Store, Until};
use study::Spec;
use tempfile::TempDir;
use testkit::tyrant_server::{Listen, TyrantServer};

/// A reply that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Value(Vec<u8>),
    Versioned(Vec<u8>, u64),
    Missing,
    Done,
    Number(i64),
    Conflict,
    Rows(Vec<(Vec<u8>, Vec<u8>)>),
    Failed(String),
}

impl Answer {
    pub fn of(reply: &Reply<'_>) -> Answer {
        match reply {
            Reply::Value(value) => Answer::Value(value.to_vec()),
            Reply::Versioned { value, version } => Answer::Versioned(value.to_vec(), *version),
            Reply::Missing => Answer::Missing,
            Reply::Done => Answer::Done,
            Reply::Number(number) => Answer::Number(*number),
            Reply::Conflict => Answer::Conflict,
            Reply::Rows(rows) => Answer::Rows(rows.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()),
            Reply::Failed(failure) => Answer::Failed(format!("{failure:?}")),
        }
    }

    pub fn value(text: impl AsRef<[u8]>) -> Answer {
        Answer::Value(text.as_ref().to_vec())
    }

    pub fn rows<K: AsRef<[u8]>, V: AsRef<[u8]>>(rows: impl IntoIterator<Item = (K, V)>) -> Answer {
        Answer::Rows(rows.into_iter().map(|(key, value)| (key.as_ref().to_vec(), value.as_ref().to_vec())).collect())
    }
}

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
        let info = kvtrial_stores::find(&self.spec.name).unwrap();
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
    let info = kvtrial_stores::find(&spec.name).unwrap();
    info.check_options(spec).unwrap();
    let Opener::Embedded(open) = info.opener else { panic!("{} is not embedded", spec.name) };
    open(spec, directory).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

/// One session with one slot.
pub struct Client {
    session: Box<dyn Session>,
}

impl Client {
    pub fn of(store: &dyn Store) -> Client {
        Client { session: store.session(SessionPlan { clients: 1, pipeline: 1 }).unwrap() }
    }

    pub fn ask(&mut self, operation: Operation<'_>) -> Answer {
        if let Some(reply) = self.session.submit(0, &operation).unwrap() {
            return Answer::of(&reply);
        }
        struct Keep(Option<Answer>);
        impl Sink for Keep {
            fn arrived(&mut self) {}
            fn reply(&mut self, _: Slot, reply: &Reply<'_>) {
                self.0 = Some(Answer::of(reply));
            }
        }
        let mut keep = Keep(None);
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        while keep.0.is_none() {
            assert!(Instant::now() < deadline, "no reply in 30 s");
            let _ = self.session.poll(&mut cx, Until::At(deadline), &mut keep);
        }
        keep.0.unwrap()
    }

    pub fn get(&mut self, key: impl AsRef<[u8]>) -> Answer {
        self.ask(Operation::Get { key: key.as_ref() })
    }

    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Answer {
        self.ask(Operation::Put { key: key.as_ref(), value: value.as_ref() })
    }

    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> Answer {
        self.ask(Operation::Delete { key: key.as_ref() })
    }

    pub fn append(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Answer {
        self.ask(Operation::Append { key: key.as_ref(), value: value.as_ref() })
    }

    pub fn increment(&mut self, key: impl AsRef<[u8]>, by: i64) -> Answer {
        self.ask(Operation::Increment { key: key.as_ref(), by })
    }

    pub fn scan(&mut self, start: impl AsRef<[u8]>, limit: u32) -> Answer {
        self.ask(Operation::Scan { start: start.as_ref(), limit })
    }
}
