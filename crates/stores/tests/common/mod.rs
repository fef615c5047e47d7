//! What every store behind an async driver must do, against a real server started for it.

#![allow(clippy::unwrap_used, dead_code)]

pub mod restart;
pub mod suite;

use std::future::poll_fn;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use store::{
    Capabilities, Failure, Operation, OperationKind, Reply, Session, SessionPlan, Sink, Slot, Store, StoreInfo, Sweep,
    Until,
};
use study::Spec;

/// The longest any operation of a test may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A reply that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Got {
    Value(Vec<u8>),
    Versioned(Vec<u8>, u64),
    Missing,
    Done,
    Number(i64),
    Conflict,
    Rows(Vec<(Vec<u8>, Vec<u8>)>),
    Refused(String),
    Lost(String),
    Protocol(String),
    Deadline,
}

impl From<Reply<'_>> for Got {
    fn from(reply: Reply<'_>) -> Got {
        match reply {
            Reply::Value(value) => Got::Value(value.to_vec()),
            Reply::Versioned { value, version } => Got::Versioned(value.to_vec(), version),
            Reply::Missing => Got::Missing,
            Reply::Done => Got::Done,
            Reply::Number(number) => Got::Number(number),
            Reply::Conflict => Got::Conflict,
            Reply::Rows(rows) => Got::Rows(rows.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()),
            Reply::Failed(Failure::Refused(words)) => Got::Refused(words.into()),
            Reply::Failed(Failure::ConnectionLost(words)) => Got::Lost(words.into()),
            Reply::Failed(Failure::Protocol(words)) => Got::Protocol(words.into()),
            Reply::Failed(Failure::Deadline) => Got::Deadline,
        }
    }
}

impl Got {
    pub fn rows(pairs: &[(&[u8], &[u8])]) -> Got {
        Got::Rows(pairs.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect())
    }
}

/// The server of a test file, started once.
pub struct Rig {
    open: host::OpenStore,
}

impl Rig {
    pub fn start(spec: &str) -> Rig {
        let spec: Spec = spec.parse().unwrap();
        let open = host::open(info(&spec.name), &spec, &std::env::temp_dir());
        Rig { open: open.unwrap_or_else(|error| panic!("{error}")) }
    }

    pub fn shared(spec: &str, cell: &'static OnceLock<Rig>) -> &'static Rig {
        cell.get_or_init(|| Rig::start(spec))
    }

    pub fn store(&self) -> &dyn Store {
        self.open.store()
    }

    pub fn has(&self, kind: OperationKind) -> bool {
        self.capabilities().has(kind)
    }

    pub fn capabilities(&self) -> &Capabilities {
        self.store().capabilities()
    }

    pub fn client(&self, clients: u32, pipeline: u32) -> Client {
        Client::new(self.store(), clients, pipeline)
    }

    pub fn pid(&self) -> i32 {
        self.open.server_pid().unwrap()
    }

    /// The path of the server's socket.
    pub fn socket(&self, name: &str) -> String {
        let pid = self.open.server_pid().unwrap();
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        let command = String::from_utf8_lossy(&command).into_owned();
        let directory = command.split('\0').find_map(|arg| arg.split('=').next_back()?.strip_suffix("/data"));
        format!("{}/{name}", directory.unwrap())
    }

    /// The port the server was given: the first argument that names one.
    pub fn port(&self) -> u16 {
        let pid = self.open.server_pid().unwrap();
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        let command = String::from_utf8_lossy(&command).into_owned();
        let mut words = command.split('\0').flat_map(|arg| arg.split(['=', ':']));
        words.find_map(|word| word.parse().ok().filter(|port| *port > 1024)).unwrap()
    }

    /// The server as a user reaches it by URL: `root:…@127.0.0.1:2379`, without the login where it asks for none.
    pub fn authority(&self) -> String {
        let endpoint = self.open.endpoint().unwrap();
        let login = endpoint.user.as_ref().zip(endpoint.password.as_ref());
        let login = login.map_or(String::new(), |(user, password)| format!("{user}:{}@", password.reveal()));
        format!("{login}127.0.0.1:{}", self.port())
    }

    /// What stands behind this in the server's arguments.
    pub fn argument(&self, name: &str) -> String {
        let pid = self.open.server_pid().unwrap();
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        let command = String::from_utf8_lossy(&command).into_owned();
        command.split('\0').find_map(|arg| arg.strip_prefix(name)).unwrap().to_owned()
    }

    /// The password the server was given, if it was given one.
    pub fn password(&self) -> String {
        let password = self.open.endpoint().unwrap().password.as_ref();
        password.map(|password| password.reveal().to_owned()).unwrap_or_default()
    }

    /// Bytes on disk.
    pub fn disk_bytes(&self) -> u64 {
        self.open.disk_bytes().unwrap()
    }

    pub fn close(self) {
        self.open.close().unwrap();
    }
}

pub fn info(name: &str) -> &'static StoreInfo {
    kvtrial_stores::find(name).unwrap_or_else(|| panic!("no store named {name}"))
}

