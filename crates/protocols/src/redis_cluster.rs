//! Redis Cluster and Valkey Cluster: RESP2 over TCP to the node that has the key's hash slot.
//!
//! The protocol between client and nodes is that of the cluster specification
//! (<https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/>): 16,384 hash slots, each served by one master; a node
//! that is asked for a slot it does not serve names the one that does (`MOVED`), or the one to ask this once (`ASK`).
//! Replication is asynchronous: a master acknowledges before its replicas have the write, so a failover may lose it.

mod census;
mod codec;
mod session;
mod slots;

use crate::redis::facts::{
    self, CommandReply, Known, Server, append_only_file, ask, ask_until, commands_done, holding,
};
use crate::redis::{
    self, DURABILITIES, INSTALL_REDIS, INSTALL_VALKEY, Login, PROGRAM, Product, Resp, latency, versions,
};
use codec::Wait;
use slots::{SlotKeepers, SlotTable};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};
use store::tls::{CA, TLS};
use store::wire::{CONNECT_TIMEOUT, Talk};
use store::{
    CONNECTIONS, Capabilities, CaughtUp, CommandLine, Connections, Deployment, Endpoint, Facts, Forming, FormingStep,
    Happening, Holding, Joining, Keepers, Leaders, Members, Node, Number, Opener, OperationKind, OperationSet,
    OptionInfo, Place, Ready, Resent, ServerPlan, Session, SessionPlan, Store, StoreError, StoreInfo, Threading,
    TimeOfDay, VERSION, Whereabouts, Witness, programs,
};
use study::{Class, Spec, Target, Transport};

const MASTERS: Number =
    OptionInfo::text("nodes", "masters the hash slots are spread over, 3 to 16").usual("3").within(3..=16);
const REPLICAS: Number = OptionInfo::text("replicas", "replicas of each master, 0 to 2").usual("0").within(0..=2);
const NODE_TIMEOUT: Number =
    OptionInfo::text("node-timeout", "time after which a node that is silent counts as failed, in ms")
        .usual("5000")
        .within(100..=600_000);
const WAIT: Number =
    OptionInfo::text("wait", "replicas that must have a write before it counts as acknowledged (WAIT), 0 to 2")
        .usual("0")
        .within(0..=2);
const OPTIONS: &[OptionInfo] =
    &[MASTERS.info, REPLICAS.info, NODE_TIMEOUT.info, WAIT.info, PROGRAM, CONNECTIONS, TLS, CA];
const REDIS_OPTIONS: [OptionInfo; OPTIONS.len() + 1] = versions::REDIS.with(OPTIONS);
const VALKEY_OPTIONS: [OptionInfo; OPTIONS.len() + 1] = versions::VALKEY.with(OPTIONS);

const REDIS: StoreInfo = StoreInfo {
    name: "redis-cluster",
    family: "redis-cluster",
    transport: Some(Transport::Tcp),
    driver: None,
    class: Class::Distributed,
    kind: "memory",
    summary: "Redis Cluster: hash slots over several servers",
    durabilities: DURABILITIES,
    options: &REDIS_OPTIONS,
    install: INSTALL_REDIS,
    licence: "BSD-3-Clause to 7.2; later AGPLv3, RSALv2 or SSPLv1",
    declares: |_| CAPABILITIES,
    probe: || Product::Redis.probe(),
    opener: Opener::Server { plan: |spec, place| plan(spec, place, Product::Redis), connect, usual_port: 6379 },
};

/// The stores of this adapter.
pub static STORES: &[StoreInfo] = &[
    REDIS,
    StoreInfo {
        name: "valkey-cluster",
        family: "valkey-cluster",
        options: &VALKEY_OPTIONS,
        summary: "Valkey Cluster: hash slots over several servers",
        install: INSTALL_VALKEY,
        licence: "BSD-3-Clause",
        probe: || Product::Valkey.probe(),
        opener: Opener::Server { plan: |spec, place| plan(spec, place, Product::Valkey), connect, usual_port: 6379 },
        ..REDIS
    },
];

/// The capabilities of one server without batches: the keys of one command must all be in one hash slot.
const CAPABILITIES: Capabilities = Capabilities {
    databases: store::Databases::OnlyFirst,
    native: OperationSet::BASIC.and(&[
        OperationKind::GetVersioned,
        OperationKind::Append,
        OperationKind::Increment,
        OperationKind::GetCounter,
        OperationKind::IncrementField,
        OperationKind::GetFields,
        OperationKind::CompareAndSet,
        OperationKind::PutTtl,
        OperationKind::Touch,
        OperationKind::TimeLeft,
        OperationKind::Command,
    ]),
    ..redis::CAPABILITIES
};

