//! Infinispan Server by its RESP connector: one distributed cache, in the memory of its servers.
//!
//! The servers find the first of them by its address, so it starts alone and the others when it answers: three that start at once
//! would each found a cluster, and what is written before these merge may be lost. Every entry is held by `owners` of them, written
//! before the answer.
//!
//! It speaks RESP3 whatever it is asked, and keeps no scripts, so a value cannot be replaced on a condition: compare-and-set is not
//! declared. A private one asks for a password.
//!
//! Clients are spread over the servers, each of which asks the others for what it has not. One whose server is gone goes on with another;
//! what was in flight is lost, and nothing is sent twice.

use crate::redis::{Login, Resp, Script, answer};
use ground::jvm::{self, HEAP, Jvm, JvmMemory, NODES};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use store::tls::{CA, TLS};
use store::{
    Bundle, Capabilities, Choice, Counter, Deployment, Endpoint, Expiry, Facts, Holding, MadeOf, Node, Opener,
    OperationKind, OperationSet, OptionInfo, Overflow, Place, ServerPlan, Session, SessionPlan, Store, StoreError,
    StoreInfo, Threading, wire,
};
use study::{Class, Durability, Spec, Target, Transport};

const INSTALL: &str = "kvtrial fetch-store infinispan";

/// The program of Infinispan.
pub(crate) static BUNDLE: Bundle = Bundle {
    store: "infinispan",
    product: "Infinispan",
    version: "15.0.21.Final",
    licence: "Apache-2.0",
    made_of: MadeOf::Maven(include_str!("../bundles/infinispan.txt")),
};

/// The one user of a private server.
const USER: &str = "kvtrial";

/// MiB that the process takes beside its heap.
const BESIDE_HEAP_MIB: u64 = 200;

/// kvtrial's own limit: there is none but the heap, where a value lies several times while it is written.
const MAX_VALUE_BYTES: usize = 4 << 20;

const OWNERS: Choice<u32> =
    OptionInfo::one_of("owners", &["2", "1", "3"], "servers that hold an entry, as far as there are that many")
        .means(&[2, 1, 3]);
const OPTIONS: &[OptionInfo] = &[NODES.info, OWNERS.info, HEAP.info, TLS, CA];

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "infinispan",
    family: "infinispan",
    transport: Some(Transport::Tcp),
    driver: None,
    class: Class::Network,
    kind: "grid",
    summary: "Infinispan, one server or three, by its RESP connector",
    durabilities: &[Durability::None],
    options: OPTIONS,
    install: INSTALL,
    licence: BUNDLE.licence,
    declares: |_| CAPABILITIES,
    probe: || jvm::probe(&BUNDLE),
    opener: Opener::Server { plan, connect, usual_port: 11222 },
}];

const CAPABILITIES: Capabilities = Capabilities {
    databases: store::Databases::Absent,
    native: OperationSet::BASIC.and(&[
        OperationKind::Append,
        OperationKind::Increment,
        OperationKind::GetCounter,
        OperationKind::IncrementField,
        OperationKind::GetFields,
        OperationKind::GetMany,
        OperationKind::PutMany,
        OperationKind::PutTtl,
        OperationKind::Touch,
        OperationKind::TimeLeft,
    ]),
    expiry: Some(Expiry::IN_MS),
    max_value_bytes: MAX_VALUE_BYTES,
    counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Wraps }),
    ..Capabilities::BASIC
};

fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let count = NODES.read(spec);
    let jvm = Jvm::of(spec, &BUNDLE, INSTALL, count, JvmMemory::of(spec, BESIDE_HEAP_MIB)?)?;
    let mut first = None;
    let mut server = |number: u32| {
        let (clients, others) = (place.port()?, place.port()?);
        let first = *first.get_or_insert(others);
        let (name, place) = jvm::name_and_place(place, number, count);
        let home = |start: &str| {
            let mut text = OsString::from(start);
            text.push(&place.directory);
            text
        };
        let run = jvm.command(&place).arg(home("-Dinfinispan.server.home.path=")).args([
            "org.infinispan.server.Bootstrap",
            "-c",
            "infinispan.xml",
        ]);
        let password = place.secret.reveal();
        let config = [
            ("infinispan.xml", settings(number, [clients, others, first], OWNERS.read(spec))),
            ("log4j2.xml", LOG.to_owned()),
            ("users.properties", format!("#$REALM_NAME=default$\n{USER}={password}\n")),
            ("groups.properties", format!("{USER}=admin\n")),
        ];
        let plan = ServerPlan {
            directories: ["server", "server/conf", "server/log"].map(|below| place.directory.join(below)).into(),
            files: config.map(|(name, text)| (place.directory.join("server/conf").join(name), text)).into(),
            start_timeout: Duration::from_secs(120),
            ..ServerPlan::new(run, Endpoint::loopback(clients).with_login(USER, place.secret.clone()))
        };
        Ok(Node { step: u32::from(number > 1), ..Node::new(name, plan) })
    };
    let copies = OWNERS.read(spec);
    (1..=count).map(&mut server).collect::<Result<Deployment, StoreError>>().map(|it| it.with_copies(copies))
}

