//! MongoDB over TCP or a unix socket, through the `mongodb` driver (feature `mongodb`): one document per key.
//!
//! A private server is a real `mongod` when one is on `PATH`, else FerretDB on SQLite (`ferretd` on `PATH`, or the program named by
//! `KVTRIAL_FERRETD`; `tools/ferretd/build.sh` builds one whose look-ups by `_id` use an index, and whose version says so). FerretDB is a translation
//! layer: it is named FerretDB everywhere, its figures are not MongoDB's. FerretDB 1 reads a document, changes it and writes it back without a
//! transaction: two increments at the same time may count once. So on FerretDB counters and compare-and-set are not native; nor are batches of puts,
//! for which it opens SQLite once per pair, at the same time, until nothing moves any more, nor batches of gets, for which it reads the whole
//! collection.
//!
//! | level | mongod | FerretDB |
//! |---|---|---|
//! | `commit` | write concern `w: 1, j: true`: the journal is synced before the answer | SQLite syncs at each commit |
//! | `second` | `w: 1, j: false`: the journal is synced every 100 ms | - |
//! | `os` | - | SQLite with `synchronous=off`: written, never synced |
//!
//! A private FerretDB asks for a password, once for each connection; it has it from its environment. A private mongod asks for none.
//!
//! Values that are JSON objects are stored as objects, which the aggregation counts and sums; every other value as bytes. FerretDB
//! is asked for counts and sums one after the other: of several in one question it answers the first.
//!
//! Keys are stored as `_id` strings, those that are no plain text in hexadecimal digits: FerretDB looks up only strings through its index. Their
//! order is not the order of the keys' bytes, so scans are not native. The protocol does not pipeline: each slot has a connection, in one pool per
//! session. On the user's server the collections `kvtrial_kv`, `kvtrial_counters` and `kvtrial_fields` are kvtrial's in the database of the URL (or
//! in `kvtrial`); nothing else is touched. With documents in them a run needs `--overwrite`.

#[cfg(feature = "mongodb")]
mod bounded;
#[cfg(feature = "mongodb")]
mod client;
#[cfg(feature = "mongodb")]
mod document;
#[cfg(feature = "mongodb")]
mod identity;
#[cfg(feature = "mongodb")]
mod setup;

use ground::{built, driver};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::tls::{CA, TLS};
use store::{
    Availability, Capabilities, CommandLine, Counter, Deployment, Endpoint, Opener, OperationKind, OperationSet,
    Overflow, Place, ServerPlan, StoreError, StoreInfo, Support, programs,
};
use study::{Class, Durability, Spec, Transport};

const INSTALL: &str = "install mongod (https://www.mongodb.com/try/download/community), or run tools/ferretd/build.sh (Go) and \
                       name it in KVTRIAL_FERRETD";
const WHAT: &str = "mongod or ferretd";
const DURABILITIES: &[Durability] = &[Durability::Commit, Durability::Second, Durability::Os];
const USUAL_PORT: u16 = 27017;

/// Environment variable with the path of a FerretDB program.
const FERRETD: &str = "KVTRIAL_FERRETD";

/// The one user of a private FerretDB, and the database it is kept in.
const USER: &str = "kvtrial";
const DATABASE_OF_USERS: &str = "admin";

const MAX_KEY_BYTES: usize = 16 << 10;

/// The longest value: a document of 16 MiB less room for the longest key and the names. The exact limit depends on the key.
const MAX_VALUE_BYTES: usize = (16 << 20) - (32 << 10);

const NATIVE_OF_FERRETDB: OperationSet = OperationSet::BASIC;

const NATIVE_OF_MONGOD: OperationSet = OperationSet::BASIC.and(&[
    OperationKind::GetMany,
    OperationKind::PutMany,
    OperationKind::GetVersioned,
    OperationKind::CompareAndSet,
    OperationKind::Increment,
    OperationKind::GetCounter,
    OperationKind::IncrementField,
    OperationKind::GetFields,
]);

/// The product that answers.
#[derive(Clone, Copy)]
enum Product {
    MongoDb,
    FerretDb,
}

impl Product {
    fn capabilities(self) -> Capabilities {
        let (native, counter) = match self {
            Product::FerretDb => (NATIVE_OF_FERRETDB, None),
            Product::MongoDb => {
                (NATIVE_OF_MONGOD, Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Refused }))
            }
        };
        Capabilities {
            native,
            counter,
            max_key_bytes: MAX_KEY_BYTES,
            max_value_bytes: MAX_VALUE_BYTES,
            compaction: Support::Native,
            reduction: Support::Native,
            ..Capabilities::BASIC
        }
    }
}

/// Returns the capabilities of the program found here; without one, those that both have.
fn declares(_: &Spec) -> Capabilities {
    match Program::find() {
        Some(Program::Mongod(_)) => Product::MongoDb.capabilities(),
        Some(Program::Ferretd(_)) | None => Product::FerretDb.capabilities(),
    }
}

