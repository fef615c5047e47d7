//! etcd through its JSON gateway: the key/value service of the API over HTTP (feature `etcd`).
//!
//! The gateway is a part of the server that turns JSON with base64 into its own gRPC messages and back; what that costs is in the
//! figures, and the report says so. One member unless `nodes=3` or `nodes=5`: then a write waits for a quorum over loopback, clients are
//! spread over the members, and one whose member is gone goes on with another.
//!
//! | level | settings | what a crash loses |
//! |---|---|---|
//! | `commit` (the server's default) | the log is synced before the answer | nothing acknowledged |
//! | `os` | `--unsafe-no-fsync` | nothing when the process is killed; anything at a power cut |
//!
//! A private server asks for a password as soon as it answers: kvtrial makes its one user, `root`, and each request carries a token.
//!
//! A value with a time to live has a lease of its own, which the server grants first: two requests, each a write of its log. The server ends
//! some 1,000 leases per second at most, so that of more that end at once the last ones are late.
//!
//! Every key has a revision, so compare-and-set is a transaction on it. Batches are transactions of 128 operations and 1 MiB at
//! most, for the server's own limits. A private server is compacted by forgetting the history of its keys and rewriting its file;
//! the user's keeps its history, and nothing but the job's keys is touched there.

#[cfg(feature = "etcd")]
mod client;
#[cfg(feature = "etcd")]
mod joining;
#[cfg(feature = "etcd")]
mod login;
#[cfg(feature = "etcd")]
mod setup;

use ground::{built, driver};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::tls::{CA, TLS};
use store::{
    Availability, Bundle, Capabilities, CaughtUp, CommandLine, Deployment, Expiry, Joining, Leaders, MadeOf, Node,
    Opener, OperationKind, OperationSet, OptionInfo, Place, Ready, ServerPlan, StoreError, StoreInfo, Support,
    Versions, Worded, programs,
};
use study::{Class, Durability, Spec, Target, Transport};

const INSTALL: &str = "apt-get install etcd-server, or kvtrial fetch-store etcd (etcd 3.7.3, built by Go)";
const USUAL_PORT: u16 = 2379;
const DURABILITIES: &[Durability] = &[Durability::Commit, Durability::Os];

/// The programs that `kvtrial fetch-store etcd` builds.
pub(crate) const VERSIONS: Versions = Versions(&[
    build("3.7.3", include_str!("../bundles/etcd/go-3.7.3.mod"), include_str!("../bundles/etcd/go-3.7.3.sum")),
    build("3.6.16", include_str!("../bundles/etcd/go-3.6.16.mod"), include_str!("../bundles/etcd/go-3.6.16.sum")),
]);

/// Returns the program of one version, made of the modules with these sums.
const fn build(version: &'static str, modules: &'static str, sums: &'static str) -> Bundle {
    let made_of = MadeOf::Go { modules, sums, package: "go.etcd.io/etcd/server/v3", program: "etcd" };
    Bundle { store: "etcd", product: "etcd", version, licence: "Apache-2.0", made_of }
}

/// The one user of a private server. etcd asks nobody for a password before this one is there.
const USER: &str = "root";

/// kvtrial's own limit of a key: the server's limit is the limit of a request.
const MAX_KEY_BYTES: usize = 32 << 10;

/// The longest value. The server takes requests of 1.5 MiB: a value, its key and the bytes around them.
const MAX_VALUE_BYTES: usize = (3 << 19) - (64 << 10);

/// The exactness of leases: seconds, at least as many as an election may take (1 s, half of it more, and rounded up), looked at twice per second
/// and ended by a write.
const EXPIRY: Expiry = Expiry { least_ms: 2000, ..Expiry::in_seconds(0, 2000, 100 * 365 * 86_400_000) };

const CAPABILITIES: Capabilities = Capabilities {
    databases: store::Databases::Absent,
    native: OperationSet::BASIC.and(&[
        OperationKind::GetVersioned,
        OperationKind::CompareAndSet,
        OperationKind::GetMany,
        OperationKind::PutMany,
        OperationKind::Scan,
        OperationKind::PutTtl,
        OperationKind::Touch,
        OperationKind::TimeLeft,
    ]),
    expiry: Some(EXPIRY),
    min_key_bytes: 1,
    max_key_bytes: MAX_KEY_BYTES,
    max_value_bytes: MAX_VALUE_BYTES,
    ..Capabilities::BASIC
};

const MEMBERS: Worded<usize> =
    OptionInfo::text("nodes", "members of a private one: 1, 3 or 5").usual("1").worded(odd, "1, 3 or 5");
