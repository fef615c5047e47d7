//! Small adapters of real servers: just enough to start them and to hear that they answer.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::immediate::{Immediate, SyncStore};
use store::{
    Availability, Capabilities, CommandLine, Connect, Deployment, Endpoint, Node, Opener, Operation, OptionInfo, Place,
    PlanDeployment, Reply, ServerPlan, Session, SessionPlan, Store, StoreError, StoreInfo, Threading, programs,
};
use study::{Address, Class, Durability, Spec, Transport};

pub const POSTGRES_DIRS: &[&str] = &["/usr/lib/postgresql/*/bin"];

pub static REDIS: StoreInfo = info("redis", redis_plan, redis_connect);
pub static REDIS_UNIX: StoreInfo = info("redis-unix", redis_unix_plan, redis_connect);
pub static MEMCACHED: StoreInfo = info("memcached", memcached_plan, memcached_connect);
pub static POSTGRES: StoreInfo = info("postgres", postgres_plan, postgres_connect);

const OPTIONS: &[OptionInfo] = &[OptionInfo::one_of("layout", &["table", "rows"], "a test's")];

pub const fn info(name: &'static str, plan: PlanDeployment, connect: Connect) -> StoreInfo {
    StoreInfo {
        name,
        family: name,
        transport: Some(Transport::Tcp),
        driver: None,
        class: Class::Network,
        kind: "test",
        summary: "a test's",
        durabilities: &[Durability::None],
        options: OPTIONS,
        install: "apt install the-package",
        licence: "a test's",
        declares: |_| Capabilities::BASIC,
        probe: || Availability::NotFound("a test's".into()),
        opener: Opener::Server { plan, connect, usual_port: 1 },
    }
}

/// A store that answers, and no more.
pub struct Answering;

impl Store for Answering {
    fn capabilities(&self) -> &Capabilities {
        &Capabilities::BASIC
    }

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Immediate::session(plan, || Ok(Empty))
    }

    fn threading(&self) -> Threading {
        Threading::Shared
    }

    fn facts(&self) -> Result<store::Facts, StoreError> {
        Ok(store::Facts::default())
    }
}

/// Takes everything and has nothing.
struct Empty;

