//! What several nodes cost the client, and what it gains when clients share connections:
//! `cargo bench -p kvtrial-cli --features full --bench clusters [-- SECTION...]`.
//!
//! Sections: `routing`, `connections`, `shard`, `cluster`, `cassandra`, `start`. Prints a table in markdown, ready for `docs/figures.md`. Needs redis-server,
//! redis-cli, redis-benchmark and taskset; a section whose tools are missing says so and is left out.
//! The client is pinned to the first processor, servers to the last. What an operation costs is the slope of the whole process's CPU time between
//! a short and a long run; each ratio is of two programs that ran in turn, and the table has the median of the rounds with the least and the greatest.
#![allow(clippy::unwrap_used)]

mod lab;

use lab::{Load, Server, cpu_of, cpu_per_operation, free_port, median, on_first_cpu, own_cpu};
use layers::placement::{Algorithm, Placement};
use scylla::client::PoolSize;
use scylla::client::session_builder::SessionBuilder;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use store::{Availability, Operation, Session, SessionPlan, StoreInfo};
use study::Spec;

/// Counts this thread's allocations.
struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator; the counter needs no memory of its own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROUNDS: usize = 5;

/// Nodes keys are routed over.
const NODES: usize = 8;

fn main() {
    println!("| figure | median | least | greatest | rounds |\n|---|---|---|---|---|");
    lab::run(&[
        ("routing", &[], routing),
        ("connections", &["redis-server", "redis-benchmark", "taskset"], connections),
        ("shard", &["redis-server", "taskset"], shard),
        ("cluster", &["redis-server", "redis-cli", "redis-benchmark", "taskset"], cluster),
        ("cassandra", &["taskset"], cassandra),
        ("start", &["redis-server", "redis-cli"], start),
    ]);
}

/// A row of the table.
fn row(figure: &str, unit: &str, rounds: Vec<f64>) {
    let count = rounds.len();
    let [middle, least, greatest] = <[f64; 3]>::from(median(rounds)).map(|it| match it {
        100.0.. => format!("{it:.0}"),
        10.0..100.0 => format!("{it:.1}"),
        _ => format!("{it:.2}"),
    });
    println!("| {figure} | {middle}{unit} | {least} | {greatest} | {count} |");
}

/// Keys of 16 bytes, as many as stay in the processor's cache.
fn keys() -> Vec<String> {
    (0..4096).map(|number| format!("package-{number:08}")).collect()
}

/// Nanoseconds of CPU per call, over all keys again and again.
fn ns_per_key(keys: &[String], mut body: impl FnMut(&[u8])) -> f64 {
    const TIMES: usize = 200;
    let mut pass = |times| (0..times).for_each(|_| keys.iter().for_each(|key| body(key.as_bytes())));
    pass(TIMES / 10);
    let before = own_cpu();
    pass(TIMES);
    (own_cpu() - before) * 1e9 / (TIMES * keys.len()) as f64
}

/// A session over a store that keeps nothing, so that what is left is the way to it.
fn null_session(spec: &str, directory: &Path) -> Box<dyn Session> {
    let spec: Spec = spec.parse().unwrap();
    let store = host::open(catalog::find(&spec.name).unwrap(), &spec, directory).unwrap();
    store.store().session(SessionPlan { clients: 1, pipeline: 1 }).unwrap()
}

fn routing(directory: &Path) {
    let keys = keys();
    let gets = |session: &mut dyn Session| {
        ns_per_key(&keys, |key| {
            black_box(session.submit(0, &Operation::Get { key }).unwrap());
        })
    };
    for algorithm in Algorithm::ALL {
        let placement = Placement::new(algorithm, NODES);
        let name = algorithm.name();
        let (mut hashes, mut beyond, mut layer, mut allocations) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for _ in 0..ROUNDS {
            let (hash, node, alone, sharded, allocated) = on_first_cpu(|| {
                let hash = ns_per_key(&keys, |key| {
                    black_box(algorithm.hash(black_box(key)));
                });
                let node = ns_per_key(&keys, |key| {
                    black_box(placement.node(black_box(key)));
                });
                let alone = gets(&mut *null_session("null", directory));
                let mut over = null_session(&format!("null,nodes={NODES},shard={name}"), directory);
                gets(&mut *over);
                let before = COUNT.get();
                let sharded = gets(&mut *over);
                (hash, node, alone, sharded, COUNT.get() - before)
            });
            hashes.push(hash);
            beyond.push(node - hash);
            layer.push(sharded - alone - hash);
            allocations += allocated;
        }
        row(&format!("{name}, {NODES} nodes: the key's hash"), " ns", hashes);
        row(&format!("{name}, {NODES} nodes: the bare algorithm beyond it"), " ns", beyond);
        row(&format!("{name}, {NODES} nodes: in the layer shard beyond it ({allocations} allocations)"), " ns", layer);
    }
}