const OPTIONS: &[OptionInfo] = &[MEMBERS.info, TLS, CA, VERSIONS.option()];

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "etcd",
    family: "etcd",
    transport: Some(Transport::Tcp),
    driver: driver!("etcd"),
    class: Class::Network,
    kind: "raft",
    summary: "etcd, one member or several, through its JSON gateway over HTTP",
    durabilities: DURABILITIES,
    options: OPTIONS,
    install: INSTALL,
    licence: "Apache-2.0",
    declares: capabilities,
    probe,
    opener: Opener::Server { plan, connect: built!("etcd", setup::connect), usual_port: USUAL_PORT },
}];

/// Returns the capabilities: compaction takes the history of every key, so only a private server has it.
fn capabilities(spec: &Spec) -> Capabilities {
    let compaction = if spec.target == Target::Private { Support::Native } else { Support::Absent };
    Capabilities { compaction, ..CAPABILITIES }
}

fn program(spec: &Spec) -> Option<PathBuf> {
    VERSIONS.chosen(spec, || programs::find(&["etcd"], &[]))
}

fn probe() -> Availability {
    let Some(program) = program(&Spec::private("etcd")) else { return Availability::NotFound("etcd".into()) };
    // "etcd Version: 3.4.23"
    let line = programs::version_line(&program, &["--version"]).unwrap_or_default();
    match line.strip_prefix("etcd Version: ") {
        Some(version) => Availability::Found(format!("etcd {version}")),
        None => Availability::NotFound(format!("{} does not state its version", program.display())),
    }
}

fn found(spec: &Spec) -> Result<PathBuf, StoreError> {
    program(spec).ok_or_else(|| StoreError::NotFound {
        store: spec.name.clone(),
        what: VERSIONS.sought(spec, "etcd"),
        install: VERSIONS.install(spec, INSTALL),
    })
}

fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let program = found(spec)?;
    let members = MEMBERS.read(spec)?;
    if members == 1 {
        // It has no peers: where they would speak to it is a socket in its own directory, which nobody else can pass through to.
        let peers = "unix://peer:1";
        return Ok(member(spec, &program, place, "kvtrial", peers, &format!("kvtrial={peers}"))?.into());
    }
    let names: Vec<String> = (1..=members).map(|number| format!("node{number}")).collect();
    let ports = names.iter().map(|_| place.port()).collect::<Result<Vec<u16>, _>>()?;
    let at = |(name, port): (&String, &u16)| format!("http://{}:{port}", place.node(name).address());
    let peers: Vec<String> = names.iter().zip(&ports).map(at).collect();
    let all: Vec<String> = names.iter().zip(&peers).map(|(name, peer)| format!("{name}={peer}")).collect();
    let nodes = names.iter().zip(&peers).map(|(name, peer)| {
        let plan = member(spec, &program, &mut place.node(name), name, peer, &all.join(","))?;
        // Alone it has no quorum and answers nobody; the others start with it.
        Ok(Node { ready: Ready::Listens, ..Node::new(name.clone(), plan) })
    });
    // Every member has everything.
    let deployment = nodes.collect::<Result<Deployment, StoreError>>()?;
    let (caught_up, leaders): (CaughtUp, Leaders) =
        (built!("etcd", setup::have_caught_up), built!("etcd", setup::leaders));
    let joining: Joining = built!("etcd", with members, joining::join);
    let deployment =
        Deployment { caught_up: Some(caught_up), leaders: Some(leaders), joining: Some(joining), ..deployment };
    Ok(deployment.with_copies(u32::MAX))
}

/// Reads a number of members that can have a majority.
fn odd(text: &str) -> Option<usize> {
    match text {
        "1" => Some(1),
        "3" => Some(3),
        "5" => Some(5),
        _ => None,
    }
}

/// Plans one of the members named in `all`.
fn member(
    spec: &Spec,
    program: &Path,
    place: &mut Place,
    name: &str,
    peers: &str,
    all: &str,
) -> Result<ServerPlan, StoreError> {
    let port = place.port()?;
    let clients = format!("http://{}:{port}", place.address());
    let mut run = CommandLine::new(program)
        .args(["--name", name, "--data-dir"])
        .arg(place.directory.join("data"))
        .args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients])
        .args(["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers])
        .args(["--initial-cluster", all])
        // The password is random: nothing is gained by a slow hash of it, and each login would wait for it.
        .args(["--bcrypt-cost", "4"])
        // Room for the history of a long run: old revisions are kept until they are compacted.
        .args(["--quota-backend-bytes", "8589934592", "--logger", "zap", "--log-level", "error"]);
    if spec.durability == Some(Durability::Os) {
        run = run.arg("--unsafe-no-fsync");
    }
    let endpoint = place.endpoint(port).with_login(USER, place.secret.clone());
    Ok(ServerPlan { start_timeout: Duration::from_secs(30), ..ServerPlan::new(run, endpoint) })
}