/// A session with all its slots, called from a test.
pub struct Client {
    session: Box<dyn Session>,
}

struct Replies<'a>(&'a mut [Option<Got>], &'a mut usize);

impl Sink for Replies<'_> {
    fn arrived(&mut self) {}

    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        let seen = self.0[slot as usize].replace((*reply).into());
        assert_eq!(seen, None, "slot {slot} was answered twice");
        *self.1 += 1;
    }
}

impl Client {
    pub fn new(store: &dyn Store, clients: u32, pipeline: u32) -> Client {
        Client { session: store.session(SessionPlan { clients, pipeline }).unwrap() }
    }

    /// One operation on slot 0.
    pub fn call(&mut self, operation: Operation<'_>) -> Got {
        self.all(&[operation]).remove(0)
    }

    /// Operation `i` on slot `i`, all at once.
    pub fn all(&mut self, operations: &[Operation<'_>]) -> Vec<Got> {
        let session = &mut self.session;
        let mut replies: Vec<Option<Got>> = vec![None; operations.len()];
        let mut count = 0;
        let limit = Instant::now() + PATIENCE;
        session.executor().run(async {
            for (slot, operation) in operations.iter().enumerate() {
                if let Some(reply) = session.submit(slot as Slot, operation).unwrap() {
                    replies[slot] = Some(reply.into());
                    count += 1;
                }
            }
            while count < operations.len() {
                assert!(Instant::now() < limit, "no answer to {:?}", operations[0].kind());
                let mut sink = Replies(&mut replies, &mut count);
                poll_fn(|cx| session.poll(cx, Until::At(limit), &mut sink)).await.unwrap();
            }
        });
        replies.into_iter().map(Option::unwrap).collect()
    }

    pub fn get(&mut self, key: &[u8]) -> Got {
        self.call(Operation::Get { key })
    }

    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Got {
        self.call(Operation::Put { key, value })
    }
}

/// Starts each store at each level, writes and reads, and compares the level with what the server says.
pub fn levels(names: &[&str], levels: &[&str]) {
    for name in names {
        for level in levels {
            let rig = Rig::start(&format!("{name},durability={level}"));
            assert_eq!(rig.capabilities().durability.name(), *level);
            let mut client = rig.client(2, 1);
            assert_eq!(client.put(b"k", level.as_bytes()), Got::Done);
            assert_eq!(client.get(b"k"), Got::Value(level.as_bytes().to_vec()));
            drop(client);
            rig.close();
        }
    }
}

/// Batches that take the same rows in opposite orders: the server undoes some, and none of that is lost or left unsaid.
pub fn deadlocks(rig: &Rig, clients: u32) {
    let keys: Vec<Vec<u8>> = (0..300).map(|number| format!("deadlock {number:03}").into_bytes()).collect();
    let up: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (&key[..], &b"up"[..])).collect();
    let down: Vec<(&[u8], &[u8])> = keys.iter().rev().map(|key| (&key[..], &b"down"[..])).collect();
    let mut client = rig.client(clients, 1);
    let before = rig.store().resent();
    // Whether batches overlap is chance, and a fast machine is soon through with one.
    let limit = Instant::now() + PATIENCE;
    while Instant::now() < limit {
        let batches: Vec<Operation<'_>> =
            (0..clients).map(|slot| Operation::PutMany { pairs: if slot % 2 == 0 { &up } else { &down } }).collect();
        assert_eq!(client.all(&batches), vec![Got::Done; clients as usize]);
        if rig.store().resent() > before {
            return;
        }
    }
    panic!("{clients} batches in opposite orders, again and again, and no deadlock");
}

