//! Amazon DynamoDB, and what speaks its protocol (feature `dynamodb`): one item per key, in one table.
//!
//! The user's is reached by its URL: `dynamodb://KEY:SECRET@HOST/TABLE`. A private server is dynalite (the program named by
//! `KVTRIAL_DYNALITE`, `dynalite` on `PATH`, or what `kvtrial fetch-store dynamodb` got from npm), which keeps its data in LevelDB. It is
//! named dynalite everywhere: its figures are not Amazon's. DynamoDB Local, whose licence is not an open one, is not started: it is
//! reached by its URL.
//!
//! | level | what |
//! |---|---|
//! | `commit` | Amazon's own: written to several places before the answer |
//! | `os` | dynalite: LevelDB without sync |
//! | `none` | dynalite in memory; a server of the user's that is not Amazon's promises nothing |
//!
//! The key is the binary attribute `k`, the value `v`, a counter the number `n`; the counters of a record are attributes of their own.
//! Reads are consistent. An empty value is left out. Compare-and-set and bounds of counters are conditions of the write, which the
//! server tests. An item takes 400 KB: what is larger is refused before it is sent.
//!
//! A batch may be answered with status 200 and a list of what was *not* done. That is never counted as done: a batch of writes is
//! refused as soon as one of its items is in that list, and so are reads, unless the answer is simply full.

#[cfg(feature = "dynamodb")]
mod client;
#[cfg(feature = "dynamodb")]
mod item;
#[cfg(feature = "dynamodb")]
mod setup;

use crate::shared::aws;
use ground::npm;
use ground::{built, driver};
use std::path::PathBuf;
use store::{
    Availability, Bundle, Capabilities, CommandLine, Counter, Deployment, Endpoint, MadeOf, Opener, OperationKind,
    OperationSet, Overflow, Place, ServerPlan, StoreError, StoreInfo, programs,
};
use study::{Class, Durability, Spec, Transport};

const INSTALL: &str =
    "kvtrial fetch-store dynamodb (or name a dynalite in KVTRIAL_DYNALITE), or give the URL of a DynamoDB";

/// The program that `kvtrial fetch-store dynamodb` gets.
pub(crate) static BUNDLE: Bundle = Bundle {
    store: "dynamodb",
    product: "dynalite",
    version: "4.0.0",
    licence: "Apache-2.0",
    made_of: MadeOf::Npm {
        package: include_str!("../bundles/dynamodb/package.json"),
        lock: include_str!("../bundles/dynamodb/package-lock.json"),
        program: "node_modules/.bin/dynalite",
    },
};

/// The usual port, which is the port of TLS: Amazon's, and a private server never has it.
const USUAL_PORT: u16 = 443;

/// Environment variable with the path of a dynalite program.
const DYNALITE: &str = "KVTRIAL_DYNALITE";

/// The package of dynalite.
const PACKAGE: &str = "dynalite";

/// The name that signs requests to a private server, which looks whether there is a signature, and not at it.
const USER: &str = "kvtrial";

/// The longest key that items are found by.
const MAX_KEY_BYTES: usize = 2048;

/// The largest item: names and values of its attributes together.
const MAX_ITEM_BYTES: usize = 400 << 10;

/// The bytes of the names of the two attributes of an item with a value.
const NAMES_BYTES: usize = 2;

const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::BASIC.and(&[
        OperationKind::GetVersioned,
        OperationKind::CompareAndSet,
        OperationKind::Increment,
        OperationKind::GetCounter,
        OperationKind::IncrementField,
        OperationKind::GetFields,
        OperationKind::GetMany,
        OperationKind::PutMany,
    ]),
    min_key_bytes: 1,
    max_key_bytes: MAX_KEY_BYTES,
    // With the longest key. A shorter one leaves room for more.
    max_value_bytes: MAX_ITEM_BYTES - NAMES_BYTES - MAX_KEY_BYTES,
    counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Refused }),
    ..Capabilities::BASIC
};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "dynamodb",
    family: "dynamodb",
    transport: Some(Transport::Tcp),
    driver: driver!("dynamodb"),
    class: Class::Network,
    kind: "items",
    summary: "Amazon DynamoDB over HTTP (a private one is dynalite)",
    durabilities: &[Durability::Os, Durability::None, Durability::Commit],
    options: &aws::OPTIONS,
    install: INSTALL,
    licence: "Apache-2.0",
    declares: |_| CAPABILITIES,
    probe,
    opener: Opener::Server { plan, connect: built!("dynamodb", setup::connect), usual_port: USUAL_PORT },
}];

fn program() -> Option<PathBuf> {
    let named = std::env::var_os(DYNALITE).map(PathBuf::from).filter(|path| path.is_file());
    named.or_else(|| programs::find(&[PACKAGE], &[])).or_else(|| BUNDLE.program())
}

fn probe() -> Availability {
    let Some(program) = program() else { return Availability::NotFound(PACKAGE.into()) };
    match npm::version(&program, PACKAGE) {
        Some(version) => Availability::Found(format!("dynalite {version}")),
        None => Availability::NotFound(format!("{} is not from npm's package dynalite", program.display())),
    }
}

fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let unsupported = |problem: String| Err(StoreError::Unsupported { store: spec.name.clone(), problem });
    if let Some(option) = spec.options.keys().next() {
        return unsupported(format!("{option}= is for yours; a private one is dynalite, on loopback"));
    }
    if spec.durability == Some(Durability::Commit) {
        return unsupported(
            "a private server is dynalite, which never syncs; durability=commit needs the URL of Amazon's".into(),
        );
    }
    let program = program().ok_or_else(|| StoreError::NotFound {
        store: spec.name.clone(),
        what: PACKAGE.into(),
        install: INSTALL.into(),
    })?;
    let port = place.port()?;
    let mut run = CommandLine::new(program)
        .args(["--host", "127.0.0.1", "--createTableMs", "0", "--deleteTableMs", "0", "--port"])
        .arg(port.to_string());
    let data = place.directory.join("data");
    if spec.durability != Some(Durability::None) {
        run = run.arg("--path").arg(&data);
    }
    let endpoint = Endpoint { user: Some(USER.into()), ..Endpoint::loopback(port) };
    Ok(ServerPlan {
        directories: vec![data],
        start_timeout: std::time::Duration::from_secs(60),
        ..ServerPlan::new(run, endpoint)
    }
    .into())
}
