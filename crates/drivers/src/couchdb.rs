//! CouchDB, and what speaks its HTTP protocol (feature `couchdb`): one document per key.
//!
//! The user's CouchDB is reached by its URL. A private server is PouchDB Server (the program named by `KVTRIAL_POUCHDB`,
//! `pouchdb-server` on `PATH`, or what `kvtrial fetch-store couchdb` got from npm), which keeps its data in LevelDB. It is named PouchDB Server everywhere: its figures are not
//! CouchDB's.
//!
//! | level | what |
//! |---|---|
//! | `commit` | CouchDB syncs its file before it answers |
//! | `os` | PouchDB Server: LevelDB without sync |
//!
//! The key is the document's `_id`: as it is where it is printable ASCII, else `~` and hexadecimal digits. The value is the
//! string `v` of the document, or in base64 the string `b` where it is no plain text. CouchDB changes a document only for those who
//! know its revision: a slot uses the one it saw last of the key it read or wrote last, or asks for it when it hears of a
//! conflict. So writing back what was just read is one request, overwriting anything else is three.
//!
//! A private server asks for a password. Requests carry the cookie that a login came to, which the server checks at no cost that could be
//! measured; name and password in each request would cost it a third more. Those of the user's URL are sent with each request.
//!
//! Compaction is the server's own; counts and sums are a view with the reduce function `_stats`, built when it is asked for.
//! Documents of the database in the URL (or of `kvtrial`) that are not the job's are not touched.

#[cfg(feature = "couchdb")]
mod client;
#[cfg(feature = "couchdb")]
mod document;
#[cfg(feature = "couchdb")]
mod login;
#[cfg(feature = "couchdb")]
mod setup;
#[cfg(feature = "couchdb")]
mod whole;

use ground::npm;
use ground::{built, driver};
use std::path::PathBuf;
use std::time::Duration;
use store::tls::{CA, TLS};
use store::{
    Availability, Bundle, Capabilities, CommandLine, Deployment, Endpoint, MadeOf, Opener, OperationKind, OperationSet,
    Place, ServerPlan, StoreError, StoreInfo, Support, programs,
};
use study::{Class, Durability, Spec, Transport};

const INSTALL: &str =
    "kvtrial fetch-store couchdb (or name a pouchdb-server in KVTRIAL_POUCHDB), or give the URL of a CouchDB";

/// The program that `kvtrial fetch-store couchdb` gets.
pub(crate) static BUNDLE: Bundle = Bundle {
    store: "couchdb",
    product: "PouchDB Server",
    version: "4.2.0",
    licence: "Apache-2.0",
    made_of: MadeOf::Npm {
        package: include_str!("../bundles/couchdb/package.json"),
        lock: include_str!("../bundles/couchdb/package-lock.json"),
        program: "node_modules/.bin/pouchdb-server",
    },
};

const USUAL_PORT: u16 = 5984;

/// Environment variable with the path of a PouchDB Server program.
const POUCHDB: &str = "KVTRIAL_POUCHDB";

/// The one user of a private server.
const USER: &str = "kvtrial";

/// How long a cookie lasts: longer than any run.
const COOKIE_S: u32 = 10 * 365 * 86_400;

/// The request line must stay below 16 KiB, and a byte takes three characters in it at worst.
const MAX_KEY_BYTES: usize = 4000;

/// CouchDB's own limit of a document is 8,000,000 bytes; text takes two bytes for one at worst.
const MAX_VALUE_BYTES: usize = 3_900_000;

const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::BASIC.and(&[
        OperationKind::GetVersioned,
        OperationKind::CompareAndSet,
        OperationKind::GetMany,
        OperationKind::PutMany,
    ]),
    max_key_bytes: MAX_KEY_BYTES,
    max_value_bytes: MAX_VALUE_BYTES,
    compaction: Support::Native,
    reduction: Support::Native,
    ..Capabilities::BASIC
};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "couchdb",
    family: "couchdb",
    transport: Some(Transport::Tcp),
    driver: driver!("couchdb"),
    class: Class::Network,
    kind: "JSON",
    summary: "CouchDB over HTTP (a private one is PouchDB Server)",
    durabilities: &[Durability::Os, Durability::Commit],
    options: &[TLS, CA],
    install: INSTALL,
    licence: "Apache-2.0",
    declares: |_| CAPABILITIES,
    probe,
    opener: Opener::Server { plan, connect: built!("couchdb", setup::connect), usual_port: USUAL_PORT },
}];

fn program() -> Option<PathBuf> {
    let named = std::env::var_os(POUCHDB).map(PathBuf::from).filter(|path| path.is_file());
    named.or_else(|| programs::find(&["pouchdb-server"], &[])).or_else(|| BUNDLE.program())
}

fn probe() -> Availability {
    let Some(program) = program() else { return Availability::NotFound("pouchdb-server".into()) };
    match npm::version(&program, "pouchdb-server") {
        Some(version) => Availability::Found(format!("PouchDB Server {version}")),
        None => Availability::NotFound(format!("{} is not from npm's package pouchdb-server", program.display())),
    }
}

fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    if spec.durability == Some(Durability::Commit) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem:
                "a private server is PouchDB Server, which never syncs; durability=commit needs the URL of a CouchDB"
                    .into(),
        });
    }
    let program = program().ok_or_else(|| StoreError::NotFound {
        store: spec.name.clone(),
        what: "pouchdb-server".into(),
        install: INSTALL.into(),
    })?;
    let (data, port) = (place.directory.join("data"), place.port()?);
    let (config, log) = (place.directory.join("config.json"), place.directory.join("log.txt"));
    let settings = serde_json::json!({
        // At its usual level it writes a line for each request.
        "log": { "file": log, "level": "error" },
        // Only this user may make a database. The server replaces the password by its hash when it starts.
        "admins": { USER: place.secret.reveal() },
        "couch_httpd_auth": { "timeout": COOKIE_S },
    });
    let run = CommandLine::new(program)
        .args(["--host", "127.0.0.1", "--port"])
        .arg(port.to_string())
        .arg("--dir")
        .arg(&data)
        .arg("--config")
        .arg(&config)
        .arg("--no-stdout-logs");
    Ok(ServerPlan {
        directories: vec![data],
        files: vec![(config, settings.to_string())],
        log: Some("log.txt".into()),
        start_timeout: Duration::from_secs(60),
        ..ServerPlan::new(run, Endpoint::loopback(port).with_login(USER, place.secret.clone()))
    }
    .into())
}