impl SyncStore for Empty {
    fn execute(&mut self, operation: &Operation<'_>) -> Reply<'_> {
        if matches!(operation, Operation::Get { .. }) { Reply::Missing } else { Reply::Done }
    }
}

/// Three servers that know nothing of each other.
pub static THREE: StoreInfo = info("redis", three_plan, redis_connect);

pub fn three_plan(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let nodes = (1..=3).map(|number| keeper(&mut place.node(&format!("node{number}")), number));
    nodes.collect()
}

/// A server that writes down each change before it answers.
pub fn keeper(place: &mut Place, number: u32) -> Result<Node, StoreError> {
    let plan = redis_server(place)?;
    let run = plan.run.args(["--appendonly", "yes", "--appendfsync", "always"]);
    Ok(Node::new(format!("node{number}"), ServerPlan { run, log: Some("log".into()), ..plan }))
}

/// The program, or a failed test that says how to install it.
pub fn program(name: &str, package: &str) -> PathBuf {
    let found = programs::find(&[name], POSTGRES_DIRS);
    found.unwrap_or_else(|| panic!("this test needs {name}; install it with: apt install {package}"))
}

/// How long a server of a test may take to start.
pub const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A plan that runs this over TCP, without preparation.
pub fn plan(port: u16, run: CommandLine) -> ServerPlan {
    ServerPlan { start_timeout: START_TIMEOUT, ..ServerPlan::new(run, Endpoint::loopback(port)) }
}

pub fn redis(place: &Place) -> CommandLine {
    CommandLine::new(program("redis-server", "redis-server"))
        .args(["--bind", "127.0.0.1", "--save", "", "--dir"])
        .arg(&place.directory)
}

pub fn redis_server(place: &mut Place) -> Result<ServerPlan, StoreError> {
    let port = place.port()?;
    Ok(plan(port, redis(place).arg("--port").arg(port.to_string())))
}

pub fn redis_plan(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    redis_server(place).map(Deployment::from)
}

pub fn redis_unix_server(place: &Place) -> ServerPlan {
    let socket = place.directory.join("redis.sock");
    let run = redis(place).args(["--port", "0", "--logfile", "redis.log", "--unixsocket"]).arg(&socket);
    ServerPlan { log: Some("redis.log".into()), ..ServerPlan::new(run, Endpoint::unix(socket)) }
}

fn redis_unix_plan(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    Ok(redis_unix_server(place).into())
}

pub fn redis_connect(_: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    expect_answer(nodes, b"PING\r\n", b"+PONG")
}

fn memcached_plan(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let port = place.port()?;
    let run = CommandLine::new(program("memcached", "memcached")).args(["-l", "127.0.0.1", "-p", &port.to_string()]);
    // Of a name of its own: some systems have no user for it, and it needs none but root.
    Ok(ServerPlan { user: Some("nobody"), ..plan(port, run) }.into())
}

fn memcached_connect(_: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    expect_answer(nodes, b"version\r\n", b"VERSION")
}

fn postgres_plan(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let (data, sockets) = (place.directory.join("data"), place.directory.join("run/sockets"));
    let initdb = CommandLine::new(program("initdb", "postgresql"))
        .args(["--no-sync", "--auth=trust", "--username=postgres", "--pgdata"])
        .arg(&data);
    let run = CommandLine::new(program("postgres", "postgresql")).arg("-D").arg(&data).arg("-k").arg(&sockets).args([
        "-h",
        "",
        "-c",
        "fsync=off",
        "-c",
        "dynamic_shared_memory_type=mmap",
    ]);
    Ok(ServerPlan {
        directories: vec!["data".into(), "run/sockets".into()],
        prepare: vec![initdb],
        user: Some("postgres"),
        start_timeout: Duration::from_secs(60),
        stop_signal: libc::SIGINT,
        ..ServerPlan::new(run, Endpoint::unix(sockets.join(".s.PGSQL.5432")))
    }
    .into())
}

fn postgres_connect(_: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    // Start-up message, protocol 3.0; the answer begins with `R` when the server lets us in.
    let text = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    let message = [&(text.len() as u32 + 4).to_be_bytes()[..], text].concat();
    expect_answer(nodes, &message, b"R")
}

/// Sends every node a request and wants an answer that begins like this.
pub fn expect_answer(nodes: &[Endpoint], request: &[u8], answer: &[u8]) -> Result<Box<dyn Store>, StoreError> {
    for endpoint in nodes {
        let got = ask(endpoint, request, answer.len()).map_err(|error| StoreError::open(endpoint, error))?;
        if got != answer {
            return Err(StoreError::open(endpoint, format!("answered {:?}", String::from_utf8_lossy(&got))));
        }
    }
    Ok(Box::new(Answering))
}

/// Sends a request and reads `answer_bytes` bytes.
pub fn ask(endpoint: &Endpoint, request: &[u8], answer_bytes: usize) -> io::Result<Vec<u8>> {
    let mut answer = vec![0; answer_bytes];
    match &endpoint.address {
        Address::Unix(path) => {
            let mut stream = UnixStream::connect(path)?;
            stream.write_all(request)?;
            stream.read_exact(&mut answer)?;
        }
        Address::Tcp { .. } => {
            let mut stream = TcpStream::connect(endpoint.tcp().unwrap())?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(request)?;
            stream.read_exact(&mut answer)?;
        }
    }
    Ok(answer)
}

/// What `redis-cli` prints for a command.
pub fn redis_cli(socket: &Path, args: &[&str]) -> String {
    let cli = program("redis-cli", "redis-tools");
    let output = std::process::Command::new(cli).arg("-s").arg(socket).args(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Every process of the machine as `(pid, parent, state)`; read by other code than what is tested.
pub fn all_processes() -> Vec<(i32, i32, char)> {
    let output =
        std::process::Command::new("ps").args(["-e", "-o", "pid=,ppid=,stat="]).output().expect("ps is installed");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| {
            let mut fields = line.split_whitespace();
            let mut number = || fields.next().unwrap().parse().unwrap();
            (number(), number(), fields.next().unwrap().chars().next().unwrap())
        })
        .collect()
}

/// The living descendants of a process.
pub fn descendants(pid: i32) -> Vec<i32> {
    let all = all_processes();
    let mut found = vec![pid];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(all.iter().filter(|(_, of, state)| *of == parent && *state != 'Z').map(|(child, ..)| *child));
        at += 1;
    }
    found.split_off(1)
}

/// Of these processes, those that still run.
pub fn survivors(pids: &[i32]) -> Vec<i32> {
    let all = all_processes();
    pids.iter().copied().filter(|pid| all.iter().any(|(known, _, state)| known == pid && *state != 'Z')).collect()
}

/// Names in a directory.
pub fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A directory for private places that every user may pass through, but only its owner may write to.
pub fn base() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o755);
    tempfile::Builder::new().prefix("host-").permissions(mode).tempdir().unwrap()
}

pub fn is_root() -> bool {
    // SAFETY: geteuid touches no memory.
    unsafe { libc::geteuid() == 0 }
}

/// Pages of a file that wait to be written, from the kernel itself; `None` where it cannot say (before Linux 6.5).
pub fn unwritten_pages(path: &Path) -> Option<u64> {
    use std::os::fd::AsRawFd;
    const CACHESTAT: libc::c_long = 451;
    #[repr(C)]
    struct Range {
        offset: u64,
        length: u64,
    }
    #[repr(C)]
    #[derive(Default)]
    struct Counts {
        cached: u64,
        dirty: u64,
        writeback: u64,
        evicted: u64,
        recently_evicted: u64,
    }
    let file = std::fs::File::open(path).unwrap();
    let (range, mut counts) = (Range { offset: 0, length: 0 }, Counts::default());
    // SAFETY: the structures are those of the call (linux/mman.h) and outlive it.
    let result = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &range, &mut counts, 0) };
    (result == 0).then_some(counts.dirty + counts.writeback)
}
