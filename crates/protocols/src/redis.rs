//! Redis and Valkey: RESP2 over TCP or a unix socket.

mod answer;
pub(crate) mod facts;
mod item;
pub(crate) mod latency;
mod resp;
mod sets;
pub(crate) mod versions;

pub(crate) use facts::answer;
pub(crate) use resp::{Login, Resp, Script};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use store::tls::{CA, TLS};
use store::{
    Availability, CONNECTIONS, Capabilities, Checkpoint, CommandLine, Connections, Counter, Deployment, Endpoint,
    Expiry, Facts, Happening, Holding, KeepSets, Maintenance, Opener, OperationKind, OperationSet, OptionInfo,
    Overflow, Place, ServerPlan, Session, SessionPlan, Store, StoreError, StoreInfo, Support, Threading, VERSION,
    Versions, Witness, programs, wire,
};
use study::{Class, Durability, Spec, Target, Transport};

pub(crate) const INSTALL_REDIS: &str = "apt-get install redis-server, or kvtrial fetch-store redis (Redis 8.2.3)";
pub(crate) const INSTALL_VALKEY: &str =
    "kvtrial fetch-store valkey (Valkey 9.1.2), or apt-get install valkey-server (from Debian 13 on)";

pub(crate) const DURABILITIES: &[Durability] =
    &[Durability::None, Durability::Os, Durability::Second, Durability::Commit];

/// The option that names another server program.
pub(crate) const PROGRAM: OptionInfo =
    OptionInfo::text("program", "the server program, to compare versions").otherwise("the one on PATH");

const POLICY: OptionInfo = OptionInfo::one_of(
    "maxmemory-policy",
    &["noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-ttl"],
    "what a full server does",
);

/// The options that are kvtrial's, not the server's.
const OURS: [&str; 2] = [sets::WAY.info.name, CONNECTIONS.name];

const OPTIONS: &[OptionInfo] = &[
    PROGRAM,
    OptionInfo::text("maxmemory", "memory for data, e.g. 2mb; a full server then refuses writes")
        .usual("0")
        .otherwise("no limit"),
    POLICY,
    OptionInfo::one_of("io-threads", &["1", "2", "3", "4", "6", "8"], "threads that read and write sockets")
        .tuned(&["1", "2", "4"]),
    OptionInfo::text("hz", "times per second the server looks after itself, 1 to 500")
        .usual("10")
        .tuned(&["10", "1", "100"]),
    OptionInfo::one_of("activerehashing", &["yes", "no"], "whether it moves a growing table while idle")
        .tuned(&["yes", "no"]),
    OptionInfo::text("hash-max-listpack-entries", "fields up to which a hash is kept as a list")
        .usual("128")
        .tuned(&["128", "0", "512"]),
    sets::WAY.info,
    CONNECTIONS,
    TLS,
    CA,
];

const REDIS_OPTIONS: [OptionInfo; OPTIONS.len() + 1] = versions::REDIS.with(OPTIONS);
const VALKEY_OPTIONS: [OptionInfo; OPTIONS.len() + 1] = versions::VALKEY.with(OPTIONS);

/// A server program of the family.
#[derive(Clone, Copy)]
pub(crate) enum Product {
    Redis,
    Valkey,
}