/// Servers of the bench's own, and their ports.
fn redis_servers(count: usize, more: &[&str], directory: &Path) -> (Vec<Server>, Vec<u16>) {
    let one = |number: usize| {
        let port = free_port();
        let place = directory.join(format!("node{number}"));
        std::fs::create_dir_all(&place).unwrap();
        let (port_text, place) = (port.to_string(), place.to_str().unwrap().to_owned());
        let mut words = vec!["redis-server", "--bind", "127.0.0.1", "--port", &port_text, "--save", ""];
        words.extend(["--appendonly", "no", "--dir", &place]);
        words.extend(more);
        (lab::start(&words, Path::new("unused"), Some(port)), port)
    };
    (0..count).map(one).unzip()
}

fn addresses(ports: &[u16]) -> String {
    ports.iter().map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
}

/// redis-benchmark on the first processor: its own 10,000 keys.
fn redis_benchmark(test: &str, port: u16, load: Load, operations: u64, more: &[&str]) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "0", "redis-benchmark", "-q", "-t", test, "-r", "10000", "-d", "64", "-p", &port.to_string()]);
    let (clients, pipeline) = (load.clients.to_string(), load.pipeline.to_string());
    command.args(["-c", &clients, "-P", &pipeline, "-n", &operations.to_string()]).args(more);
    command
}

/// How many times as much one side does per CPU second as the other, in turn: what the other takes over what it takes itself.
fn ratio(figure: &str, operations: u64, ours: impl Fn(u64) -> Command, theirs: impl Fn(u64) -> Command) {
    let (mut ratios, mut costs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let (ours, theirs) =
            lab::in_turn(round, || cpu_per_operation(operations, &ours), || cpu_per_operation(operations, &theirs));
        ratios.push(theirs / ours);
        costs.push(ours * 1e9);
    }
    row(figure, "", ratios);
    row(&format!("{}: client CPU per get", figure.split(',').next().unwrap_or_default()), " ns", costs);
}

/// Sets by which redis-benchmark fills a store with nearly all of its keys.
const FILL: u64 = 100_000;

const LOAD: Load = Load { clients: 50, pipeline: 16 };

fn connections(directory: &Path) {
    let (_servers, ports) = redis_servers(1, &[], directory);
    cpu_of(&mut redis_benchmark("set", ports[0], LOAD, FILL, &[]));
    for connections in ["client", "1", "2", "4"] {
        let url = format!("redis://{},connections={connections}", addresses(&ports));
        ratio(
            &format!("one Redis 50x16 connections={connections}, against redis-benchmark"),
            600_000,
            |operations| LOAD.gets(&url, operations, directory),
            |operations| redis_benchmark("get", ports[0], LOAD, operations, &[]),
        );
    }
}

fn shard(directory: &Path) {
    let (_servers, ports) = redis_servers(4, &[], directory);
    let spread = addresses(&ports);
    for (one, four) in [("client", "client"), ("client", "1"), ("1", "1")] {
        let alone = format!("redis://127.0.0.1:{},connections={one}", ports[0]);
        let four_url = format!("redis://{spread},shard=jump,connections={four}");
        ratio(
            &format!("shard of 4 Redis 50x16 connections={four}, against one Redis connections={one}"),
            400_000,
            |operations| LOAD.gets(&four_url, operations, directory),
            |operations| LOAD.gets(&alone, operations, directory),
        );
    }
}

fn cluster(directory: &Path) {
    const MASTERS: usize = 3;
    // The port of the nodes among themselves is 10,000 above that of clients, unless it is said.
    let (mut servers, mut ports) = (Vec::new(), Vec::new());
    for number in 0..MASTERS {
        let bus = free_port().to_string();
        let more = ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1", "--cluster-port", &bus];
        let (server, port) = redis_servers(1, &more, &directory.join(format!("master{number}")));
        servers.extend(server);
        ports.extend(port);
    }
    let mut create = Command::new("redis-cli");
    create.args(["--cluster", "create"]).args(addresses(&ports).split(','));
    let created = create.args(["--cluster-replicas", "0", "--cluster-yes"]).output().unwrap();
    assert!(created.status.success(), "{created:?}");
    let whole = || {
        ports.iter().all(|port| {
            let said = Command::new("redis-cli").args(["-p", &port.to_string(), "CLUSTER", "INFO"]).output().unwrap();
            String::from_utf8_lossy(&said.stdout).contains("cluster_state:ok")
        })
    };
    let begin = Instant::now();
    while !whole() && begin.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    cpu_of(&mut redis_benchmark("set", ports[0], LOAD, FILL, &["--cluster"]));
    let equal = Load { clients: 17, pipeline: 48 };
    for (load, connections) in [(LOAD, "client"), (equal, "client"), (LOAD, "1"), (LOAD, "2")] {
        let url = format!("redis-cluster://{},connections={connections}", addresses(&ports));
        ratio(
            &format!(
                "Redis Cluster of {MASTERS} {}x{} connections={connections}, against redis-benchmark --cluster",
                load.clients, load.pipeline
            ),
            400_000,
            |operations| load.gets(&url, operations, directory),
            // It has 50 connections, each to one node.
            |operations| redis_benchmark("get", ports[0], LOAD, operations, &["--cluster"]),
        );
    }
    drop(servers);
}

