//! Redis, and Valkey where that is what is found: RESP2 over TCP or a unix socket.

mod facts;
mod item;
mod resp;

pub(crate) use resp::{Login, Resp};
use store::{
    Capabilities, Class, Counter, Endpoint, Facts, Opener, OperationKind, OperationSet, OptionInfo, Overflow, Place, Probe,
    ServerPlan, Session, SessionPlan, Store, StoreError, StoreInfo, Threading, CommandLine, programs, wire,
};
use study::{Durability, Spec, Target};

const INSTALL: &str = "apt-get install redis-server";

const DURABILITIES: &[Durability] = &[Durability::None, Durability::Os, Durability::Second, Durability::Commit];

const OPTIONS: &[OptionInfo] = &[
    OptionInfo { name: "maxmemory", values: &[], help: "memory for data, e.g. 2mb; a full server then refuses writes [0: no limit]" },
    OptionInfo {
        name: "maxmemory-policy",
        values: &["noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-ttl"],
        help: "what a full server does",
    },
    OptionInfo { name: "io-threads", values: &["1", "2", "3", "4", "6", "8"], help: "threads that read and write sockets" },
    OptionInfo { name: "hz", values: &[], help: "times a second the server looks after itself, 1 to 500 [10]" },
    OptionInfo { name: "activerehashing", values: &["yes", "no"], help: "whether it moves a growing table while idle" },
    OptionInfo { name: "hash-max-listpack-entries", values: &[], help: "fields up to which a hash is kept as a list [128]" },
];

const TCP: StoreInfo = StoreInfo {
    name: "redis",
    class: Class::Network,
    summary: "Redis or Valkey over TCP",
    durabilities: DURABILITIES,
    options: OPTIONS,
    install: INSTALL,
    licence: "BSD-3-Clause to Redis 7.2 and Valkey; later Redis: AGPLv3, RSALv2 or SSPLv1",
    declares: |_| CAPABILITIES,
    probe,
    opener: Opener::Server { plan: |spec, place| plan(spec, place, Transport::Tcp), connect, usual_port: 6379 },
};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[
    TCP,
    StoreInfo {
        name: "redis-unix",
        summary: "Redis or Valkey over a unix socket",
        opener: Opener::Server { plan: |spec, place| plan(spec, place, Transport::Unix), connect, usual_port: 6379 },
        ..TCP
    },
];

const NATIVE: OperationSet = OperationSet::BASIC.and(&[
    OperationKind::GetVersioned,
    OperationKind::Append,
    OperationKind::Increment,
    OperationKind::GetCounter,
    OperationKind::IncrementField,
    OperationKind::GetFields,
    OperationKind::CompareAndSet,
    OperationKind::GetMany,
    OperationKind::PutMany,
]);

pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    native: NATIVE,
    max_value_bytes: 512 << 20,
    counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Refused }),
    ..Capabilities::BASIC
};

/// How a private server is reached.
#[derive(Clone, Copy)]
enum Transport {
    Tcp,
    Unix,
}

fn program() -> Option<std::path::PathBuf> {
    programs::find(&["redis-server", "valkey-server"], &[])
}

fn probe() -> Probe {
    let Some(program) = program() else { return Probe::NotFound("redis-server or valkey-server".into()) };
    // "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 ..."
    let line = programs::version_line(&program, &["--version"]).unwrap_or_default();
    let product = if line.starts_with("Valkey") { "Valkey" } else { "Redis" };
    match line.split_whitespace().find_map(|word| word.strip_prefix("v=")) {
        Some(version) => Probe::Found(format!("{product} {version}")),
        None => Probe::NotFound(format!("{} does not state its version", program.display())),
    }
}

fn plan(spec: &Spec, place: &Place, transport: Transport) -> Result<ServerPlan, StoreError> {
    let program = program().ok_or_else(|| StoreError::NotFound {
        store: spec.name.clone(),
        what: "redis-server or valkey-server".into(),
        install: INSTALL.into(),
    })?;
    let mut run = CommandLine::new(program).args(["--daemonize", "no", "--save", ""]).arg("--dir").arg(&place.directory);
    let endpoint = match transport {
        Transport::Tcp => {
            let port = place.ports[0];
            run = run.args(["--bind", "127.0.0.1", "--port"]).arg(port.to_string());
            Endpoint::loopback(port)
        }
        Transport::Unix => {
            let socket = place.directory.join("redis.sock");
            run = run.args(["--port", "0", "--unixsocketperm", "700", "--unixsocket"]).arg(&socket);
            Endpoint::unix(socket)
        }
    };
    let (appendonly, appendfsync) = facts::append_only_file(spec.durability.unwrap_or(DURABILITIES[0]));
    run = run.args(["--appendonly", appendonly, "--appendfsync", appendfsync]);
    if !spec.options.contains_key("maxmemory-policy") {
        run = run.args(["--maxmemory-policy", "noeviction"]);
    }
    for (name, value) in &spec.options {
        run = run.arg(format!("--{name}")).arg(value);
    }
    Ok(ServerPlan::new(run, endpoint))
}

fn connect(spec: &Spec, endpoint: &Endpoint) -> Result<Box<dyn Store>, StoreError> {
    if let (Target::Server(_), Some(option)) = (&spec.target, spec.options.keys().next()) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("{option}= is for a private server; set it in the configuration of yours and leave it out here"),
        });
    }
    let server = facts::Server::ask(endpoint)?;
    let durability = server.durability.or(spec.durability).unwrap_or(DURABILITIES[0]);
    let capabilities = Capabilities { durability, ..CAPABILITIES };
    Ok(Box::new(Redis { endpoint: endpoint.clone(), capabilities }))
}

struct Redis {
    endpoint: Endpoint,
    capabilities: Capabilities,
}

impl Store for Redis {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let login = Login::of(&self.endpoint);
        wire::session(&self.endpoint, plan, move || Resp::new(login.clone()))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        facts::Server::ask(&self.endpoint).map(|server| server.facts)
    }
}
