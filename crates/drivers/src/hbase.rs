//! Apache HBase by its REST gateway: one row per key, in one table (feature `hbase`).
//!
//! A private one is HBase's standalone server and the gateway, two Java processes. It keeps its files in its own directory, without
//! HDFS: nothing is copied. Yours is reached by the URL of its gateway: `hbase://HOST:8080/TABLE`.
//!
//! | level | settings | what a crash loses |
//! |---|---|---|
//! | `os` (default) | the log is written, not synced, before the answer | nothing when the process is killed; anything at a power cut |
//! | `none` | the table's `DURABILITY` is `SKIP_WAL` | what lies in memory |
//!
//! The row's key is the key, its cell `f:v` the value. The gateway speaks for HBase in two ways, and both are used: a value travels as it
//! is, lists of rows as JSON with base64. Keys in paths are base64 as well, which it knows since 2.6.0.
//!
//! A delete hides every cell that is not younger, to the millisecond: a put in the same millisecond would be lost. So a table with a log is
//! made with `NEW_VERSION_BEHAVIOR`, which goes by the log's order; one without cannot (in 2.6.1 deletes have no effect there). A condition takes an empty cell and no cell for the same, so an
//! empty value is written as a mark of 19 bytes. A delete reads first, and deletes on the condition of what it read.

#[cfg(feature = "hbase")]
mod cell;
#[cfg(feature = "hbase")]
mod client;
#[cfg(feature = "hbase")]
mod setup;

use ground::jvm::{self, HEAP, Jvm, JvmMemory};
use ground::{built, driver};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;
use store::tls::{CA, TLS};
use store::{
    Bundle, Capabilities, CommandLine, Deployment, Endpoint, MadeOf, Node, Opener, OperationKind, OperationSet, Place,
    Ready, ServerPlan, StoreError, StoreInfo,
};
use study::{Class, Durability, Role, Spec, Transport};

const INSTALL: &str = "kvtrial fetch-store hbase";

/// The programs of HBase, without the parts of Hadoop that stand in the gateway's way.
pub(crate) static BUNDLE: Bundle = Bundle {
    store: "hbase",
    product: "HBase",
    version: "2.6.1",
    licence: "Apache-2.0",
    made_of: MadeOf::Maven(include_str!("../bundles/hbase.txt")),
};

/// The MiB of memory of a process beside its heap.
const BESIDE_HEAP_MIB: u64 = 150;

/// The number of processes: its server and its gateway.
const PROCESSES: u32 = 2;

/// The longest key, by HBase's own limit: the length of a row's key is a number of 15 bits.
const MAX_KEY_BYTES: usize = i16::MAX as usize;

/// kvtrial's own limit of a value: HBase takes 10 MiB unless it is configured otherwise.
const MAX_VALUE_BYTES: usize = 4 << 20;

const DURABILITIES: &[Durability] = &[Durability::Os, Durability::None];

const CAPABILITIES: Capabilities = Capabilities {
    native: OperationSet::BASIC.and(&[
        OperationKind::Append,
        OperationKind::GetVersioned,
        OperationKind::CompareAndSet,
        OperationKind::GetMany,
        OperationKind::PutMany,
        OperationKind::Scan,
    ]),
    min_key_bytes: 1,
    max_key_bytes: MAX_KEY_BYTES,
    max_value_bytes: MAX_VALUE_BYTES,
    ..Capabilities::BASIC
};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[StoreInfo {
    name: "hbase",
    family: "hbase",
    transport: Some(Transport::Tcp),
    driver: driver!("hbase"),
    class: Class::Network,
    kind: "columns",
    summary: "Apache HBase by its REST gateway",
    durabilities: DURABILITIES,
    options: &[HEAP.info, TLS, CA],
    install: INSTALL,
    licence: BUNDLE.licence,
    declares: |_| CAPABILITIES,
    probe: || jvm::probe(&BUNDLE),
    opener: Opener::Server { plan, connect: built!("hbase", setup::connect), usual_port: 8080 },
}];

/// The modules of Java that have to be opened for HBase.
const OPENED: &[&str] = &["java.lang", "java.lang.reflect", "java.nio", "jdk.internal.ref", "sun.nio.ch"];

fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let jvm = Jvm::of(spec, &BUNDLE, INSTALL, PROCESSES, JvmMemory::of(spec, BESIDE_HEAP_MIB)?)?;
    let [quorum, master, regions, gateway] = [place.port()?, place.port()?, place.port()?, place.port()?];
    let settings = settings(&place.directory, quorum, master, regions, gateway);
    let mut server = |name: &str, class: &str, port: u16| {
        let place = place.node(name);
        let program = jvm.command_reading(&place, &place.directory);
        let file = |name: &str, text: &str| (place.directory.join(name), text.to_owned());
        ServerPlan {
            files: vec![file("hbase-site.xml", &settings), file("log4j.properties", LOG)],
            start_timeout: Duration::from_secs(90),
            ..ServerPlan::new(started(program, class), Endpoint::loopback(port))
        }
    };
    let store = server("server", "org.apache.hadoop.hbase.master.HMaster", regions);
    let gateway = server("gateway", "org.apache.hadoop.hbase.rest.RESTServer", gateway);
    let nodes = [
        Node { role: Role::Nodes, ready: Ready::Listens, ..Node::new("server", store) },
        Node { step: 1, ..Node::new("gateway", gateway) },
    ];
    Ok(nodes.into_iter().collect())
}

fn started(program: CommandLine, class: &str) -> CommandLine {
    let opened = OPENED.iter().map(|package| format!("--add-opens=java.base/{package}=ALL-UNNAMED"));
    program.args(opened).args([class, "start"])
}

/// What a server says goes to its output, which kvtrial keeps until it is stopped.
const LOG: &str = "log4j.rootLogger=WARN,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %-5p %c: %m%n
";

/// Returns the configuration of both processes: everything on loopback, below this directory, without pages for people.
fn settings(directory: &Path, quorum: u16, master: u16, regions: u16, gateway: u16) -> String {
    let below = |name: &str| directory.join(name).display().to_string();
    let here = || "127.0.0.1".to_owned();
    let none = || "-1".to_owned();
    let all = [
        ("hbase.rootdir", format!("file://{}", below("data"))),
        ("hbase.tmp.dir", below("temporary")),
        ("hbase.zookeeper.property.dataDir", below("quorum")),
        ("hbase.zookeeper.property.clientPort", quorum.to_string()),
        ("hbase.zookeeper.property.clientPortAddress", here()),
        ("hbase.zookeeper.quorum", here()),
        ("hbase.master.port", master.to_string()),
        ("hbase.master.hostname", here()),
        ("hbase.master.ipc.address", here()),
        ("hbase.master.info.port", none()),
        ("hbase.regionserver.port", regions.to_string()),
        ("hbase.regionserver.hostname", here()),
        ("hbase.unsafe.regionserver.hostname", here()),
        ("hbase.regionserver.ipc.address", here()),
        ("hbase.regionserver.info.port", none()),
        ("hbase.rest.host", here()),
        ("hbase.rest.port", gateway.to_string()),
        ("hbase.rest.info.port", none()),
        // A file system without HDFS promises nothing about what is flushed; the log is one that does not ask.
        ("hbase.wal.provider", "filesystem".to_owned()),
        ("hbase.unsafe.stream.capability.enforce", "false".to_owned()),
    ];
    let mut text = String::from("<configuration>\n");
    for (name, value) in all {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "<property><name>{name}</name><value>{value}</value></property>");
    }
    text + "</configuration>\n"
}
