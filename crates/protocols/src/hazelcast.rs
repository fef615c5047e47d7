//! Hazelcast, asked in memcached's classic text protocol, which its members speak on their port: one map, shared by all.
//!
//! Its members find each other by a list of addresses. Entries are spread over 271 partitions; of each, `backups` further members
//! hold a copy, written before the answer. Nothing is on disk.
//!
//! Of that protocol only `get`, `set` and `delete` are used. Seen of 5.5.0: `gets` is answered without a version and `cas` is not
//! known; a `get` of several keys answers in an order of its own; and the requests of one connection are carried out side by side,
//! so that an `append` or `incr` may overtake the `add` sent before it, and is refused. Keys are read as addresses are: `%41` is `A`.
//!
//! Clients are spread over the members, each of which asks the others for what it has not. One whose member is gone goes on with
//! another; what was in flight is lost, and nothing is sent twice.

use crate::memcached::{ItemCount, KeyText, Speaker};
use ground::jvm::{self, HEAP, Jvm, JvmMemory, NODES};
use std::time::Duration;
use store::{
    Bundle, Capabilities, Choice, Deployment, Endpoint, Expiry, MadeOf, Node, Opener, OperationKind, OperationSet,
    OptionInfo, Place, ServerPlan, Store, StoreError, StoreInfo,
};
use study::{Class, Durability, Spec, Target, Transport};

const INSTALL: &str = "kvtrial fetch-store hazelcast";

/// The program of Hazelcast.
pub(crate) static BUNDLE: Bundle = Bundle {
    store: "hazelcast",
    product: "Hazelcast",
    version: "5.5.0",
    licence: "Apache-2.0, parts Hazelcast Community License",
    made_of: MadeOf::Maven(include_str!("../bundles/hazelcast.txt")),
};

/// MiB that the process takes beside its heap.
const BESIDE_HEAP_MIB: u64 = 150;

/// kvtrial's own limit of a value: Hazelcast has none but its heap, where a value lies many times over while it is written to several members (with
/// values of 16 MiB and 256 MiB of heap, three members ended for lack of memory).
const MAX_VALUE_BYTES: usize = 4 << 20;

const BACKUPS: Choice<u32> = OptionInfo::one_of(
    "backups",
    &["1", "0", "2"],
    "members that hold a copy of an entry, as far as there are that many",
)
.means(&[1, 0, 2]);
const OPTIONS: &[OptionInfo] = &[NODES.info, BACKUPS.info, HEAP.info];

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "hazelcast",
    family: "hazelcast",
    transport: Some(Transport::Tcp),
    driver: None,
    class: Class::Network,
    kind: "grid",
    summary: "Hazelcast, one member or three, in memcached's text protocol",
    durabilities: &[Durability::None],
    options: OPTIONS,
    install: INSTALL,
    licence: BUNDLE.licence,
    declares: |_| CAPABILITIES,
    probe: || jvm::probe(&BUNDLE),
    opener: Opener::Server { plan, connect, usual_port: 5701 },
}];

/// The exactness with which entries expire: the protocol has seconds, and each member looks at its clock when it is asked.
const EXPIRY: Expiry = Expiry::in_seconds(1000, 1000, 30 * 86_400_000);

const CAPABILITIES: Capabilities = Capabilities {
    databases: store::Databases::Absent,
    native: OperationSet::BASIC.and(&[OperationKind::PutTtl]),
    expiry: Some(EXPIRY),
    counter: None,
    max_value_bytes: MAX_VALUE_BYTES,
    ..Speaker::CAPABILITIES
};

fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let count = NODES.read(spec);
    let jvm = Jvm::of(spec, &BUNDLE, INSTALL, count, JvmMemory::of(spec, BESIDE_HEAP_MIB)?)?;
    let ports = (0..count).map(|_| place.port()).collect::<Result<Vec<u16>, StoreError>>()?;
    let members: Vec<String> = ports.iter().map(|port| format!("\"127.0.0.1:{port}\"")).collect();
    let member = |(number, port): (u32, &u16)| {
        let (name, place) = jvm::name_and_place(place, number, count);
        let config = place.directory.join("hazelcast.yaml");
        let mut setting = std::ffi::OsString::from("-Dhazelcast.config=");
        setting.push(&config);
        let run = jvm
            .command(&place)
            .arg(setting)
            .args(["-Dhazelcast.local.localAddress=127.0.0.1", "com.hazelcast.core.server.HazelcastMemberStarter"]);
        let plan = ServerPlan {
            files: vec![(config, settings(*port, &members, BACKUPS.read(spec)))],
            start_timeout: Duration::from_secs(90),
            ..ServerPlan::new(run, Endpoint::loopback(*port))
        };
        Node::new(name, plan)
    };
    let copies = 1 + BACKUPS.read(spec);
    Ok(Deployment::from_iter((1..).zip(&ports).map(member)).with_copies(copies))
}

/// Returns the configuration of a member. Its port must be the given one: Hazelcast would take the next free port.
fn settings(port: u16, members: &[String], backups: u32) -> String {
    let members = members.join(", ");
    format!(
        r#"hazelcast:
  cluster-name: kvtrial
  network:
    port: {{ port: {port}, auto-increment: false }}
    memcache-protocol: {{ enabled: true }}
    join:
      auto-detection: {{ enabled: false }}
      multicast: {{ enabled: false }}
      tcp-ip: {{ enabled: true, member-list: [{members}] }}
  map:
    default: {{ backup-count: {backups} }}
  properties:
    hazelcast.phone.home.enabled: "false"
    hazelcast.socket.bind.any: "false"
    hazelcast.logging.type: jdk
    hazelcast.wait.seconds.before.join: "1"
    hazelcast.shutdownhook.policy: TERMINATE
"#
    )
}

fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let [first, ..] = nodes else { return Err(StoreError::Session("no member to connect to".into())) };
    jvm::no_options_elsewhere(spec)?;
    // Each answers only when it has joined the others.
    for node in nodes {
        Speaker::connect(node, BUNDLE.product, ItemCount::NotSaid, CAPABILITIES)?.answers_a_get()?;
    }
    let speaker = Speaker::connect(first, BUNDLE.product, ItemCount::NotSaid, CAPABILITIES)?
        .reading_keys(KeyText::Address)
        .among(nodes);
    if spec.target != Target::Private {
        return Ok(Box::new(speaker));
    }
    let speaker = speaker.with_version(BUNDLE.version).with_fact("backups", BACKUPS.info.read(spec));
    let facts = jvm::facts(spec, nodes)?;
    Ok(Box::new(facts.iter().fold(speaker, |speaker, (name, value)| speaker.with_fact(name, value))))
}