impl Product {
    pub fn program_name(self) -> &'static str {
        match self {
            Product::Redis => "redis-server",
            Product::Valkey => "valkey-server",
        }
    }

    /// Returns the line that installs the program of a spec.
    pub fn install(self, spec: &Spec) -> String {
        let usual = match self {
            Product::Redis => INSTALL_REDIS,
            Product::Valkey => INSTALL_VALKEY,
        };
        self.versions().install(spec, usual)
    }

    /// Returns the program that a spec names, or the one found on this machine.
    pub fn program(self, spec: &Spec) -> Option<PathBuf> {
        match PROGRAM.asked(spec) {
            Some(path) => std::path::absolute(path).ok().filter(|path| path.is_file()),
            None => self.found(spec),
        }
    }

    /// Returns the program on this machine: that on `PATH`, or the fetched one.
    fn found(self, spec: &Spec) -> Option<PathBuf> {
        self.versions().chosen(spec, || programs::find(&[self.program_name()], &[]))
    }

    /// Returns the versions that can be fetched.
    pub fn versions(self) -> Versions {
        match self {
            Product::Redis => versions::REDIS,
            Product::Valkey => versions::VALKEY,
        }
    }

    /// Returns the words for the program that a spec names and that was not found.
    pub fn sought(self, spec: &Spec) -> String {
        PROGRAM.asked(spec).map_or_else(|| self.versions().sought(spec, self.program_name()), str::to_owned)
    }

    pub fn probe(self) -> Availability {
        let name = self.program_name();
        let Some(program) = self.found(&Spec::private(name)) else { return Availability::NotFound(name.into()) };
        // "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 ..."
        let line = programs::version_line(&program, &["--version"]).unwrap_or_default();
        let product = line.split_whitespace().next().unwrap_or_default();
        match line.split_whitespace().find_map(|word| word.strip_prefix("v=")) {
            Some(version) => Availability::Found(format!("{product} {version}")),
            None => Availability::NotFound(format!("{} does not state its version", program.display())),
        }
    }
}

const REDIS: StoreInfo = StoreInfo {
    name: "redis",
    family: "redis",
    transport: Some(Transport::Tcp),
    driver: None,
    class: Class::Network,
    kind: "memory",
    summary: "Redis over TCP",
    durabilities: DURABILITIES,
    options: &REDIS_OPTIONS,
    install: INSTALL_REDIS,
    licence: "BSD-3-Clause to 7.2; later AGPLv3, RSALv2 or SSPLv1",
    declares: |spec| Capabilities { sets: sets::WAY.read(spec), checkpoint: Support::Native, ..CAPABILITIES },
    probe: || Product::Redis.probe(),
    opener: Opener::Server {
        plan: |spec, place| plan(spec, place, Product::Redis, Transport::Tcp),
        connect,
        usual_port: 6379,
    },
};

const VALKEY: StoreInfo = StoreInfo {
    name: "valkey",
    family: "valkey",
    summary: "Valkey over TCP",
    options: &VALKEY_OPTIONS,
    install: INSTALL_VALKEY,
    licence: "BSD-3-Clause",
    probe: || Product::Valkey.probe(),
    opener: Opener::Server {
        plan: |spec, place| plan(spec, place, Product::Valkey, Transport::Tcp),
        connect,
        usual_port: 6379,
    },
    ..REDIS
};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[
    REDIS,
    StoreInfo {
        name: "redis-unix",
        transport: Some(Transport::Unix),
        summary: "Redis over a unix socket",
        opener: Opener::Server {
            plan: |spec, place| plan(spec, place, Product::Redis, Transport::Unix),
            connect,
            usual_port: 6379,
        },
        ..REDIS
    },
    VALKEY,
    StoreInfo {
        name: "valkey-unix",
        transport: Some(Transport::Unix),
        summary: "Valkey over a unix socket",
        opener: Opener::Server {
            plan: |spec, place| plan(spec, place, Product::Valkey, Transport::Unix),
            connect,
            usual_port: 6379,
        },
        ..VALKEY
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
    OperationKind::PutTtl,
    OperationKind::Touch,
    OperationKind::TimeLeft,
    OperationKind::Command,
]);

pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    native: NATIVE,
    max_value_bytes: 512 << 20,
    counter: Some(Counter { min: i64::MIN, max: i64::MAX, overflow: Overflow::Refused }),
    expiry: Some(Expiry::IN_MS),
    ..Capabilities::BASIC
};