/// The time the nodes may take to become one cluster.
const FORMING_TIMEOUT: Duration = Duration::from_secs(60);

/// The time a replica may take to take over from a master that is dead when kvtrial connects to the cluster: the usual node timeout, and an election.
const TAKEOVER: Duration = Duration::from_secs(10);

/// The time a new node may take until it has its share of the keys, which are moved meanwhile.
const JOINING_TIMEOUT: Duration = Duration::from_secs(600);

fn plan(spec: &Spec, place: &mut Place, product: Product) -> Result<Deployment, StoreError> {
    let masters: u32 = MASTERS.read(spec)?;
    let replicas: u32 = REPLICAS.read(spec)?;
    let wait: u32 = WAIT.read(spec)?;
    if wait > replicas {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("wait={wait} needs as many replicas of each master: add replicas={wait}"),
        });
    }
    if let Some(version) = VERSION.asked(spec).filter(|version| !has_own_bus_port(version)) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!(
                "Redis {version} cannot choose the port by which the nodes talk; a cluster needs 7.0 or later"
            ),
        });
    }
    let programs = Programs::find(spec, product)?;
    let names = (1..=masters * (1 + replicas)).map(|index| format!("node{index}"));
    let nodes = names.map(|name| node(spec, place, &programs, name)).collect::<Result<Vec<_>, _>>()?;
    let addresses = nodes.iter().map(|node| node.plan.endpoint.to_string());
    let create = programs.form(place, "create").args(addresses);
    let create = create.args(["--cluster-replicas", &replicas.to_string(), "--cluster-yes"]);
    let steps = vec![create.into(), FormingStep::Until(know_each_other), FormingStep::Until(replicas_have_caught_up)];
    let forming = Some(Forming { steps, timeout: FORMING_TIMEOUT });
    let joining: Joining = match product {
        Product::Redis => |spec, place, members| join(spec, place, members, Product::Redis),
        Product::Valkey => |spec, place, members| join(spec, place, members, Product::Valkey),
    };
    let caught_up = (replicas > 0).then_some(have_caught_up as CaughtUp);
    let leaders = (replicas > 0).then_some(leaders as Leaders);
    let joining = Some(joining);
    let time_of_day: Option<TimeOfDay> = Some(|_, node| facts::time_of_day(node));
    let deployment = Deployment { forming, joining, caught_up, leaders, time_of_day, ..Deployment::from_iter(nodes) };
    Ok(deployment.with_copies(1 + replicas))
}

/// Returns whether a node of this version takes any port for its talk with the others, instead of the first and 10,000.
fn has_own_bus_port(version: &str) -> bool {
    version.split('.').next().and_then(|major| major.parse().ok()).is_none_or(|major: u32| major >= 7)
}

/// Plans one more master, which gets its share of the slots from the masters that have some.
fn join(spec: &Spec, place: &mut Place, members: &Members, product: Product) -> Result<Deployment, StoreError> {
    let programs = Programs::find(spec, product)?;
    let node = node(spec, place, &programs, members.name.clone())?;
    let new = node.plan.endpoint.to_string();
    let known = members.endpoints.first().map(Endpoint::to_string).unwrap_or_default();
    let add = programs.form(place, "add-node").args([&new, &known]);
    let rebalance =
        programs.form(place, "rebalance").args([&known, "--cluster-use-empty-masters", "--cluster-threshold", "1"]);
    let steps = vec![add.into(), FormingStep::Until(know_each_other), rebalance.into()];
    Ok(Deployment { forming: Some(Forming { steps, timeout: JOINING_TIMEOUT }), ..Deployment::from_iter([node]) })
}

/// Checks that each node knows all others, and takes the cluster for whole: a node that does not hands no slots to a stranger, and takes none.
fn know_each_other(endpoints: &[Endpoint]) -> Result<(), StoreError> {
    for endpoint in endpoints {
        let nodes = census::nodes_of(endpoint, Instant::now() + CONNECT_TIMEOUT)?;
        let known = nodes.lines().filter(|line| !line.contains("handshake")).count();
        if known < endpoints.len() {
            return Err(StoreError::open(endpoint, format!("it knows {known} of {} nodes", endpoints.len())));
        }
    }
    Ok(())
}

/// Checks, for the nodes that run, that each replica has everything its master has, and that no node is still taken for a master that is one no
/// longer.
fn have_caught_up(spec: &Spec, endpoints: &[Endpoint]) -> Result<(), StoreError> {
    let masters: usize = MASTERS.read(spec)?;
    let found = endpoints.iter().map(replication).collect::<Result<Vec<String>, _>>()?;
    let found = found.iter().filter(|info| info.lines().any(|line| line.trim_end() == "role:master")).count();
    if found > masters {
        let words = format!("{found} masters instead of {masters}");
        return Err(StoreError::Session(words));
    }
    replicas_have_caught_up(endpoints)
}