/// Why a store cannot be had here.
fn missing(info: &StoreInfo) -> Option<String> {
    match info.probe() {
        Availability::Found(_) => None,
        Availability::NotFound(what) => Some(format!("{what} is not here")),
        Availability::NotBuilt(feature) => Some(format!("the feature {feature} is not built in")),
    }
}

/// Clients of Cassandra, one get of each under way.
const READERS: u32 = 16;

/// Gets from one private node, by the clock: kvtrial, which verifies them, against a bare loop over the same driver, on one thread each.
fn cassandra(directory: &Path) {
    const GETS: u64 = 100_000;
    const WARM_UPS: usize = 6;
    let info = catalog::find("cassandra").unwrap();
    if let Some(what) = missing(info) {
        return println!("cassandra: left out, {what}");
    }
    let spec: Spec = "cassandra".parse().unwrap();
    let installation = host::Opening::new(directory).installation(info, &spec).unwrap();
    let (host, port) = installation.location().endpoints()[0].tcp().unwrap();
    let address = format!("{host}:{port}");
    let ours = |connections: u32| {
        let url = format!("cassandra://{address}/kvtrial,connections={connections}");
        let words = Load { clients: READERS, pipeline: 1 }.words(&url, GETS);
        lab::study(&[], &words, directory)["ops_per_s"]["value"].as_f64().unwrap()
    };
    let theirs = |connections: u32| on_first_cpu(|| bare_gets(&address, GETS, connections as usize));
    // The server compiles what is asked of it often.
    (0..WARM_UPS).for_each(|_| {
        ours(READERS);
        theirs(1);
    });
    for connections in [READERS, 1] {
        let both = |round| lab::in_turn(round, || ours(connections), || theirs(connections));
        let (rates, ratios) = (0..ROUNDS).map(both).map(|(ours, theirs)| (ours / 1e3, ours / theirs)).unzip();
        let figure = format!("Cassandra, get by {READERS} clients, connections={connections}");
        row(&format!("{figure}, by the clock, against as many of the driver in a bare loop"), "", ratios);
        row(&figure, "k/s", rates);
    }
}

/// Gets per second of the driver alone: as many at once, of as many keys and bytes as kvtrial's.
fn bare_gets(address: &str, gets: u64, connections: usize) -> f64 {
    const KEYS: u64 = 10_000;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let pool = PoolSize::PerHost(NonZeroUsize::new(connections).unwrap());
        let driver = SessionBuilder::new().known_node(address).pool_size(pool).build().await.unwrap();
        let table = "CREATE TABLE IF NOT EXISTS kvtrial.bare (k blob PRIMARY KEY, v blob)";
        driver.query_unpaged(table, &[]).await.unwrap();
        let put = driver.prepare("INSERT INTO kvtrial.bare (k, v) VALUES (?, ?)").await.unwrap();
        let mut get = driver.prepare("SELECT v FROM kvtrial.bare WHERE k = ?").await.unwrap();
        get.set_use_cached_result_metadata(true);
        let key = |number: u64| format!("package-{number:08}").into_bytes();
        for number in 0..KEYS {
            driver.execute_unpaged(&put, (key(number), vec![7u8; 64])).await.unwrap();
        }
        let (driver, get, key) = (&driver, &get, &key);
        let client = async |client: u64| {
            for turn in 0..gets / u64::from(READERS) {
                let number = (turn * 7919 + client * 631) % KEYS;
                let rows = driver.execute_unpaged(get, (key(number),)).await.unwrap().into_rows_result().unwrap();
                assert_eq!(rows.single_row::<(&[u8],)>().unwrap().0.len(), 64);
            }
        };
        let begin = Instant::now();
        futures_util::future::join_all((0..u64::from(READERS)).map(client)).await;
        gets as f64 / begin.elapsed().as_secs_f64()
    })
}

/// From nothing to the first reply of a cluster, all nodes private.
fn start(directory: &Path) {
    for (spec, rounds) in [("redis-cluster", 3), ("etcd,nodes=3", 3), ("nats,nodes=3", 3), ("cassandra,nodes=3", 1)] {
        let parsed: Spec = spec.parse().unwrap();
        let info = catalog::find(&parsed.name).unwrap();
        if let Some(what) = missing(info) {
            println!("start of {spec}: left out, {what}");
            continue;
        }
        let once = |_| {
            let begin = Instant::now();
            let opened = host::open(info, &parsed, directory).unwrap();
            let elapsed = begin.elapsed().as_secs_f64();
            drop(opened);
            elapsed
        };
        row(&format!("start of {spec}, by the clock"), " s", (0..rounds).map(once).collect());
    }
}
