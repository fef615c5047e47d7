//! Cassandra, and ScyllaDB by URL, through the `scylla` driver (feature `cassandra`): one table of two blobs, prepared statements only.
//!
//! The nodes of a private cluster listen on addresses of their own, 127.0.0.1, 127.0.0.2 and so on, all on the same port: the driver
//! finds them by what they say of each other, and that is addresses only. All of them are seeds, so they start together.
//!
//! | level | settings | what a crash loses |
//! |---|---|---|
//! | `none` (the server's default) | `commitlog_sync: periodic`, every 10 s | 0.1 s when the process is killed, as seen; 10 s at a power cut |
//! | `second` | the same, every second | a second |
//! | `commit` | `commitlog_sync: batch`: the log is synced before the answer | nothing acknowledged |
//!
//! A replica has a write before it answers; how many have to answer is `consistency=`. With `one` and several replicas an answer may be
//! of before the last write: what a job sees of that is counted as wrong.
//!
//! Nothing is sent twice: the driver has no retries and no speculative executions here. It goes on with another node when it has no
//! connection to the first. It is not told how keyspaces are replicated, so it takes any node for each request, and that node's clock gives a write its time: of two
//! writes the one with the later time stays, whichever came first. Nodes of one machine have one clock.
//!
//! Compare-and-set is a lightweight transaction on the value (`IF v = ?`, `IF NOT EXISTS`). So is a delete (`IF EXISTS`): a plain one does
//! not say whether there was a key. Transactions that meet on a key are answered with a timeout by Cassandra 5.0 with several replicas,
//! which leaves open whether they were applied (its paxos variants v1 and v2 alike), and no client can find out later: they are unknown.
//! With `turns=on` kvtrial's own transactions on a key wait for each other, which hides that contention. Counters of Cassandra do not answer with what they have become, keys have no order but that of their
//! hashes, and a batch over keys is a load on its coordinator that nobody is advised to use: none of these is native.
//!
//! A value with a time to live is put `USING TTL`, in seconds. Nothing starts that time again but another put, so a touch is not native.
//!
//! The driver opens its sockets itself and reserves what an answer announces: a server that lies about lengths is believed.

#[cfg(feature = "cassandra")]
mod client;
#[cfg(feature = "cassandra")]
mod level;
#[cfg(feature = "cassandra")]
mod ring;
#[cfg(feature = "cassandra")]
mod setup;
#[cfg(feature = "cassandra")]
mod time_of_day;

use ground::jvm::{self, HEAP, Jvm, JvmMemory, NODES};
use ground::{built, driver};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;
use store::tls::{CA, TLS};
use store::{
    Bundle, CONNECTIONS, Capabilities, Choice, Deployment, Endpoint, Expiry, Joining, MadeOf, Members, Node, Opener,
    OperationKind, OperationSet, OptionInfo, Place, Ready, ServerPlan, StoreError, StoreInfo, TimeOfDay,
};
use study::{Address, Class, Durability, Spec, Transport};

const INSTALL: &str = "kvtrial fetch-store cassandra";
const DURABILITIES: &[Durability] = &[Durability::None, Durability::Second, Durability::Commit];
const USUAL_PORT: u16 = 9042;

/// The program of Cassandra.
pub(crate) static BUNDLE: Bundle = Bundle {
    store: "cassandra",
    product: "Cassandra",
    version: "5.0.5",
    licence: "Apache-2.0",
    made_of: MadeOf::Maven(include_str!("../bundles/cassandra.txt")),
};

/// MiB that the process takes beside its heap.
const BESIDE_HEAP_MIB: u64 = 400;

/// The longest key, by the server's own limit: a partition key has a length of 16 bits.
const MAX_KEY_BYTES: usize = (64 << 10) - 1;

/// kvtrial's own limit of a value. The server's limits are a frame and half a segment of its log, 16 MiB each, and the requests that its heap can
/// hold.
const MAX_VALUE_BYTES: usize = 4 << 20;

