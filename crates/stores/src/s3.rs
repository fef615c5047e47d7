//! Amazon S3, and what speaks its protocol (feature `s3`): one object a key, in one bucket.
//!
//! The user's is reached by its URL: `s3://KEY:SECRET@HOST/BUCKET`; the bucket stands in the path. A private server is s3s-fs
//! (`s3s-fs` on `PATH`, or the program named by `KVTRIAL_S3S_FS`; from crates.io), which keeps objects in files. It is named s3s-fs
//! everywhere: its figures are not Amazon's.
//!
//! | level | what |
//! |---|---|
//! | `commit` | Amazon's own: written to several places before the answer |
//! | `os` | s3s-fs: files without sync |
//! | `none` | a server of the user's that is not Amazon's promises nothing |
//!
//! The name of an object is the key where it is letters, digits, `-` and `_`, else `~` and base64. S3 has no append, no counters and no
//! batches. A delete does not tell whether there was anything, so it is two requests, the second on the condition of the ETag that
//! the first found. s3s-fs and others ignore that: of two clients that delete one object both may be told that it was there. Compare-and-set is `If-None-Match: *` and
//! `If-Match` with the object's ETag. It is known of servers of the user's only: s3s-fs tests a condition first and writes then, so of
//! several clients more than one wins.

#[cfg(feature = "s3")]
mod client;
#[cfg(feature = "s3")]
mod setup;

use crate::shared::aws;
use crate::shared::driver::{built, driver};
use std::path::PathBuf;
use store::{
    Availability, Capabilities, CommandLine, Deletes, Deployment, Endpoint, Opener, OperationKind, OperationSet, Place,
    ServerPlan, StoreError, StoreInfo, programs,
};
use study::{Class, Durability, Spec, Target, Transport};

const INSTALL: &str =
    "cargo install s3s-fs --features binary (or name the program in KVTRIAL_S3S_FS), or give the URL of an S3";

/// That of TLS: Amazon's, and a private one never has it.
const USUAL_PORT: u16 = 443;

/// Environment variable with the path of an s3s-fs program.
const S3S_FS: &str = "KVTRIAL_S3S_FS";

const PRODUCT: &str = "s3s-fs";

/// A name takes 1,024 bytes, and base64 four for three.
const MAX_KEY_BYTES: usize = 767;

/// s3s-fs keeps the name once more in base64 as a part of the name of a file, which takes 255 bytes.
const MAX_PRIVATE_KEY_BYTES: usize = 120;

/// kvtrial's own limit: an object may have 5 GiB.
const MAX_VALUE_BYTES: usize = 64 << 20;

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "s3",
    family: "s3",
    transport: Some(Transport::Tcp),
    driver: driver!("s3"),
    class: Class::Network,
    kind: "objects",
    summary: "Amazon S3 over HTTP (a private one is s3s-fs)",
    durabilities: &[Durability::Os, Durability::None, Durability::Commit],
    options: &aws::OPTIONS,
    install: INSTALL,
    licence: "Apache-2.0",
    declares: capabilities,
    probe,
    opener: Opener::Server { plan, connect: built!("s3", setup::connect), usual_port: USUAL_PORT },
}];

fn capabilities(spec: &Spec) -> Capabilities {
    let conditions: &[OperationKind] = &[OperationKind::GetVersioned, OperationKind::CompareAndSet];
    let (native, max_key_bytes) = match spec.target {
        Target::Server(_) => (OperationSet::BASIC.and(conditions), MAX_KEY_BYTES),
        Target::Private | Target::Path(_) => (OperationSet::BASIC, MAX_PRIVATE_KEY_BYTES),
    };
    Capabilities {
        native,
        min_key_bytes: 1,
        max_key_bytes,
        max_value_bytes: MAX_VALUE_BYTES,
        deletes: Deletes::AfterALook,
        ..Capabilities::BASIC
    }
}

fn program() -> Option<PathBuf> {
    let named = std::env::var_os(S3S_FS).map(PathBuf::from).filter(|path| path.is_file());
    named.or_else(|| programs::find(&[PRODUCT], &[]))
}

/// `0.14.1` of "s3s-fs 0.14.1".
fn version() -> Option<String> {
    let line = programs::version_line(&program()?, &["--version"])?;
    line.strip_prefix("s3s-fs ").map(str::to_owned)
}

fn probe() -> Availability {
    match (program(), version()) {
        (Some(_), Some(version)) => Availability::Found(format!("s3s-fs {version}")),
        (Some(program), None) => Availability::NotFound(format!("{} does not state its version", program.display())),
        (None, _) => Availability::NotFound(PRODUCT.into()),
    }
}

fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let unsupported = |problem: String| Err(StoreError::Unsupported { store: spec.name.clone(), problem });
    if let Some(option) = spec.options.keys().next() {
        return unsupported(format!("{option}= is for yours; a private one is s3s-fs, on loopback"));
    }
    if let Some(level) = spec.durability.filter(|level| *level != Durability::Os) {
        return unsupported(format!(
            "a private server is s3s-fs, which writes files and never syncs them: it has durability=os and not {level}"
        ));
    }
    let program = program().ok_or_else(|| StoreError::NotFound {
        store: spec.name.clone(),
        what: PRODUCT.into(),
        install: INSTALL.into(),
    })?;
    let (port, data) = (place.port()?, place.directory.join("data"));
    // It takes a secret in its arguments only, which every user of the machine can read: so it is given none.
    let run =
        CommandLine::new(program).args(["--host", "127.0.0.1", "--port"]).arg(port.to_string()).arg(data.as_os_str());
    Ok(ServerPlan { directories: vec![data], ..ServerPlan::new(run, Endpoint::loopback(port)) }.into())
}