/// What a server says goes to its output, which kvtrial keeps until it is stopped.
const LOG: &str = r#"<Configuration><Appenders><Console name="out" target="SYSTEM_OUT"><PatternLayout pattern="%d %-5p %c %m%n"/></Console></Appenders><Loggers><Root level="INFO"><AppenderRef ref="out"/></Root></Loggers></Configuration>
"#;

/// Returns a server's configuration. One port for clients serves REST as well, which the server needs; both ask for the password.
fn settings(number: u32, [clients, others, first]: [u16; 3], owners: u32) -> String {
    format!(
        r#"<infinispan xmlns="urn:infinispan:config:15.0" xmlns:server="urn:infinispan:server:15.0">
  <jgroups>
    <stack name="kvtrial">
      <TCP bind_addr="127.0.0.1" bind_port="{others}" port_range="0" diag.enabled="false"/>
      <TCPPING initial_hosts="127.0.0.1[{first}]" port_range="0"/>
      <MERGE3/>
      <FD_ALL3 timeout="8000" interval="2000"/>
      <VERIFY_SUSPECT2/>
      <pbcast.NAKACK2 use_mcast_xmit="false"/>
      <UNICAST3/>
      <pbcast.STABLE/>
      <pbcast.GMS join_timeout="2000"/>
      <UFC/>
      <MFC/>
      <FRAG4/>
    </stack>
  </jgroups>
  <cache-container name="default" statistics="false">
    <transport cluster="kvtrial" stack="kvtrial" node-name="node{number}"/>
    <distributed-cache name="respCache" owners="{owners}" mode="SYNC"
        key-partitioner="org.infinispan.distribution.ch.impl.RESPHashFunctionPartitioner">
      <encoding media-type="application/octet-stream"/>
    </distributed-cache>
  </cache-container>
  <server xmlns="urn:infinispan:server:15.0">
    <interfaces><interface name="public"><inet-address value="127.0.0.1"/></interface></interfaces>
    <socket-bindings default-interface="public" port-offset="0">
      <socket-binding name="default" port="{clients}"/>
    </socket-bindings>
    <security>
      <security-realms>
        <security-realm name="default">
          <properties-realm groups-attribute="Roles">
            <user-properties path="users.properties" plain-text="true"/>
            <group-properties path="groups.properties"/>
          </properties-realm>
        </security-realm>
      </security-realms>
    </security>
    <endpoints>
      <endpoint socket-binding="default" security-realm="default">
        <resp-connector cache="respCache"/>
        <rest-connector/>
      </endpoint>
    </endpoints>
  </server>
</infinispan>
"#
    )
}

fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    if nodes.is_empty() {
        return Err(StoreError::Session("no server to connect to".into()));
    }
    jvm::no_options_elsewhere(spec)?;
    let mut version = String::new();
    for node in nodes {
        let said = answer(node, b"INFO", &[b"server"])?.concat();
        let stated = said.lines().find_map(|line| line.strip_prefix("redis_build_id:"));
        version = stated.ok_or_else(|| StoreError::open(node, "this is no Infinispan: it states no build"))?.into();
        // One that has not found the others is a cluster of its own.
        let members =
            if nodes.len() == 1 { 1 } else { answer(node, b"CLUSTER", &[b"NODES"])?.concat().lines().count() };
        if members < nodes.len() {
            return Err(StoreError::open(node, format!("it has found {members} of {} servers", nodes.len())));
        }
        answer(node, b"DBSIZE", &[])?;
    }
    let mut config = BTreeMap::from([
        ("protocol".to_owned(), "RESP".to_owned()),
        ("connections".to_owned(), "one per client, shared by its slots (pipelined)".to_owned()),
    ]);
    if spec.target == Target::Private {
        config.extend(jvm::facts(spec, nodes)?);
        config.insert("owners".into(), OWNERS.info.read(spec).into());
    }
    Ok(Box::new(Infinispan { endpoints: nodes.to_vec(), next: AtomicUsize::new(0), version, config }))
}

struct Infinispan {
    endpoints: Vec<Endpoint>,
    /// The place in `endpoints` of the next client.
    next: AtomicUsize,
    version: String,
    config: BTreeMap<String, String>,
}

impl Store for Infinispan {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let login = Login::of(&self.endpoints[0]).with(Script::Left);
        let first = self.next.fetch_add(plan.clients as usize, Ordering::Relaxed);
        wire::spread(&self.endpoints, first, plan, move || Resp::new(login.clone()))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(Facts {
            product: BUNDLE.product.into(),
            version: self.version.clone(),
            config: self.config.clone(),
            ..Facts::default()
        })
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        let asked = self.endpoints.iter().map(|endpoint| answer(endpoint, b"DBSIZE", &[]));
        // The first that answers: a node may be gone.
        let answered = asked.reduce(|found, other| found.or(other)).unwrap_or_else(|| Ok(Vec::new()))?;
        let keys = answered.first().and_then(|number| number.parse().ok());
        Ok(Holding { keys, ..Holding::default() })
    }
}
