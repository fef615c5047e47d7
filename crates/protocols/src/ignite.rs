//! Apache Ignite by its binary protocol of thin clients: one atomic cache in the memory of its servers.
//!
//! Keys and values are arrays of bytes. Every entry is held by its primary server and `backups` others, all written before the answer
//! (`FULL_SYNC`), and read from the primary one alone. Clients are spread over the servers, each of which asks the others.
//!
//! Ignite asks for a password only where it keeps its data on disk, so a private one has none. Its RESP connector is not used: it
//! changes values that are no text.

mod codec;

use codec::{Thin, answer, begin, cache_id, end, hello, op, push_string};
use ground::jvm::{self, HEAP, Jvm, JvmMemory, NODES};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use store::tls::{CA, TLS};
use store::wire::Talk;
use store::{
    Belongings, Bundle, Capabilities, Choice, Deployment, Endpoint, Facts, Holding, MadeOf, Node, Number, Opener,
    OperationKind, OperationSet, OptionInfo, Place, ServerPlan, Session, SessionPlan, Store, StoreError, StoreInfo,
    Threading, wire,
};
use study::{Class, Durability, Spec, Target, Transport};

const INSTALL: &str = "kvtrial fetch-store ignite";

/// The program of Ignite, with the part that reads a configuration.
pub(crate) static BUNDLE: Bundle = Bundle {
    store: "ignite",
    product: "Ignite",
    version: "2.17.0",
    licence: "Apache-2.0",
    made_of: MadeOf::Maven(include_str!("../bundles/ignite.txt")),
};

/// MiB that the process takes beside its heap and its memory for entries.
const BESIDE_MIB: u64 = 200;

/// kvtrial's own limit: there is none but the heap, where a value lies several times while it is written.
const MAX_VALUE_BYTES: usize = 4 << 20;

/// The cache of a private store, and of one of yours whose URL names none.
const CACHE: &str = "kvtrial";

const BACKUPS: Choice<u32> = OptionInfo::one_of(
    "backups",
    &["1", "0", "2"],
    "servers that hold a copy of an entry, as far as there are that many",
)
.means(&[1, 0, 2]);
const MEMORY: Number =
    OptionInfo::text("memory", "MiB for entries of each server, beside the heap; one that is full ends itself")
        .usual("1024")
        .mib(64..=1 << 20);
const OPTIONS: &[OptionInfo] = &[NODES.info, BACKUPS.info, HEAP.info, MEMORY.info, TLS, CA];

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "ignite",
    family: "ignite",
    transport: Some(Transport::Tcp),
    driver: None,
    class: Class::Network,
    kind: "grid",
    summary: "Apache Ignite, one server or three, by its binary protocol",
    durabilities: &[Durability::None],
    options: OPTIONS,
    install: INSTALL,
    licence: BUNDLE.licence,
    declares: |_| CAPABILITIES,
    probe: || jvm::probe(&BUNDLE),
    opener: Opener::Server { plan, connect, usual_port: 10800 },
}];

const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::BASIC.and(&[
        OperationKind::GetVersioned,
        OperationKind::CompareAndSet,
        OperationKind::PutMany,
    ]),
    max_value_bytes: MAX_VALUE_BYTES,
    ..Capabilities::BASIC
};

/// What the modules of Java it reaches into have to be opened for.
const OPENED: &[&str] = &[
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.math",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.text",
    "java.base/java.time",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/java.util.concurrent.locks",
    "java.base/jdk.internal.access",
    "java.base/jdk.internal.misc",
    "java.base/sun.nio.ch",
    "java.base/sun.reflect.generics.reflectiveObjects",
    "java.base/sun.util.calendar",
    "java.management/com.sun.jmx.mbeanserver",
    "java.management/sun.management",
    "java.sql/java.sql",
    "jdk.internal.jvmstat/sun.jvmstat.monitor",
    "jdk.management/com.sun.management.internal",
];

fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let count = NODES.read(spec);
    let data_mib = MEMORY.read(spec)?;
    let memory = JvmMemory { less_by: "nodes=, heap= or memory=", ..JvmMemory::of(spec, data_mib + BESIDE_MIB)? };
    let jvm = Jvm::of(spec, &BUNDLE, INSTALL, count, memory)?;
    let ports = (0..count).map(|_| Ok([place.port()?, place.port()?, place.port()?]));
    let ports = ports.collect::<Result<Vec<[u16; 3]>, StoreError>>()?;
    let discovery: Vec<u16> = ports.iter().map(|[_, _, discovery]| *discovery).collect();
    let server = |(number, ports): (u32, &[u16; 3])| {
        let (name, place) = jvm::name_and_place(place, number, count);
        let config = place.directory.join("ignite.xml");
        let run = jvm
            .command(&place)
            .args(OPENED.iter().map(|package| format!("--add-opens={package}=ALL-UNNAMED")))
            .args(["-DIGNITE_UPDATE_NOTIFIER=false", "-DIGNITE_QUIET=true", "-DIGNITE_NO_ASCII=true"])
            .args(["-DIGNITE_PERFORMANCE_SUGGESTIONS_DISABLED=true", "-DIGNITE_NO_SHUTDOWN_HOOK=true"])
            .arg("org.apache.ignite.startup.cmdline.CommandLineStartup")
            .arg(&config);
        let plan = ServerPlan {
            files: vec![(config, settings(&place.directory, ports, &discovery, [data_mib, BACKUPS.read(spec).into()]))],
            start_timeout: Duration::from_secs(90),
            ..ServerPlan::new(run, Endpoint::loopback(ports[0]))
        };
        // The first founds the cluster, the others join it: two that start at once may found one each.
        Node { step: u32::from(number > 1), ..Node::new(name, plan) }
    };
    let copies = 1 + BACKUPS.read(spec);
    Ok(Deployment::from_iter((1..).zip(&ports).map(server)).with_copies(copies))
}

/// Returns the configuration of a server: ports for clients, for the other servers, and for servers that look for others.
fn settings(
    directory: &Path,
    [clients, others, discovery]: &[u16; 3],
    all: &[u16],
    [data_mib, backups]: [u64; 2],
) -> String {
    let configuration = "org.apache.ignite.configuration";
    let spi = "org.apache.ignite.spi";
    let all: String = all.iter().map(|port| format!("<value>127.0.0.1:{port}</value>")).collect();
    let data_bytes = data_mib << 20;
    let directory = directory.display();
    format!(
        r#"<beans xmlns="http://www.springframework.org/schema/beans" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="http://www.springframework.org/schema/beans http://www.springframework.org/schema/beans/spring-beans.xsd">
  <bean class="{configuration}.IgniteConfiguration">
    <property name="workDirectory" value="{directory}"/>
    <property name="localHost" value="127.0.0.1"/>
    <property name="metricsLogFrequency" value="0"/>
    <property name="connectorConfiguration"><null/></property>
    <property name="clientConnectorConfiguration">
      <bean class="{configuration}.ClientConnectorConfiguration">
        <property name="host" value="127.0.0.1"/><property name="port" value="{clients}"/><property name="portRange" value="0"/>
        <property name="jdbcEnabled" value="false"/><property name="odbcEnabled" value="false"/>
      </bean>
    </property>
    <property name="cacheConfiguration">
      <bean class="{configuration}.CacheConfiguration">
        <property name="name" value="{CACHE}"/><property name="backups" value="{backups}"/>
        <property name="atomicityMode" value="ATOMIC"/><property name="writeSynchronizationMode" value="FULL_SYNC"/>
        <property name="readFromBackup" value="false"/>
      </bean>
    </property>
    <property name="dataStorageConfiguration">
      <bean class="{configuration}.DataStorageConfiguration">
        <property name="defaultDataRegionConfiguration">
          <bean class="{configuration}.DataRegionConfiguration">
            <property name="name" value="default"/><property name="initialSize" value="33554432"/><property name="maxSize" value="{data_bytes}"/>
          </bean>
        </property>
      </bean>
    </property>
    <property name="communicationSpi">
      <bean class="{spi}.communication.tcp.TcpCommunicationSpi">
        <property name="localPort" value="{others}"/><property name="localPortRange" value="0"/>
      </bean>
    </property>
    <property name="discoverySpi">
      <bean class="{spi}.discovery.tcp.TcpDiscoverySpi">
        <property name="localPort" value="{discovery}"/><property name="localPortRange" value="0"/>
        <property name="ipFinder">
          <bean class="{spi}.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder">
            <property name="addresses"><list>{all}</list></property>
          </bean>
        </property>
      </bean>
    </property>
  </bean>
</beans>
"#
    )
}

fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let [first, ..] = nodes else { return Err(StoreError::Session("no server to connect to".into())) };
    jvm::no_options_elsewhere(spec)?;
    let cache = first.database.clone().unwrap_or_else(|| CACHE.to_owned());
    let is_private = spec.target == Target::Private;
    let store = Ignite {
        endpoints: nodes.to_vec(),
        next: AtomicUsize::new(0),
        hello: hello(first).into(),
        cache: cache_id(&cache),
        version: if is_private { BUNDLE.version } else { "not told" }.to_owned(),
        config: BTreeMap::new(),
    };
    // A server that is asked for a cache before its first exchange is over ends itself, so private ones begin with theirs.
    if !is_private {
        store.ask(first, op::GET_OR_CREATE, |out| configuration(out, &cache))?;
    }
    // Each answers only when it has joined the others.
    for node in nodes {
        store.keys(node)?;
    }
    let mut config = BTreeMap::from([
        ("protocol".to_owned(), "binary, of thin clients, 1.2.0".to_owned()),
        ("connections".to_owned(), "one per client, pipelined; replies in any order".to_owned()),
        ("cache".to_owned(), cache),
        ("compare-and-set".to_owned(), "on the value: one that changed and changed back passes".to_owned()),
    ]);
    if is_private {
        config.extend(jvm::facts(spec, nodes)?);
        config.insert("backups".into(), BACKUPS.info.read(spec).into());
        config.insert("memory".into(), format!("{} MiB each", MEMORY.read::<u64>(spec)?));
        config
            .insert("consistency".into(), "atomic; all copies written before the answer, reads by the primary".into());
    }
    Ok(Box::new(Ignite { config, ..store }))
}

/// Writes the configuration of a cache that is made where there is none of this name: as a private one has it, with one copy of each entry. The
/// numbers of properties and of their values are the protocol's.
fn configuration(out: &mut Vec<u8>, name: &str) {
    const BACKUPS: i32 = 1;
    const PARTITIONED: i32 = 2;
    const ATOMIC: i32 = 1;
    const FULL_SYNC: i32 = 0;
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&6i16.to_le_bytes());
    out.extend_from_slice(&0i16.to_le_bytes());
    push_string(out, name);
    for (property, value) in [(1i16, PARTITIONED), (2, ATOMIC), (3, BACKUPS), (4, FULL_SYNC)] {
        out.extend_from_slice(&property.to_le_bytes());
        out.extend_from_slice(&value.to_le_bytes());
    }
    // Read from backup: no.
    out.extend_from_slice(&6i16.to_le_bytes());
    out.push(0);
    end(out, start);
}

struct Ignite {
    endpoints: Vec<Endpoint>,
    /// The server the next client begins with.
    next: AtomicUsize,
    hello: Arc<[u8]>,
    cache: i32,
    version: String,
    config: BTreeMap<String, String>,
}

impl Ignite {
    fn ask(&self, node: &Endpoint, op: i16, body: impl FnOnce(&mut Vec<u8>)) -> Result<Vec<u8>, StoreError> {
        let mut request = Vec::new();
        let start = begin(&mut request, op, 1);
        body(&mut request);
        end(&mut request, start);
        Talk::open(node, Thin::new(self.hello.clone(), self.cache))?.ask(&request, answer)
    }

    /// Returns how many keys the cache holds, copies not counted.
    fn keys(&self, node: &Endpoint) -> Result<u64, StoreError> {
        const PRIMARY: u8 = 2;
        let said = self.ask(node, op::SIZE, |out| {
            out.extend_from_slice(&self.cache.to_le_bytes());
            out.extend_from_slice(&[0, 1, 0, 0, 0, PRIMARY]);
        })?;
        let keys = <[u8; 8]>::try_from(said).ok().and_then(|bytes| u64::try_from(i64::from_le_bytes(bytes)).ok());
        keys.ok_or_else(|| StoreError::open(node, "it does not say how many keys its cache holds"))
    }
}

impl Store for Ignite {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let first = self.next.fetch_add(plan.clients as usize, Ordering::Relaxed);
        let (hello, cache) = (self.hello.clone(), self.cache);
        wire::spread(&self.endpoints, first, plan, move || Thin::new(hello.clone(), cache))
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

    /// Returns the cache, which is kept afterwards: it may be older than the run.
    fn belongings(&self) -> Belongings<'_> {
        Belongings::Left(self.config.get("cache").map(|cache| format!("cache {cache}")).into_iter().collect())
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        let keys = self.endpoints.iter().find_map(|node| self.keys(node).ok());
        Ok(Holding { keys, ..Holding::default() })
    }
}