const REPLICATION: Choice<u32> =
    OptionInfo::one_of("replication", &["3", "2", "1"], "nodes that hold a pair, as far as there are that many")
        .means(&[3, 2, 1]);

const CONSISTENCY: OptionInfo = OptionInfo::one_of(
    "consistency",
    &["quorum", "one", "all"],
    "replicas that answer before the answer counts, of reads and writes",
);

const TURNS: OptionInfo = OptionInfo::one_of(
    "turns",
    &["off", "on"],
    "on: kvtrial's own transactions on a key wait for each other, so that the fate of none is left unknown",
);

const OPTIONS: &[OptionInfo] = &[NODES.info, REPLICATION.info, CONSISTENCY, TURNS, CONNECTIONS, HEAP.info, TLS, CA];

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "cassandra",
    family: "cassandra",
    transport: Some(Transport::Tcp),
    driver: driver!("cassandra"),
    class: Class::Network,
    kind: "columns",
    summary: "Cassandra, one node or three; ScyllaDB by URL",
    durabilities: DURABILITIES,
    options: OPTIONS,
    install: INSTALL,
    licence: BUNDLE.licence,
    declares: |spec| Capabilities { durability: level(spec), ..CAPABILITIES },
    probe: || jvm::probe(&BUNDLE),
    opener: Opener::Server { plan, connect: built!("cassandra", setup::connect), usual_port: USUAL_PORT },
}];

/// The exactness of `USING TTL`: seconds, from the second in which a value was written, for 20 years at most.
const EXPIRY: Expiry = Expiry::in_seconds(1000, 1000, 630_720_000_000);

const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::BASIC.and(&[
        OperationKind::GetVersioned,
        OperationKind::CompareAndSet,
        OperationKind::PutTtl,
        OperationKind::TimeLeft,
    ]),
    expiry: Some(EXPIRY),
    min_key_bytes: 1,
    max_key_bytes: MAX_KEY_BYTES,
    max_value_bytes: MAX_VALUE_BYTES,
    ..Capabilities::BASIC
};

fn level(spec: &Spec) -> Durability {
    spec.durability.unwrap_or(DURABILITIES[0])
}

/// Returns how many nodes hold a pair.
fn replication(spec: &Spec) -> u32 {
    REPLICATION.read(spec).min(NODES.read(spec))
}

fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let count = NODES.read(spec);
    let jvm = Jvm::of(spec, &BUNDLE, INSTALL, count, JvmMemory::of(spec, BESIDE_HEAP_MIB)?)?;
    let ports = [place.port()?, place.port()?];
    let addresses: Vec<String> = (1..=count).map(|number| address(place, number)).collect();
    let seeds: Vec<String> = addresses.iter().map(|address| format!("{address}:{}", ports[1])).collect();
    let node = |number: u32| {
        let (name, place) = jvm::name_and_place(place, number, count);
        let address = addresses[number as usize - 1].clone();
        let own = Own { address, ports, seeds: seeds.join(","), begins: Begins::WithTheOthers };
        // It listens when it has joined; only the nodes together can make a table.
        let ready = if count == 1 { Ready::Connects } else { Ready::Listens };
        Node { ready, ..Node::new(name, server(&jvm, &place, &own, level(spec))) }
    };
    let joining = (count > 1).then_some(join as Joining);
    let time_of_day: TimeOfDay = built!("cassandra", time_of_day::time_of_day);
    let nodes = Deployment::from_iter((1..=count).map(node));
    let deployment = Deployment { joining, time_of_day: Some(time_of_day), ..nodes };
    Ok(deployment.with_copies(replication(spec)))
}

