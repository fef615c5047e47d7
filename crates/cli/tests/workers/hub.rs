//! Machines on one: each worker in a network namespace of its own, its clock hours away, all joined by a bridge.
//!
//! A test runs itself once more, in namespaces of networks and processes. So the networks of the machine are never touched, and whatever was
//! made goes with the namespaces, also after a panic.

use super::nats::{JoinedWorker, Nats, Said};
use crate::common::Desk;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use testkit::waiting::until;

/// Set in the process that is within.
const WITHIN: &str = "KVTRIAL_TEST_WITHIN_NAMESPACES";

/// Where the study, NATS and the nodes of the store are.
const HUB: &str = "10.99.0.1";
const NATS_PORT: u16 = 4222;
const NODE_PORTS: [u16; 3] = [7001, 7002, 7003];

/// What a worker's namespace is entered with, and a test's.
const OF_A_WORKER: [&str; 2] = ["-n", "-T"];
const OF_A_TEST: [&str; 5] = ["-n", "-p", "-f", "--mount-proc", "--kill-child"];

/// What all of it takes, tried and thrown away.
const TRIED: &str =
    "ip link add hub type bridge && ip link add to1 type veth peer name eth0 && unshare -n -T --monotonic 3600 true";

/// Carries out a test of this name within namespaces; says why not where that cannot be had.
pub fn within(test: &str, body: impl FnOnce(&Hub)) {
    if std::env::var_os(WITHIN).is_some() {
        return body(&Hub::new());
    }
    let unshared = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(OF_A_TEST).args(words);
        command
    };
    let tried = unshared(&["sh", "-c", TRIED]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        let needs = "only root, with unshare and ip, can have namespaces of networks and clocks, bridges and links";
        return eprintln!("not tried: {needs}");
    }
    let me = std::env::current_exe().unwrap();
    let again = unshared(&[me.to_str().unwrap(), "--exact", test, "--nocapture"]).env(WITHIN, "yes").output().unwrap();
    let said = [again.stdout, again.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(again.status.success() && said[0].contains("1 passed"), "{}\n{}", said[0], said[1]);
}

fn ip(words: &str) {
    let output = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The namespace that all others are joined to: NATS and a Redis Cluster of three are there.
pub struct Hub {
    nodes: Vec<Child>,
    _nats: Nats,
    _directory: tempfile::TempDir,
}

impl Hub {
    fn new() -> Hub {
        ip("link set lo up");
        ip("link add hub type bridge");
        ip(&format!("addr add {HUB}/24 dev hub"));
        ip("link set hub up");
        let directory = tempfile::tempdir().unwrap();
        let nodes = NODE_PORTS.map(|port| node(directory.path(), port)).into();
        until("the nodes listen", || NODE_PORTS.iter().all(|port| TcpStream::connect((HUB, *port)).is_ok()));
        join_nodes();
        Hub { nodes, _nats: Nats::start_on(HUB, NATS_PORT), _directory: directory }
    }

    /// The cluster, as `-s` names it.
    pub fn store(&self) -> String {
        format!("redis-cluster://{HUB}:{}", NODE_PORTS[0])
    }

    pub fn nats(&self) -> String {
        format!("nats://{HUB}:{NATS_PORT}")
    }

    /// Starts a worker on a machine of its own, its clock that many hours ahead, and waits until it is ready.
    pub fn worker(&self, desk: &Desk, number: u8, hours: u32) -> JoinedWorker {
        let inner = desk.command(&format!("worker {} --name {}", self.nats(), name(number)));
        let up = format!(
            "read go && ip link set lo up && ip addr add 10.99.0.1{number}/24 dev eth0 && ip link set eth0 up && exec \"$@\""
        );
        let seconds = (hours * 3600).to_string();
        let mut command = Command::new("unshare");
        command.args(OF_A_WORKER).args(["--monotonic", &seconds, "--boottime", &seconds, "sh", "-c", &up, "sh"]);
        command.arg(inner.get_program()).args(inner.get_args()).current_dir(desk.path());
        inner.get_envs().for_each(|(name, value)| _ = command.env(name, value.unwrap_or_default()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut said = Said::of(command);
        let (pid, link) = (said.pid(), link(number));
        until("it has a network of its own", || network_of(pid) != network_of(std::process::id()));
        ip(&format!("link add {link} type veth peer name eth0 netns {pid}"));
        ip(&format!("link set {link} master hub up"));
        said.tell("go");
        JoinedWorker::of(said)
    }

    /// Pulls the plug of a worker's machine.
    pub fn cut_off(&self, number: u8) {
        ip(&format!("link set {} down", link(number)));
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.nodes.iter_mut().for_each(|node| {
            let _ = node.kill();
            let _ = node.wait();
        });
    }
}

/// The name of a worker.
pub fn name(number: u8) -> String {
    format!("machine-{number}")
}

fn link(number: u8) -> String {
    format!("to{number}")
}

fn network_of(pid: u32) -> Option<std::path::PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}

fn node(directory: &Path, port: u16) -> Child {
    let own = directory.join(port.to_string());
    std::fs::create_dir(&own).unwrap();
    let settings = format!("--port {port} --bind {HUB} --protected-mode no --cluster-enabled yes --appendonly no");
    let mut server = Command::new("redis-server");
    server.args(settings.split(' ')).args(["--save", ""]).current_dir(own).stdout(Stdio::null());
    server.spawn().unwrap_or_else(|error| panic!("apt-get install redis-server: {error}"))
}

fn join_nodes() {
    let all = NODE_PORTS.map(|port| format!("{HUB}:{port}"));
    let mut create = Command::new("redis-cli");
    create.args(["--cluster", "create"]).args(&all).arg("--cluster-yes");
    let created = create.output().unwrap();
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stdout));
    let is_well = |port: &u16| {
        let words = ["-h", HUB, "-p", &port.to_string(), "cluster", "info"];
        let info = Command::new("redis-cli").args(words).output().unwrap();
        String::from_utf8_lossy(&info.stdout).contains("cluster_state:ok")
    };
    until("each node says that the cluster is well", || NODE_PORTS.iter().all(is_well));
}