/// Returns the places of the masters that serve slots, as stated by the node that knows the latest change.
fn leaders(_: &Spec, endpoints: &[Endpoint]) -> Result<Vec<usize>, StoreError> {
    let soon = || Instant::now() + CONNECT_TIMEOUT;
    let tables = endpoints.iter().filter_map(|endpoint| census::table_of(endpoint, soon()).ok());
    let latest = tables.max_by_key(SlotTable::epoch);
    let table = latest.ok_or_else(|| StoreError::Session("no node considers the cluster complete".into()))?;
    Ok((0..endpoints.len()).filter(|place| table.find(&endpoints[*place]).is_some_and(|it| table.serves(it))).collect())
}

/// Returns a node's account of masters and replicas.
fn replication(endpoint: &Endpoint) -> Result<String, StoreError> {
    let mut talk = Talk::open_until(Instant::now() + CONNECT_TIMEOUT, endpoint, Resp::new(Login::of(endpoint)))?;
    match ask(&mut talk, b"INFO", &[b"replication"])? {
        CommandReply::Texts(info) => Ok(info.concat()),
        _ => Ok(String::new()),
    }
}

/// Checks that each replica has everything its master has: a replica that has never caught up takes over from no master that dies.
fn replicas_have_caught_up(endpoints: &[Endpoint]) -> Result<(), StoreError> {
    for endpoint in endpoints {
        if replication(endpoint)?.lines().any(|line| line.trim_end() == "master_link_status:down") {
            return Err(StoreError::open(endpoint, "a replica that has not caught up with its master"));
        }
    }
    Ok(())
}

/// The programs that run a cluster.
struct Programs {
    server: PathBuf,
    /// The program that forms clusters, as it comes with the server.
    client: PathBuf,
}

impl Programs {
    fn find(spec: &Spec, product: Product) -> Result<Programs, StoreError> {
        let missing =
            |what: String| StoreError::NotFound { store: spec.name.clone(), what, install: product.install(spec) };
        let program = product.program(spec).ok_or_else(|| missing(product.sought(spec)))?;
        let forming_program = product.program_name().replace("-server", "-cli");
        let beside = program.with_file_name(&forming_program);
        // Redis's own forms clusters of Valkey, too, which some packages have without its own.
        let client = Some(beside)
            .filter(|path| path.is_file())
            .or_else(|| programs::find(&[&forming_program, "redis-cli"], &[]));
        let client = client.ok_or_else(|| missing(forming_program))?;
        Ok(Programs { server: program, client })
    }

    /// Returns a command of `redis-cli --cluster`.
    fn form(&self, place: &Place, what: &str) -> CommandLine {
        let mut command = CommandLine::new(&self.client).args(["--cluster", what]);
        // Its arguments every user of the machine can read; its environment nobody else can.
        command.env.push(("REDISCLI_AUTH".into(), place.secret.reveal().to_owned()));
        command
    }
}

/// Plans one server of a cluster, which knows no other server yet.
fn node(spec: &Spec, place: &mut Place, programs: &Programs, name: String) -> Result<Node, StoreError> {
    let timeout_ms: u32 = NODE_TIMEOUT.read(spec)?;
    let password = place.secret.reveal().to_owned();
    let (appendonly, appendfsync) = append_only_file(spec.durability.unwrap_or(DURABILITIES[0]));
    let mut place = place.node(&name);
    let (port, bus) = (place.port()?, place.port()?);
    let address = place.address().to_string();
    let config = place.directory.join("redis.conf");
    let files = vec![(config.clone(), format!("requirepass {password}\nmasterauth {password}\n"))];
    let run = CommandLine::new(&programs.server)
        .arg(&config)
        .args(["--daemonize", "no", "--save", "", "--dir"])
        .arg(&place.directory)
        .args(["--bind", &address, "--port", &port.to_string()])
        .args(["--cluster-enabled", "yes", "--cluster-port", &bus.to_string()])
        .args(["--cluster-announce-ip", &address, "--cluster-config-file", "nodes.conf"])
        .args(["--cluster-node-timeout", &timeout_ms.to_string()])
        // A master waits five seconds for more replicas before it sends its data to the first.
        .args(["--repl-diskless-sync-delay", "0"])
        .args(["--appendonly", appendonly, "--appendfsync", appendfsync])
        .args(["--latency-monitor-threshold", latency::THRESHOLD_MS, "--maxmemory-policy", "noeviction"]);
    let endpoint = Endpoint { password: Some(place.secret.clone()), ..place.endpoint(port) };
    let plan = ServerPlan { files, ..ServerPlan::new(run, endpoint) };
    Ok(Node { ready: Ready::Listens, ..Node::new(name, plan) })
}