/// Plans one more node. The node takes its share of the pairs from the others before it listens.
fn join(spec: &Spec, place: &mut Place, members: &Members) -> Result<Deployment, StoreError> {
    let jvm = Jvm::of(spec, &BUNDLE, INSTALL, 1, JvmMemory::of(spec, BESIDE_HEAP_MIB)?)?;
    let hosts: Vec<(&str, u16)> = members.endpoints.iter().filter_map(Endpoint::tcp).collect();
    let [(first, clients), ..] = hosts[..] else {
        return Err(StoreError::Session("no node of Cassandra runs that another could join".into()));
    };
    // All of them speak to each other on the same port, which their configuration has.
    let beside = place.node("node1").directory.join(CONFIG);
    let configuration = std::fs::read_to_string(&beside);
    let configuration = configuration.map_err(|source| StoreError::Io { path: beside, source })?;
    let others = configuration.lines().find_map(|line| line.strip_prefix(OTHERS)?.trim().parse().ok());
    let others: u16 =
        others.ok_or_else(|| StoreError::open(first, "its configuration names no port for the others"))?;
    let number = members.name.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse();
    let own = Own {
        address: address(place, number.unwrap_or(NODES.read(spec) + 1)),
        ports: [clients, others],
        seeds: hosts.iter().map(|(host, _)| format!("{host}:{others}")).collect::<Vec<_>>().join(","),
        begins: Begins::WithItsShare,
    };
    let plan = server(&jvm, &place.node(&members.name), &own, level(spec));
    Ok(Deployment::from_iter([Node { ready: Ready::Listens, ..Node::new(members.name.clone(), plan) }]))
}

/// The settings that a node has for itself.
struct Own {
    address: String,
    /// The ports for clients, and for the other nodes.
    ports: [u16; 2],
    /// The nodes that the node asks for all others.
    seeds: String,
    begins: Begins,
}

/// The content with which a node begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    /// An empty node, as all others are.
    WithTheOthers,
    /// A node with its share of the pairs of the others.
    WithItsShare,
}

impl Begins {
    /// Returns how long a node listens to the others before it goes on, in milliseconds.
    fn ring_delay_ms(self) -> u32 {
        match self {
            Begins::WithTheOthers => 100,
            // It gives up if it has not heard of any of them by then.
            Begins::WithItsShare => 5000,
        }
    }
}

/// Returns the plan by which one node is started.
fn server(jvm: &Jvm, place: &Place, own: &Own, level: Durability) -> ServerPlan {
    let in_place = |start: &str, file: &str| {
        let mut text = OsString::from(start);
        text.push(place.directory.join(file));
        text
    };
    let run = jvm
        .command(place)
        .args(OPENED)
        .args(AT_ONCE)
        .arg(format!("-Dcassandra.ring_delay_ms={}", own.begins.ring_delay_ms()))
        .arg(in_place("-Dcassandra.config=file://", CONFIG))
        .arg(in_place("-Dcassandra.storagedir=", "data"))
        .arg(in_place("-Dlogback.configurationFile=", LOG_CONFIG))
        .arg("org.apache.cassandra.service.CassandraDaemon");
    let files = [(CONFIG, settings(&place.directory, own, level)), (LOG_CONFIG, LOG.to_owned())];
    let clients = own.ports[0];
    let host = Address::Tcp { host: own.address.clone(), port: Some(clients) };
    ServerPlan {
        directories: vec!["data".into()],
        files: files.map(|(name, text)| (place.directory.join(name), text)).into(),
        start_timeout: Duration::from_secs(150),
        ..ServerPlan::new(run, Endpoint { address: host, ..Endpoint::loopback(clients) })
    }
}

const CONFIG: &str = "cassandra.yaml";
const LOG_CONFIG: &str = "logback.xml";

/// What it reaches into on Java 17.
const OPENED: [&str; 3] = [
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
];

/// It waits for nodes of other machines, at its start and at its end: here all are there, or there is none.
const AT_ONCE: [&str; 3] = [
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.superuser_setup_delay_ms=0",
    "-Dcassandra.shutdown_announce_in_ms=0",
];