fn plan(spec: &Spec, place: &mut Place, product: Product, transport: Transport) -> Result<Deployment, StoreError> {
    let program = product.program(spec).ok_or_else(|| StoreError::NotFound {
        store: spec.name.clone(),
        what: product.sought(spec),
        install: product.install(spec),
    })?;
    let mut run = CommandLine::new(program);
    let mut files = Vec::new();
    if let Transport::Tcp = transport {
        // The first argument. Nobody else passes through to the socket, but every user of the machine to the port.
        let password = place.directory.join("redis.conf");
        run = run.arg(&password);
        files.push((password, format!("requirepass {}\n", place.secret.reveal())));
    }
    run = run.args(["--daemonize", "no", "--save", ""]).arg("--dir").arg(&place.directory);
    let endpoint = match transport {
        Transport::Tcp => {
            let port = place.port()?;
            run = run.args(["--bind", "127.0.0.1", "--port"]).arg(port.to_string());
            Endpoint { password: Some(place.secret.clone()), ..Endpoint::loopback(port) }
        }
        Transport::Unix => {
            let socket = place.directory.join("redis.sock");
            run = run.args(["--port", "0", "--unixsocketperm", "700", "--unixsocket"]).arg(&socket);
            Endpoint::unix(socket)
        }
    };
    let (appendonly, appendfsync) = facts::append_only_file(spec.durability.unwrap_or(DURABILITIES[0]));
    run = run.args(["--appendonly", appendonly, "--appendfsync", appendfsync]);
    run = run.args(["--latency-monitor-threshold", latency::THRESHOLD_MS]);
    if POLICY.asked(spec).is_none() {
        run = run.args([&format!("--{}", POLICY.name), POLICY.read(spec)]);
    }
    for (name, value) in
        spec.options.iter().filter(|(name, _)| !is_ours(name) && ![PROGRAM.name, VERSION.name].contains(&name.as_str()))
    {
        run = run.arg(format!("--{name}")).arg(value);
    }
    Ok(ServerPlan { files, ..ServerPlan::new(run, endpoint) }.into())
}

fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let endpoint = store::only(nodes)?;
    if let (Target::Server(_), Some(option)) = (&spec.target, spec.options.keys().find(|name| !is_ours(name))) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!(
                "{option}= is for a private server; set it in the configuration of yours and leave it out here"
            ),
        });
    }
    let known = match spec.target {
        Target::Server(_) => facts::Known::Nothing,
        _ => facts::Known::Product,
    };
    let connections = Connections::of(spec)?;
    let server = facts::Server::ask(endpoint, known)?;
    let durability = server.durability.or(spec.durability).unwrap_or(DURABILITIES[0]);
    let level = server.level_known();
    let capabilities =
        Capabilities { durability, level, sets: sets::WAY.read(spec), checkpoint: Support::Native, ..CAPABILITIES };
    let script = server.script;
    let opened = SystemTime::now();
    let endpoint = endpoint.clone();
    let sets = capabilities.sets.map(|way| sets::RedisWay { endpoint: endpoint.clone(), way });
    Ok(Box::new(Redis { endpoint, known, script, connections, capabilities, sets, opened }))
}

/// Returns whether an option is for kvtrial, not for the server.
fn is_ours(option: &str) -> bool {
    OURS.contains(&option)
}

struct Redis {
    endpoint: Endpoint,
    known: facts::Known,
    script: Script,
    connections: Connections,
    capabilities: Capabilities,
    sets: Option<sets::RedisWay>,
    opened: SystemTime,
}

impl Store for Redis {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        let login = Login::of(&self.endpoint).with(self.script);
        wire::session(&self.endpoint, plan.over(self.connections), move || Resp::new(login.clone()))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let mut facts = facts::Server::ask(&self.endpoint, self.known)?.facts;
        facts.config.insert(CONNECTIONS.name.into(), self.connections.fact());
        Ok(facts)
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        facts::holding(&self.endpoint)
    }

    fn commands_done(&self) -> Result<Option<u64>, StoreError> {
        facts::commands_done(&self.endpoint)
    }

    fn maintenance(&self) -> Maintenance<'_> {
        Maintenance { checkpoint: Some(self), ..Maintenance::default() }
    }

    fn witness(&self) -> Option<&dyn Witness> {
        Some(self)
    }

    fn sets(&self) -> Option<&dyn KeepSets> {
        self.sets.as_ref().map(|sets| sets as &dyn KeepSets)
    }
}

impl Checkpoint for Redis {
    fn checkpoint(&self, patience: Duration) -> Result<(), StoreError> {
        facts::rewrite_log(&self.endpoint, patience)
    }
}

impl Witness for Redis {
    fn happened(&self) -> Vec<Happening> {
        // Without this evidence a stall is explained by what was seen from outside, or not at all.
        latency::happened(&self.endpoint, self.opened).unwrap_or_default()
    }
}