const TCP: StoreInfo = StoreInfo {
    name: "mongodb",
    family: "mongodb",
    transport: Some(Transport::Tcp),
    driver: driver!("mongodb"),
    class: Class::Network,
    kind: "JSON",
    summary: "MongoDB over TCP (durability commit, second), else FerretDB (commit, os)",
    durabilities: DURABILITIES,
    options: &[TLS, CA],
    install: INSTALL,
    licence: "MongoDB: SSPLv1; FerretDB: Apache-2.0",
    declares,
    probe,
    opener: Opener::Server {
        plan: |spec, place| plan(spec, place, Transport::Tcp),
        connect: built!("mongodb", setup::connect),
        usual_port: USUAL_PORT,
    },
};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[
    TCP,
    StoreInfo {
        name: "mongodb-unix",
        transport: Some(Transport::Unix),
        summary: "MongoDB over a unix socket (durability commit, second), else FerretDB (commit, os)",
        opener: Opener::Server {
            plan: |spec, place| plan(spec, place, Transport::Unix),
            connect: built!("mongodb", setup::connect),
            usual_port: USUAL_PORT,
        },
        ..TCP
    },
];

/// A server program found here.
enum Program {
    Mongod(PathBuf),
    Ferretd(PathBuf),
}

impl Program {
    fn find() -> Option<Program> {
        if let Some(mongod) = programs::find(&["mongod"], &[]) {
            return Some(Program::Mongod(mongod));
        }
        let named = std::env::var_os(FERRETD).map(PathBuf::from).filter(|path| path.is_file());
        named.or_else(|| programs::find(&["ferretd"], &[])).map(Program::Ferretd)
    }
}

fn probe() -> Availability {
    let (product, version) = match Program::find() {
        None => return Availability::NotFound(WHAT.into()),
        Some(Program::Mongod(path)) => ("MongoDB", version(&path)),
        Some(Program::Ferretd(path)) => ("FerretDB", version(&path)),
    };
    Availability::Found(version.map_or(product.to_owned(), |version| format!("{product} {version}")))
}

/// Reads the version from `db version v7.0.14` or `FerretDB v1.24.0`.
fn version(program: &Path) -> Option<String> {
    let line = programs::version_line(program, &["--version"])?;
    line.split_whitespace().find_map(|word| word.strip_prefix('v').filter(|rest| rest.contains('.')).map(str::to_owned))
}

/// Returns whether a FerretDB program can ask for a login: the one from `tools/ferretd` says so.
fn asks_for_a_login(program: &Path) -> bool {
    programs::version_line(program, &["--version"]).is_some_and(|line| line.ends_with("(login)"))
}

/// Returns the version of the FerretDB program found here; as a library FerretDB does not know its version.
#[cfg(feature = "mongodb")]
fn ferretd_version() -> Option<String> {
    match Program::find()? {
        Program::Ferretd(path) => version(&path),
        Program::Mongod(_) => None,
    }
}

fn plan(spec: &Spec, place: &mut Place, transport: Transport) -> Result<Deployment, StoreError> {
    let level = spec.durability.unwrap_or(DURABILITIES[0]);
    let unsupported = |product: &str, levels: &str| StoreError::Unsupported {
        store: spec.name.clone(),
        problem: format!("{product}, found here, has no durability={level}; use {levels}"),
    };
    let port = place.port()?;
    let mut login = None;
    let (run, socket) = match Program::find() {
        Some(Program::Mongod(_)) if level == Durability::Os => return Err(unsupported("MongoDB", "commit or second")),
        Some(Program::Mongod(path)) => {
            let run = CommandLine::new(path).arg("--dbpath").arg(place.directory.join("data"));
            let run = run.args(["--bind_ip", "127.0.0.1", "--port"]).arg(port.to_string());
            let run = match transport {
                Transport::Tcp => run.arg("--nounixsocket"),
                Transport::Unix => run.arg("--unixSocketPrefix").arg(&place.directory),
            };
            (run, format!("mongodb-{port}.sock"))
        }
        Some(Program::Ferretd(_)) if level == Durability::Second => {
            return Err(unsupported("FerretDB", "commit or os"));
        }
        Some(Program::Ferretd(path)) => {
            let pragma = if level == Durability::Commit { "" } else { "?_pragma=synchronous(off)" };
            let asks = asks_for_a_login(&path);
            let mut run = CommandLine::new(path).arg("sqlite");
            if asks {
                let password = place.secret.reveal().to_owned();
                let says = [("DATABASE", DATABASE_OF_USERS.into()), ("USER", USER.into()), ("PASSWORD", password)];
                run.env.extend(says.map(|(name, value): (&str, String)| (format!("FERRETD_{name}"), value)));
                login = Some(place.secret.clone());
            }
            let run = run.arg(format!("file:{}/{pragma}", place.directory.join("data").display()));
            let run = match transport {
                Transport::Tcp => run.arg(format!("127.0.0.1:{port}")).arg(""),
                Transport::Unix => run.arg("").arg(place.directory.join("mongodb.sock")),
            };
            (run, "mongodb.sock".to_owned())
        }
        None => {
            return Err(StoreError::NotFound { store: spec.name.clone(), what: WHAT.into(), install: INSTALL.into() });
        }
    };
    let endpoint = match transport {
        Transport::Tcp => Endpoint::loopback(port),
        Transport::Unix => Endpoint::unix(place.directory.join(socket)),
    };
    let endpoint = match login {
        Some(password) => endpoint.with_login(USER, password),
        None => endpoint,
    };
    Ok(ServerPlan {
        directories: vec!["data".into()],
        start_timeout: Duration::from_secs(60),
        ..ServerPlan::new(run, endpoint)
    }
    .into())
}
