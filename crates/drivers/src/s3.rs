//! Amazon S3, and what speaks its protocol (feature `s3`): one object per key, in one bucket.
//!
//! The user's is reached by its URL: `s3://KEY:SECRET@HOST/BUCKET`; the bucket stands in the path. A private server is versitygw
//! (on `PATH`, or what `kvtrial fetch-store s3` built), or with `server=s3s-fs` s3s-fs (on `PATH`, or named by `KVTRIAL_S3S_FS`; from
//! crates.io). Both keep objects in files, and are named as what they are everywhere: their figures are not Amazon's.
//!
//! | level | what |
//! |---|---|
//! | `commit` | Amazon's own: written to several places before the answer |
//! | `os` | versitygw, s3s-fs: files without sync |
//! | `none` | a server of the user's that is not Amazon's promises nothing |
//!
//! The name of an object is the key where it is letters, digits, `-` and `_`, else `~` and base64. S3 has no append, no counters and no
//! batches. A delete does not tell whether there was anything, so it is two requests, the second on the condition of the ETag that
//! the first found. s3s-fs and others ignore that: of two clients that delete one object both may be told that it was there. Compare-and-set is `If-None-Match: *` and
//! `If-Match` with the object's ETag. It is not native with s3s-fs, which tests a condition first and writes then, so of several clients
//! more than one wins.

#[cfg(feature = "s3")]
mod client;
mod private;
#[cfg(feature = "s3")]
mod setup;

use crate::shared::aws;
use ground::{built, driver};
use private::Server;
use store::tls::{CA, TLS};
use store::{
    Availability, Bundle, Capabilities, Deletes, Deployment, MadeOf, Opener, OperationKind, OperationSet, OptionInfo,
    Place, ServerPlan, StoreError, StoreInfo,
};
use study::{Class, Durability, Spec, Target, Transport};

const INSTALL: &str = "kvtrial fetch-store s3 (versitygw, built by Go), or give the URL of an S3";

/// The program that `kvtrial fetch-store s3` builds.
pub(crate) static BUNDLE: Bundle = Bundle {
    store: "s3",
    product: "versitygw",
    version: "1.8.0",
    licence: "Apache-2.0",
    made_of: MadeOf::Go {
        modules: include_str!("../bundles/s3/go.mod"),
        sums: include_str!("../bundles/s3/go.sum"),
        package: "github.com/versity/versitygw/cmd/versitygw",
        program: "versitygw",
    },
};

/// The usual port, which is the port of TLS: Amazon's, and a private server never has it.
const USUAL_PORT: u16 = 443;

/// The longest key: a name takes 1,024 bytes, and base64 four bytes for three.
const MAX_KEY_BYTES: usize = 767;

/// The longest key of a private server: a file's name takes 255 bytes, and s3s-fs keeps an object's name once more in base64 as a part of one.
const MAX_PRIVATE_KEY_BYTES: usize = 120;

/// kvtrial's own limit of a value: an object may have 5 GiB.
const MAX_VALUE_BYTES: usize = 64 << 20;

const OPTIONS: [OptionInfo; 4] = [aws::REGION, TLS, CA, private::SERVER.info];

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "s3",
    family: "s3",
    transport: Some(Transport::Tcp),
    driver: driver!("s3"),
    class: Class::Network,
    kind: "objects",
    summary: "Amazon S3 over HTTP (a private one is versitygw or s3s-fs)",
    durabilities: &[Durability::Os, Durability::None, Durability::Commit],
    options: &OPTIONS,
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
        Target::Private | Target::Path(_) => match private::SERVER.read(spec) {
            Server::Versitygw => (OperationSet::BASIC.and(conditions), MAX_PRIVATE_KEY_BYTES),
            Server::S3sFs => (OperationSet::BASIC, MAX_PRIVATE_KEY_BYTES),
        },
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

fn probe() -> Availability {
    let server = Server::Versitygw;
    let Some(program) = server.program() else { return Availability::NotFound(server.name().into()) };
    match server.version(&program) {
        Some(version) => Availability::Found(format!("{} {version}", server.name())),
        None => Availability::NotFound(format!("{} does not state its version", program.display())),
    }
}

fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let unsupported = |problem: String| Err(StoreError::Unsupported { store: spec.name.clone(), problem });
    let server = private::SERVER.read(spec);
    if let Some(option) = spec.options.keys().find(|option| *option != private::SERVER.info.name) {
        return unsupported(format!("{option}= is for yours; a private one is {}, on loopback", server.name()));
    }
    if let Some(level) = spec.durability.filter(|level| *level != Durability::Os) {
        return unsupported(format!(
            "a private server is {}, which writes files and never syncs them: it has durability=os and not {level}",
            server.name()
        ));
    }
    let data = place.directory.join("data");
    let (run, endpoint) = server.start(spec, place, &data)?;
    Ok(ServerPlan { directories: vec![data], ..ServerPlan::new(run, endpoint) }.into())
}
