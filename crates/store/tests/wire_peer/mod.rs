//! A session over connections whose other ends the test holds, and a protocol of three letters. Included by several test files.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use kvtrial_store::wire::{self, Codec, Decoded, Expect};
use kvtrial_store::{
    CONNECTIONS, Connections, Endpoint, Failure, Operation, OwnedReply, Reply, Session, SessionPlan, Slot, StoreError,
    Until, Wiring,
};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use study::Spec;
use tempfile::TempDir;
use testkit::Client;

/// Requests are `key LF`; replies `length : value`. The hello is `hello LF`, its only good reply `2:hi`.
pub struct Letters {
    hellos: u32,
}

impl Letters {
    pub fn silent() -> Letters {
        Letters { hellos: 0 }
    }

    pub fn greeting() -> Letters {
        Letters { hellos: 1 }
    }
}

impl Codec for Letters {
    fn hello(&mut self, out: &mut Vec<u8>) -> u32 {
        if self.hellos > 0 {
            out.extend_from_slice(b"hello\n");
        }
        self.hellos
    }

    fn hello_reply<'a>(&'a mut self, input: &'a [u8]) -> Decoded<'a> {
        match letters(input) {
            Decoded::Reply { reply: Reply::Value(b"hi"), consumed } => Decoded::Reply { reply: Reply::Done, consumed },
            Decoded::Reply { consumed, .. } => {
                Decoded::Reply { reply: Reply::Failed(Failure::Refused("it says no")), consumed }
            }
            other => other,
        }
    }

    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) -> Expect {
        let Operation::Get { key } = operation else { panic!("only get is spoken") };
        out.extend_from_slice(key);
        out.push(b'\n');
        Expect { kind: operation.kind(), detail: 0 }
    }

    fn decode<'a>(&'a mut self, _: Expect, input: &'a [u8]) -> Decoded<'a> {
        letters(input)
    }
}

fn letters(input: &[u8]) -> Decoded<'_> {
    let digits = input.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let size: usize = std::str::from_utf8(&input[..digits]).unwrap().parse().unwrap_or(0);
    match input.get(digits) {
        None => Decoded::Incomplete { at_least: 1 },
        Some(b':') if digits > 0 => {
            let consumed = digits + 1 + size;
            match input.get(digits + 1..consumed) {
                Some(value) => Decoded::Reply { reply: Reply::Value(value), consumed },
                None => Decoded::Incomplete { at_least: consumed - input.len() },
            }
        }
        Some(_) => Decoded::Broken("a length and a colon"),
    }
}

pub fn directory() -> TempDir {
    TempDir::new().unwrap()
}

pub fn session(
    endpoint: &Endpoint,
    clients: u32,
    pipeline: u32,
    codec: fn() -> Letters,
) -> Result<Box<dyn Session>, StoreError> {
    wire::session(endpoint, SessionPlan { clients, pipeline }, codec)
}

/// Connections of these clients, by a store's option `connections=`.
fn wiring(clients: u32, pipeline: u32, connections: &str) -> Wiring {
    let mut spec = Spec::private("letters");
    spec.options.insert(CONNECTIONS.name.into(), connections.into());
    SessionPlan { clients, pipeline }.over(Connections::of(&spec).unwrap())
}

/// A session, and the other ends of its connections.
pub struct Peers {
    pub client: Client,
    /// Arrivals the last poll reported.
    pub arrivals: u32,
    path: PathBuf,
    listener: Option<UnixListener>,
    peers: Vec<Option<UnixStream>>,
    _directory: TempDir,
}

impl Peers {
    pub fn new(clients: u32, pipeline: u32) -> Peers {
        Peers::over(clients, pipeline, "client")
    }

    /// The same with `connections=` of a store.
    pub fn over(clients: u32, pipeline: u32, connections: &str) -> Peers {
        let wiring = wiring(clients, pipeline, connections);
        let directory = directory();
        let path = directory.path().join("peer.sock");
        let listener = listen(&path);
        let client = Client::over(wire::session(&Endpoint::unix(&path), wiring, Letters::silent).unwrap());
        let peers = (0..wiring.count()).map(|_| None).collect();
        let mut peers = Peers { client, arrivals: 0, path, listener: Some(listener), peers, _directory: directory };
        (0..wiring.count() as usize).for_each(|number| peers.accept(number));
        peers
    }

    /// Submits a get, which must go into flight.
    pub fn get(&mut self, slot: Slot, key: &str) {
        assert_eq!(self.try_get(slot, key), None);
    }

    /// Submits a get.
    pub fn try_get(&mut self, slot: Slot, key: &str) -> Option<OwnedReply> {
        self.client.session.submit(slot, &Operation::Get { key: key.as_bytes() }).unwrap().map(OwnedReply::from)
    }

    pub fn poll(&mut self, until: Until) -> Vec<(Slot, OwnedReply)> {
        let inbox = self.client.poll(until);
        self.arrivals = inbox.arrivals;
        inbox.replies
    }

    fn peer(&mut self, number: usize) -> &mut UnixStream {
        self.peers[number].as_mut().unwrap()
    }

    /// What has come in on a connection.
    pub fn received(&mut self, number: usize) -> String {
        let (mut text, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            match self.peer(number).read(&mut buffer) {
                Ok(0) => break,
                Ok(size) => text.extend_from_slice(&buffer[..size]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        String::from_utf8(text).unwrap()
    }

    pub fn send(&mut self, number: usize, bytes: &[u8]) {
        self.peer(number).write_all(bytes).unwrap();
    }

    /// Whether the session has closed this connection.
    pub fn hung_up(&mut self, number: usize) -> bool {
        self.received(number);
        matches!(self.peer(number).read(&mut [0]), Ok(0))
    }

    pub fn hang_up(&mut self, number: usize) {
        self.peers[number] = None;
    }

    /// Takes a connection the session has made again.
    pub fn accept(&mut self, number: usize) {
        assert!(self.accept_waiting(number), "the session has not connected again");
    }

    /// Takes a connection the session has made again, if it has.
    pub fn accept_waiting(&mut self, number: usize) -> bool {
        match self.listener.as_ref().unwrap().accept() {
            Ok((peer, _)) => {
                peer.set_nonblocking(true).unwrap();
                self.peers[number] = Some(peer);
                true
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Closes all connections and listens no more.
    pub fn close_all(&mut self) {
        self.peers.iter_mut().for_each(|peer| *peer = None);
        self.listener = None;
        std::fs::remove_file(&self.path).unwrap();
    }

    pub fn listen(&mut self) {
        self.listener = Some(listen(&self.path));
    }
}

fn listen(path: &Path) -> UnixListener {
    let listener = UnixListener::bind(path).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

fn status_bytes(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

pub fn resident_bytes() -> u64 {
    status_bytes("VmRSS")
}

pub fn mapped_bytes() -> u64 {
    status_bytes("VmData")
}