/// Documents counted and summed by the store itself, with characters that any way of keeping text could spoil.
pub fn reduces(rig: &Rig) {
    let documents = [
        r#"{"place":{"code":"FR"},"people":7}"#,
        r#"{"people":-9007199254740990,"place":{"code":"back\\slash \"ö\" 漢"},"more":[null,"\u0001"]}"#,
        r#"{"place":{"code":"FR"},"people":9000000000}"#,
        "{\t\"place\":\n{\"code\":\"\"},\"people\":0,\"x\":\"\u{7f}\"}",
    ];
    let mut client = rig.client(1, 1);
    for (number, document) in documents.iter().enumerate() {
        assert_eq!(client.put(format!("document {number}").as_bytes(), document.as_bytes()), Got::Done);
    }
    let field = |path: &str| store::FieldPath::parse(path).unwrap();
    let reduction = store::Reduction { group: field("place.code"), sum: field("people") };
    let mut groups = rig.store().reduce(&reduction, PATIENCE).unwrap();
    groups.sort();
    let groups: Vec<_> = groups.iter().map(|group| (group.key.as_str(), group.count, group.sum)).collect();
    assert_eq!(groups, [("", 1, 0), ("FR", 2, 9_000_000_007), ("back\\slash \"ö\" 漢", 1, -9_007_199_254_740_990)]);
    for (number, document) in documents.iter().enumerate() {
        let key = format!("document {number}");
        assert_eq!(client.get(key.as_bytes()), Got::Value(document.as_bytes().to_vec()));
        assert_eq!(client.call(Operation::Delete { key: key.as_bytes() }), Got::Done);
    }
    rig.store().compact(PATIENCE).unwrap();
    assert_eq!(client.get(b"document 1"), Got::Missing);
}

/// Many keys at once, of which some are there: found, counted, and deleted with no other.
pub fn sweeps(rig: &Rig) {
    let mut client = rig.client(1, 4);
    let key = |n: u32| {
        if n.is_multiple_of(2) { format!("key {n}").into_bytes() } else { [&[1, b'\t'], &n.to_be_bytes()[..]].concat() }
    };
    let keys: Vec<Vec<u8>> = (0..1000).map(key).collect();
    for key in &keys[10..310] {
        assert_eq!(client.put(key, b"v"), Got::Done);
    }
    assert_eq!(client.put(b"another", b"stays"), Got::Done);
    let lent: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let found = Some(store::Swept { there: 300, first: Some(10) });
    let none = Some(store::Swept::default());
    for (sweep, expected) in [(Sweep::Look, found), (Sweep::Delete, found), (Sweep::Look, none), (Sweep::Delete, none)]
    {
        assert_eq!(rig.store().sweep(sweep, &lent).unwrap(), expected, "{sweep:?}");
    }
    assert_eq!(rig.store().sweep(Sweep::Delete, &[]).unwrap(), none);
    assert!(keys[10..310].iter().all(|key| client.get(key) == Got::Missing));
    assert_eq!(client.get(b"another"), Got::Value(b"stays".to_vec()));
    assert_eq!(client.put(&keys[10], b"again"), Got::Done);
}

/// The same server reached by its URL: connecting leaves the rows of kvtrial's own tables, which are counted, and made again only when
/// that is asked for; the user's data stay as they are.
pub fn as_the_users_own(rig: &Rig, url: &str) {
    let mut private = rig.client(1, 1);
    assert_eq!(private.put(b"the user's", b"data"), Got::Done);
    let spec: Spec = url.parse().unwrap();
    let open = || host::open(info(&spec.name), &spec, &std::env::temp_dir()).unwrap();
    let first = open();
    let mut client = Client::new(first.store(), 1, 1);
    assert_eq!(client.get(b"the user's"), Got::Missing, "another database than the private one");
    assert_eq!(client.put(b"k", b"v"), Got::Done);
    drop(client);
    let again = open();
    assert_eq!(Client::new(again.store(), 1, 1).get(b"k"), Got::Value(b"v".to_vec()), "nobody said it may go");
    assert_eq!(again.store().own_rows().unwrap(), Some(1));
    again.store().clear().unwrap();
    assert_eq!(Client::new(again.store(), 1, 1).get(b"k"), Got::Missing);
    assert_eq!(again.store().own_rows().unwrap(), Some(0));
    assert_eq!(private.get(b"the user's"), Got::Value(b"data".to_vec()));
}

/// The same: a level that the server does not have is refused with the one it has.
pub fn with_its_own_level(url: &str, level: &str) {
    let asked: Spec = format!("{url},durability=commit").parse().unwrap();
    let spec = &asked;
    let error = host::open(info(&spec.name), &asked, &std::env::temp_dir()).unwrap_err().to_string();
    assert!(error.contains("durability=commit was asked for") && error.contains(level), "{error}");
}