fn connect(spec: &Spec, endpoints: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let private = spec.options.keys().find(|option| ![WAIT.info.name, CONNECTIONS.name].contains(&option.as_str()));
    if let (Target::Server(_), Some(option)) = (&spec.target, private) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("{option}= is for a private cluster; leave it out for yours"),
        });
    }
    let table = census::whole_table(endpoints, Instant::now() + TAKEOVER)?;
    let mut nodes = endpoints.to_vec();
    nodes.extend(table.nodes().iter().filter(|node| !endpoints.contains(node)).cloned());
    let server = Server::ask(&table.endpoints()[0], Known::Product)?;
    let durability = server.durability.or(spec.durability).unwrap_or(DURABILITIES[0]);
    Ok(Box::new(Cluster {
        nodes,
        table,
        capabilities: Capabilities { durability, level: server.level_known(), ..CAPABILITIES },
        opened: SystemTime::now(),
        resent: Resent::default(),
        wait: Wait(WAIT.read(spec)?),
        connections: Connections::of(spec)?,
    }))
}

/// Returns a node's answer to `CLUSTER` and this word.
fn text(talk: &mut Talk, endpoint: &Endpoint, word: &[u8], deadline: Instant) -> Result<String, StoreError> {
    match ask_until(talk, deadline, b"CLUSTER", &[word])? {
        CommandReply::Texts(texts) => Ok(texts.concat()),
        CommandReply::Refused(words) => {
            Err(StoreError::open(endpoint, format!("{words} (redis and valkey are the stores of one server)")))
        }
    }
}

struct Cluster {
    /// The nodes that were named, or started, and all others they know of.
    nodes: Vec<Endpoint>,
    /// The table of the masters and their slots when kvtrial connected to the cluster.
    table: SlotTable,
    capabilities: Capabilities,
    opened: SystemTime,
    resent: Resent,
    wait: Wait,
    connections: Connections,
}

impl Cluster {
    /// Returns the table of the masters and their slots now: a replica may have taken over.
    fn now(&self) -> Result<SlotTable, StoreError> {
        census::whole_table(&self.nodes, Instant::now() + TAKEOVER)
    }
}

impl Store for Cluster {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        // Another may have taken over since the store was opened, and a master that is back may not know it yet.
        session::session(&self.now()?, &self.nodes, plan.over(self.connections), self.resent.clone(), self.wait)
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let mut facts = Server::ask(&self.table.endpoints()[0], Known::Product)?.facts;
        facts.config.insert("cluster_masters".into(), self.table.endpoints().len().to_string());
        facts.config.insert("cluster_replicas".into(), self.table.replicas().to_string());
        let replication = match self.wait {
            Wait(0) => "asynchronous: a failover may lose acknowledged writes".into(),
            Wait(replicas) => {
                format!("each write waits until {replicas} have it, and may be lost only where these are")
            }
        };
        facts.config.insert("replication".into(), replication);
        facts.config.insert(CONNECTIONS.name.into(), self.connections.fact());
        Ok(facts)
    }

    fn resent(&self) -> u64 {
        self.resent.count()
    }

    fn holding(&self) -> Result<Holding, StoreError> {
        let table = self.now()?;
        let each = table.endpoints().iter().map(holding).collect::<Result<Vec<_>, _>>()?;
        Ok(Holding {
            keys: each.iter().map(|it| it.keys).sum(),
            evicted: each.iter().map(|it| it.evicted).sum(),
            expired: each.iter().map(|it| it.expired).sum(),
        })
    }

    fn commands_done(&self) -> Result<Option<u64>, StoreError> {
        let table = self.now()?;
        table.endpoints().iter().map(commands_done).sum()
    }

    fn whereabouts(&self) -> Whereabouts<'_> {
        Whereabouts::Cluster(self)
    }
    fn witness(&self) -> Option<&dyn Witness> {
        Some(self)
    }
}

impl store::Cluster for Cluster {
    fn keepers(&self) -> Result<Box<dyn Keepers>, StoreError> {
        Ok(Box::new(SlotKeepers::new(self.now()?, &self.nodes)))
    }
}

impl Witness for Cluster {
    fn happened(&self) -> Vec<Happening> {
        let endpoints = self.table.endpoints().iter();
        endpoints.flat_map(|endpoint| latency::happened(endpoint, self.opened).unwrap_or_default()).collect()
    }
}