/// What a node says goes to its output, which kvtrial keeps until it is stopped.
const LOG: &str = r#"<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%d %-5level %logger{0} %msg%n</pattern></encoder></appender><root level="WARN"><appender-ref ref="out"/></root></configuration>
"#;

/// Returns the address of a node: its own in a network, else one of the loopback.
fn address(place: &mut Place, number: u32) -> String {
    let own = place.node(&format!("node{number}")).own_address();
    own.map_or_else(|| format!("127.0.0.{number}"), |own| own.to_string())
}

/// The line of the configuration with the port for the other nodes.
const OTHERS: &str = "storage_port:";

/// Returns the configuration of a node.
fn settings(directory: &Path, own: &Own, level: Durability) -> String {
    let Own { address, ports: [clients, others], seeds, begins } = own;
    let takes_its_share = *begins == Begins::WithItsShare;
    // A string of JSON is one of YAML.
    let below = |name: &str| serde_json::Value::from(directory.join("data").join(name).display().to_string());
    let [data, log, caches, hints, changes] = ["pairs", "commitlog", "caches", "hints", "cdc"].map(below);
    let sync = match level {
        Durability::Commit => "batch",
        Durability::Second => "periodic\ncommitlog_sync_period: 1000ms",
        _ => "periodic\ncommitlog_sync_period: 10000ms",
    };
    format!(
        r#"cluster_name: kvtrial
num_tokens: 16
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
auto_bootstrap: {takes_its_share}
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "{seeds}"
listen_address: {address}
{OTHERS} {others}
rpc_address: {address}
native_transport_port: {clients}
data_file_directories: [{data}]
commitlog_directory: {log}
saved_caches_directory: {caches}
hints_directory: {hints}
cdc_raw_directory: {changes}
commitlog_sync: {sync}
auto_snapshot: false
disk_failure_policy: die
commit_failure_policy: die
"#
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Begins, Own, level, replication, settings};
    use std::path::Path;
    use study::{Durability, Spec};

    fn spec(text: &str) -> Spec {
        text.parse().unwrap()
    }

    #[test]
    fn a_pair_has_as_many_replicas_as_are_asked_for_and_no_more_than_nodes() {
        let of = |text: &str| replication(&spec(text));
        assert_eq!([of("cassandra"), of("cassandra,replication=3"), of("cassandra,nodes=3")], [1, 1, 3]);
        assert_eq!([of("cassandra,nodes=3,replication=2"), of("cassandra,nodes=3,replication=1")], [2, 1]);
    }

    #[test]
    fn a_log_is_synced_before_the_answer_only_where_that_is_asked_for() {
        let own = |begins| Own { address: "127.0.0.2".into(), ports: [1, 2], seeds: "127.0.0.1:2".into(), begins };
        let of = |text: &str| settings(Path::new("/a \"b\""), &own(Begins::WithTheOthers), level(&spec(text)));
        let periodic = of("cassandra");
        assert!(periodic.contains("commitlog_sync: periodic\ncommitlog_sync_period: 10000ms\n"), "{periodic}");
        assert!(periodic.contains(r#"commitlog_directory: "/a \"b\"/data/commitlog""#), "{periodic}");
        let batch = of("cassandra,durability=commit");
        assert!(batch.contains("commitlog_sync: batch\n") && !batch.contains("periodic"), "{batch}");
        let second = of("cassandra,durability=second");
        assert!(second.contains("commitlog_sync: periodic\ncommitlog_sync_period: 1000ms\n"), "{second}");
        assert_eq!(level(&spec("cassandra")), Durability::None);
        let joins = settings(Path::new("/a"), &own(Begins::WithItsShare), Durability::None);
        assert!(joins.contains("auto_bootstrap: true\n") && periodic.contains("auto_bootstrap: false\n"), "{joins}");
        assert!(joins.contains("\nstorage_port: 2\n"), "{joins}");
    }
}
