//! Tokyo Tyrant, the server of Tokyo Cabinet: its binary protocol over TCP or a unix socket.
//!
//! Durability: `none`. The server never flushes on its own account, with or without an update log (seen with strace), and it
//! changes the mapped file in place without transactions. What was acknowledged is with the operating system and mostly outlives
//! a kill of the server, but a kill in the middle of a write may damage the file, and Tokyo Cabinet promises nothing for a file
//! that was not closed: that is less than `os` says.
//!
//! Native are get, put, delete, append (`putcat`), 32-bit counters (`addint`), get-many (`mget`) and put-many (`putlist`). There is no compare-and-set.
//! A counter wraps around beyond 2147483647. Counters share the key space of values.

mod protocol;

use protocol::{Endian, MAX_ARGUMENT_BYTES, STATISTICS_REQUEST, Tyrant, statistics};
use std::collections::BTreeMap;
use store::{
    Availability, CONNECTIONS, Capabilities, CommandLine, Connections, Counter, Deployment, Endpoint, Facts, Holding,
    Number, Opener, OperationKind, OperationSet, OptionInfo, Overflow, Place, ServerPlan, Session, SessionPlan, Store,
    StoreError, StoreInfo, Threading, programs, wire,
};
use study::{Class, Durability, Spec, Target, Transport};

const PROGRAM: &str = "ttserver";

const INSTALL: &str = "build Tokyo Tyrant 1.1.41 from its source (no Debian package) and put ttserver on PATH";

const DURABILITIES: &[Durability] = &[Durability::None];

/// The buckets of a new file: as many as of the store `tokyocabinet`.
const BUCKETS: Number = OptionInfo::text("bnum", "buckets of the hash database").usual("1000000").at_least(1);
const THREADS: Number = OptionInfo::text("thnum", "threads of the server").usual("8").at_least(1);
const OPTIONS: &[OptionInfo] = &[BUCKETS.info, THREADS.info, CONNECTIONS];

const TCP: StoreInfo = StoreInfo {
    name: "tyrant",
    family: "tyrant",
    transport: Some(Transport::Tcp),
    driver: None,
    class: Class::Network,
    kind: "hash",
    summary: "Tokyo Tyrant over TCP, binary protocol",
    durabilities: DURABILITIES,
    options: OPTIONS,
    install: INSTALL,
    licence: "LGPL-2.1-or-later",
    declares: |_| CAPABILITIES,
    probe,
    opener: Opener::Server { plan: |spec, place| plan(spec, place, Transport::Tcp), connect, usual_port: 1978 },
};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[
    TCP,
    StoreInfo {
        name: "tyrant-unix",
        transport: Some(Transport::Unix),
        summary: "Tokyo Tyrant over a unix socket, binary protocol",
        opener: Opener::Server { plan: |spec, place| plan(spec, place, Transport::Unix), connect, usual_port: 1978 },
        ..TCP
    },
];

const CAPABILITIES: Capabilities = Capabilities {
    databases: store::Databases::Absent,
    native: OperationSet::BASIC.and(&[
        OperationKind::Append,
        OperationKind::Increment,
        OperationKind::GetCounter,
        OperationKind::GetMany,
        OperationKind::PutMany,
    ]),
    max_value_bytes: MAX_ARGUMENT_BYTES,
    // The codec refuses longer ones: the server would drop the connection.
    value_limit_is_hard: true,
    counter: Some(Counter { min: i32::MIN as i64, max: i32::MAX as i64, overflow: Overflow::Wraps }),
    ..Capabilities::BASIC
};

fn probe() -> Availability {
    let Some(program) = programs::find(&[PROGRAM], &[]) else { return Availability::NotFound(PROGRAM.into()) };
    // "Tokyo Tyrant version 1.1.41 (323:0.91) for Linux"
    match programs::version_line(&program, &["--version"]) {
        Some(line) => {
            match line.strip_prefix("Tokyo Tyrant version ").and_then(|rest| rest.split_whitespace().next()) {
                Some(version) => Availability::Found(format!("Tokyo Tyrant {version}")),
                None => Availability::Found(line),
            }
        }
        None => Availability::NotFound(format!("{} does not state its version", program.display())),
    }
}

fn plan(spec: &Spec, place: &mut Place, transport: Transport) -> Result<Deployment, StoreError> {
    let program = programs::find(&[PROGRAM], &[]).ok_or_else(|| StoreError::NotFound {
        store: spec.name.clone(),
        what: PROGRAM.into(),
        install: INSTALL.into(),
    })?;
    let buckets: u32 = BUCKETS.read(spec)?;
    let threads: u32 = THREADS.read(spec)?;
    let log = place.directory.join("log");
    let mut database = place.directory.join("casket.tch").into_os_string();
    database.push(format!("#mode=wc#bnum={buckets}#opts=l"));
    let (host, port, endpoint) = match transport {
        Transport::Tcp => {
            let port = place.port()?;
            ("127.0.0.1".into(), port, Endpoint::loopback(port))
        }
        Transport::Unix => {
            let socket = place.directory.join("tyrant.sock");
            (socket.clone().into_os_string(), 0, Endpoint::unix(socket))
        }
    };
    let run = CommandLine::new(program).arg("-host").arg(host).arg("-port").arg(port.to_string());
    let run = run.arg("-thnum").arg(threads.to_string()).arg("-log").arg(&log).arg("-le").arg(database);
    Ok(ServerPlan { log: Some(log), ..ServerPlan::new(run, endpoint) }.into())
}

fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let endpoint = store::only(nodes)?;
    let private = spec.options.keys().find(|option| *option != CONNECTIONS.name);
    if let (Target::Server(_), Some(option)) = (&spec.target, private) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("{option}= is for a private server; start yours with it and leave it out here"),
        });
    }
    let statistics = ask(endpoint)?;
    let endian = match statistics.get("bigend").map(String::as_str) {
        Some("1") => Endian::Big,
        _ => Endian::Little,
    };
    Ok(Box::new(Server { endpoint: endpoint.clone(), endian, connections: Connections::of(spec)? }))
}

/// Returns the server's statistics, by name.
fn ask(endpoint: &Endpoint) -> Result<BTreeMap<String, String>, StoreError> {
    let mut talk = wire::Talk::open(endpoint, Tyrant::new(Endian::Little))?;
    let text = talk.ask(&STATISTICS_REQUEST, statistics)?;
    Ok(text.lines().filter_map(|line| line.split_once('\t')).map(|(name, value)| (name.into(), value.into())).collect())
}

struct Server {
    endpoint: Endpoint,
    endian: Endian,
    connections: Connections,
}

impl Store for Server {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let endian = self.endian;
        wire::session(&self.endpoint, plan.over(self.connections), move || Tyrant::new(endian))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let mut statistics = ask(&self.endpoint)?;
        let version = statistics.remove("version").unwrap_or_else(|| "unknown".into());
        let told =
            statistics.into_iter().filter(|(name, _)| ["type", "path", "protver", "bigend"].contains(&&name[..]));
        let connections = (CONNECTIONS.name.to_owned(), self.connections.fact());
        Ok(Facts {
            product: "Tokyo Tyrant".into(),
            version,
            config: told.chain([connections]).collect(),
            ..Facts::default()
        })
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        let keys = ask(&self.endpoint)?.get("rnum").and_then(|number| number.parse().ok());
        Ok(Holding { keys, ..Holding::default() })
    }
}
