//! Deployments of several nodes, real ones: started in order, formed, watched, hurt, mended, joined by others, gone.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod support;

use kvtrial_host::{Exit, Nodes, OpenStore, Sighting, open};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};
use store::{
    CommandLine, Deployment, Endpoint, Forming, Node, Place, Ready, Role, ServerPlan, Store, StoreError, StoreInfo,
};
use study::Spec;
use support::{
    THREE, all_processes, ask, base, descendants, expect_answer, info, keeper, names_in, program, redis_connect,
    redis_server, survivors, three_plan,
};
use testkit::waiting::{until, waits_of_this_thread};

/// A Redis Cluster of three, formed by the program that comes with it.
static CLUSTER: StoreInfo = info("redis", cluster_plan, cluster_connect);

fn cluster_plan(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let nodes = (1..=3).map(|number| member(&mut place.node(&format!("node{number}")), number));
    let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
    let create =
        redis_cli().args(["--cluster", "create"]).args(nodes.iter().map(|node| node.plan.endpoint.to_string()));
    let create = create.args(["--cluster-replicas", "0", "--cluster-yes"]);
    let forming = Some(Forming { steps: vec![create.into()], timeout: Duration::from_secs(60) });
    Ok(Deployment { forming, ..Deployment::from_iter(nodes) })
}

fn member(place: &mut Place, number: u32) -> Result<Node, StoreError> {
    let bus = place.port()?.to_string();
    let plan = redis_server(place)?;
    let run = plan.run.args(["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-announce-ip", "127.0.0.1"]);
    let run = run.args(["--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "2000"]);
    let node = Node::new(format!("node{number}"), ServerPlan { run, ..plan });
    Ok(Node { ready: Ready::Listens, ..node })
}

fn cluster_connect(_: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    // The length of the answer comes before it.
    let state = |endpoint| ask(endpoint, b"CLUSTER INFO\r\n", 22).map_err(|error| StoreError::open(endpoint, error));
    for endpoint in nodes {
        let said = String::from_utf8_lossy(&state(endpoint)?).into_owned();
        if !said.contains("cluster_state:ok") {
            return Err(StoreError::open(endpoint, said));
        }
    }
    expect_answer(nodes, b"PING\r\n", b"+PONG")
}

fn redis_cli() -> CommandLine {
    CommandLine::new(program("redis-cli", "redis-tools"))
}

/// What a node answers to a command.
fn say(endpoint: &Endpoint, words: &[&str]) -> String {
    let (host, port) = endpoint.tcp().unwrap();
    let output = Command::new(program("redis-cli", "redis-tools"))
        .args(["-h", host, "-p", &port.to_string()])
        .args(words)
        .output();
    String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
}

fn start(store: &'static StoreInfo, base: &Path) -> OpenStore {
    open(store, &Spec::private(store.name), base).unwrap()
}

fn nodes(opened: &OpenStore) -> &Nodes {
    opened.nodes().unwrap()
}

fn pid_of(opened: &OpenStore, name: &str) -> Option<i32> {
    nodes(opened).states().into_iter().find(|state| state.name == name).unwrap().pid
}

fn endpoint_of(opened: &OpenStore, name: &str) -> Endpoint {
    nodes(opened).states().into_iter().find(|state| state.name == name).unwrap().endpoint
}

fn place_of(base: &Path) -> PathBuf {
    let names = names_in(base);
    assert_eq!(names.len(), 1, "{names:?}");
    base.join(&names[0])
}

fn signal(pid: i32, signal: i32) {
    // SAFETY: kill touches no memory.
    unsafe { libc::kill(pid, signal) };
}

/// `S`, `T` and so on of a process.
fn state(pid: i32) -> char {
    all_processes().into_iter().find(|(known, ..)| *known == pid).unwrap().2
}

#[test]
fn nodes_have_a_directory_a_port_and_a_log_each_and_are_gone_without_a_trace() {
    let base = base();
    let opened = start(&THREE, base.path());
    let states = nodes(&opened).states();
    assert_eq!(states.iter().map(|state| state.name.as_str()).collect::<Vec<_>>(), ["node1", "node2", "node3"]);
    let mut ports: Vec<u16> = states.iter().map(|state| state.endpoint.tcp().unwrap().1).collect();
    assert!(states.iter().all(|state| state.endpoint.tcp().unwrap().0 == "127.0.0.1"));
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 3);
    let place = place_of(base.path());
    for state in &states {
        assert_eq!(say(&state.endpoint, &["SET", "me", &state.name]), "OK");
        assert!(place.join("store").join(&state.name).join("appendonlydir").is_dir());
        assert!(std::fs::read_to_string(place.join("output").join(&state.name)).unwrap().contains("Redis"));
    }
    let own: Vec<String> = states.iter().map(|state| say(&state.endpoint, &["GET", "me"])).collect();
    assert_eq!(own, ["node1", "node2", "node3"]);
    let pids: Vec<i32> = states.iter().map(|state| state.pid.unwrap()).collect();
    assert_eq!(survivors(&pids), pids);
    opened.close().unwrap();
    assert_eq!(survivors(&pids), [0; 0]);
    assert_eq!(names_in(base.path()), [""; 0]);
}

#[test]
fn a_node_of_a_later_step_starts_when_those_before_are_ready_and_clients_only_hear_of_those_that_serve_them() {
    /// The first listens late; the second ends at once unless the first listens.
    fn plan(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let mut first = redis_server(&mut place.node("first"))?;
        let port = first.endpoint.tcp().unwrap().1;
        let late = |run: &CommandLine, before: &str| {
            let args: Vec<String> = run.args.iter().map(|arg| format!("'{}'", arg.to_str().unwrap())).collect();
            let script = format!("{before}; exec {} {}", run.program.display(), args.join(" "));
            CommandLine::new("/bin/sh").args(["-c", &script])
        };
        first.run = late(&first.run, "sleep 0.3");
        let mut second = redis_server(&mut place.node("second"))?;
        let cli = program("redis-cli", "redis-tools");
        second.run = late(&second.run, &format!("[ \"$({} -p {port} PING)\" = PONG ] || exit 5", cli.display()));
        let first = Node { role: Role::Nodes, ready: Ready::Listens, ..Node::new("first", first) };
        let second = Node { step: 1, ..Node::new("second", second) };
        // In whatever order they are written down.
        Ok(Deployment::from_iter([second, first]))
    }
    static STORE: StoreInfo = info("redis", plan, |spec, nodes| {
        store::only(nodes)?;
        redis_connect(spec, nodes)
    });
    let base = base();
    let opened = start(&STORE, base.path());
    assert_eq!(nodes(&opened).endpoints(), [endpoint_of(&opened, "second")]);
    assert_eq!(say(&endpoint_of(&opened, "first"), &["PING"]), "PONG");
}

#[test]
fn a_cluster_is_formed_before_it_is_handed_out() {
    let base = base();
    let opened = start(&CLUSTER, base.path());
    for endpoint in nodes(&opened).endpoints() {
        let said = say(&endpoint, &["CLUSTER", "INFO"]);
        assert!(said.contains("cluster_state:ok") && said.contains("cluster_known_nodes:3"), "{said}");
    }
    assert!(
        std::fs::read_to_string(place_of(base.path()).join("output/forming"))
            .unwrap()
            .contains("All 16384 slots covered")
    );
    let pids: Vec<i32> = nodes(&opened).states().iter().filter_map(|state| state.pid).collect();
    drop(opened);
    assert_eq!(survivors(&pids), [0; 0]);
    assert_eq!(names_in(base.path()), [""; 0]);
}

#[test]
fn nodes_that_are_not_formed_in_time_are_given_up_and_what_the_command_said_is_quoted() {
    fn never(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let steps = vec![CommandLine::new("/bin/sh").args(["-c", "echo waiting for node 3; sleep 1000"]).into()];
        Ok(Deployment {
            forming: Some(Forming { steps, timeout: Duration::from_millis(300) }),
            ..three_plan(spec, place)?
        })
    }
    fn failing(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let steps = vec![CommandLine::new("/bin/sh").args(["-c", "echo no quorum; exit 4"]).into()];
        Ok(Deployment {
            forming: Some(Forming { steps, timeout: Duration::from_secs(60) }),
            ..three_plan(spec, place)?
        })
    }
    static NEVER: StoreInfo = info("redis", never, redis_connect);
    static FAILING: StoreInfo = info("redis", failing, redis_connect);
    for (store, words) in [(&NEVER, ["longer than 0.3 s", "waiting for node 3"]), (&FAILING, ["status 4", "no quorum"])]
    {
        let base = base();
        let message = open(store, &Spec::private("redis"), base.path()).unwrap_err().to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
        assert_eq!(names_in(base.path()), [""; 0]);
    }
}

#[test]
fn a_node_that_ends_by_itself_is_named_at_once_with_how_it_ended_and_its_last_words() {
    let base = base();
    let opened = start(&THREE, base.path());
    assert_eq!(opened.fallen(), None);
    let pid = pid_of(&opened, "node2").unwrap();
    signal(pid, libc::SIGKILL);
    until("it is dead", || state(pid) == 'Z');
    // From the moment it is dead one look is enough, and a look waits for nothing.
    let (waits, start) = (waits_of_this_thread(), Instant::now());
    let fallen = opened.fallen().expect("it has fallen");
    assert_eq!(waits_of_this_thread(), waits);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!((fallen.node.as_str(), fallen.exit), ("node2", Exit::Signal(libc::SIGKILL)));
    assert_eq!(fallen.to_string(), "node2 was ended by signal 9 (SIGKILL)");
    assert!(fallen.log_end.contains("Ready to accept connections"), "{}", fallen.log_end);
    assert!(!opened.is_alive());
    opened.close().unwrap();
    assert_eq!(names_in(base.path()), [""; 0]);
}

#[test]
fn a_node_that_ends_while_others_start_is_named() {
    fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let mut deployment = three_plan(spec, place)?;
        deployment.nodes[2].plan.run = CommandLine::new("/bin/sh").args(["-c", "echo no seed is reachable; exit 3"]);
        Ok(deployment)
    }
    static STORE: StoreInfo = info("redis", plan, redis_connect);
    let base = base();
    let message = open(&STORE, &Spec::private("redis"), base.path()).unwrap_err().to_string();
    assert!(message.contains("node3 ended with status 3") && message.contains("no seed is reachable"), "{message}");
    assert_eq!(names_in(base.path()), [""; 0]);
}

#[test]
fn a_node_that_is_killed_or_stopped_is_not_taken_for_fallen_and_keeps_data_and_port_when_it_starts_again() {
    let base = base();
    let opened = start(&THREE, base.path());
    let endpoint = endpoint_of(&opened, "node2");
    for (round, take_down) in [Nodes::kill, Nodes::stop].into_iter().enumerate() {
        let key = format!("key{round}");
        assert_eq!(say(&endpoint, &["SET", &key, "kept"]), "OK");
        let pid = pid_of(&opened, "node2").unwrap();
        take_down(nodes(&opened), "node2").unwrap();
        assert_eq!((survivors(&[pid]), pid_of(&opened, "node2")), (vec![], None));
        assert!(opened.is_alive(), "{:?}", opened.fallen());
        assert!(ask(&endpoint, b"PING\r\n", 5).is_err());
        assert!(nodes(&opened).kill("node2").unwrap_err().to_string().contains("node 'node2' does not run"));
        nodes(&opened).restart("node2").unwrap();
        assert_eq!((say(&endpoint, &["GET", &key]), endpoint_of(&opened, "node2")), ("kept".into(), endpoint.clone()));
        assert_ne!(pid_of(&opened, "node2"), Some(pid));
    }
    // Started again it is watched as before.
    assert!(nodes(&opened).restart("node2").unwrap_err().to_string().contains("runs"));
    signal(pid_of(&opened, "node2").unwrap(), libc::SIGTERM);
    until("it is seen to have ended", || !opened.is_alive());
    assert_eq!(opened.fallen().map(|fallen| fallen.to_string()).as_deref(), Some("node2 ended with status 0"));
    assert!(nodes(&opened).kill("node9").unwrap_err().to_string().contains("is not one of its nodes"));
}

#[test]
fn a_killed_node_leaves_no_process_that_is_still_dying() {
    /// The server's child leads a session of its own, as PostgreSQL's do, and takes long to die: it has much memory to give back.
    fn plan(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let server = redis_server(place)?;
        let args: Vec<String> = server.run.args.iter().map(|arg| format!("'{}'", arg.to_str().unwrap())).collect();
        let child =
            "use POSIX; POSIX::setsid(); my $memory = 'x' x (300 << 20); open(my $ready, '>', 'ready'); sleep 1000";
        let script = format!(
            "perl -e \"{}\" & while [ ! -e ready ]; do sleep 0.01; done; exec {} {}",
            child.replace('$', "\\$"),
            server.run.program.display(),
            args.join(" ")
        );
        let run = CommandLine::new("/bin/sh").args(["-c", &script]);
        Ok(Deployment::from(ServerPlan { run, ..server }))
    }
    static STORE: StoreInfo = info("redis", plan, redis_connect);
    let base = base();
    let kill_all = |nodes: &Nodes| {
        nodes.kill_all();
    };
    for kill in [kill_all, |nodes: &Nodes| nodes.kill("").unwrap()] {
        let opened = start(&STORE, base.path());
        let server = opened.server_pid().unwrap();
        let children = descendants(server);
        assert_eq!(children.len(), 1);
        kill(nodes(&opened));
        assert_eq!(survivors(&[children, vec![server]].concat()), [0; 0]);
    }
}

#[test]
fn a_frozen_node_answers_nobody_until_it_is_thawed_and_can_be_ended_as_it_is() {
    let base = base();
    let opened = start(&THREE, base.path());
    let (first, second) = (endpoint_of(&opened, "node1"), endpoint_of(&opened, "node2"));
    let pid = pid_of(&opened, "node1").unwrap();
    assert!(nodes(&opened).thaw("node1").unwrap_err().to_string().contains("is not frozen"));
    nodes(&opened).freeze("node1").unwrap();
    assert_eq!(state(pid), 'T');
    let asked = thread::spawn(move || say(&first, &["SET", "key", "late"]));
    assert_eq!(say(&second, &["PING"]), "PONG");
    assert!(opened.is_alive() && !asked.is_finished());
    nodes(&opened).thaw("node1").unwrap();
    assert_eq!(asked.join().unwrap(), "OK");
    nodes(&opened).freeze("node1").unwrap();
    nodes(&opened).freeze("node2").unwrap();
    nodes(&opened).stop("node1").unwrap();
    assert_eq!(survivors(&[pid]), [0; 0]);
    let start = Instant::now();
    opened.close().unwrap();
    assert!(start.elapsed() < Duration::from_secs(8), "a frozen node is thawed, so that it can end when asked");
    assert_eq!(names_in(base.path()), [""; 0]);
}

#[test]
fn every_process_of_a_node_is_frozen_thawed_and_killed() {
    fn plan(_: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let nodes = ["node1", "node2"].map(|name| {
            let mut server = redis_server(&mut place.node(name))?;
            let args: Vec<&str> = server.run.args.iter().map(|arg| arg.to_str().unwrap()).collect();
            let args: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
            let script = format!("sleep 1000 & exec {} {}", server.run.program.display(), args.join(" "));
            server.run = CommandLine::new("/bin/sh").args(["-c", &script]);
            Ok(Node::new(name, server))
        });
        nodes.into_iter().collect()
    }
    static STORE: StoreInfo = info("redis", plan, redis_connect);
    let base = base();
    let opened = start(&STORE, base.path());
    let both = |name| {
        let pid = pid_of(&opened, name).unwrap();
        [vec![pid], descendants(pid)].concat()
    };
    let (first, second) = (both("node1"), both("node2"));
    assert_eq!((first.len(), second.len()), (2, 2));
    nodes(&opened).freeze("node1").unwrap();
    assert!(first.iter().all(|pid| state(*pid) == 'T') && second.iter().all(|pid| state(*pid) != 'T'));
    nodes(&opened).thaw("node1").unwrap();
    assert!(first.iter().all(|pid| state(*pid) != 'T'));
    nodes(&opened).kill("node1").unwrap();
    assert_eq!((survivors(&first), survivors(&second)), (vec![], second));
}

#[test]
fn a_node_is_added_to_a_cluster_that_runs() {
    let base = base();
    let opened = start(&CLUSTER, base.path());
    let first = endpoint_of(&opened, "node1").to_string();
    let join = |place: &mut Place| {
        let node = member(&mut place.node("node4"), 4)?;
        let add = redis_cli().args(["--cluster", "add-node", &node.plan.endpoint.to_string(), &first]);
        let forming = Some(Forming { steps: vec![add.into()], timeout: Duration::from_secs(60) });
        Ok(Deployment { forming, ..Deployment::from_iter([node]) })
    };
    nodes(&opened).add(join).unwrap();
    assert_eq!(nodes(&opened).endpoints().len(), 4);
    let fourth = endpoint_of(&opened, "node4");
    until("it has heard of the others", || say(&fourth, &["CLUSTER", "INFO"]).contains("cluster_known_nodes:4"));
    let again = nodes(&opened).add(|place| Ok(Deployment::from_iter([member(&mut place.node("node4"), 4)?])));
    assert!(again.unwrap_err().to_string().contains("'node4' is not possible"));
    assert!(opened.is_alive() && nodes(&opened).states().len() == 4, "the one that has the name runs on");
    let pid = pid_of(&opened, "node4").unwrap();
    signal(pid, libc::SIGSEGV);
    until("it is seen to have ended", || !opened.is_alive());
    assert_eq!(opened.fallen().unwrap().node, "node4", "what was added is watched");
    opened.close().unwrap();
    assert_eq!(survivors(&[pid]), [0; 0]);
    assert_eq!(names_in(base.path()), [""; 0]);
}

#[test]
fn a_port_of_any_node_taken_meanwhile_is_changed_for_another_at_the_start_and_when_one_is_added() {
    static TAKEN: Mutex<Vec<TcpListener>> = Mutex::new(Vec::new());
    fn take(node: &Node, tries: usize) {
        let mut taken = TAKEN.lock().unwrap();
        if taken.len() < tries {
            taken.push(TcpListener::bind(node.plan.endpoint.tcp().unwrap()).unwrap());
        }
    }
    fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
        let deployment = three_plan(spec, place)?;
        take(&deployment.nodes[1], 2);
        Ok(deployment)
    }
    static STORE: StoreInfo = info("redis", plan, redis_connect);
    let base = base();
    let opened = start(&STORE, base.path());
    assert_eq!(TAKEN.lock().unwrap().len(), 2);
    let join = |place: &mut Place| {
        let node = keeper(&mut place.node("node4"), 4)?;
        take(&node, 3);
        Ok(Deployment::from_iter([node]))
    };
    nodes(&opened).add(join).unwrap();
    assert_eq!((TAKEN.lock().unwrap().len(), names_in(base.path()).len()), (3, 1));
    assert!(opened.is_alive() && nodes(&opened).states().len() == 4);
    assert_eq!(say(&endpoint_of(&opened, "node4"), &["PING"]), "PONG");
}

#[test]
fn what_nodes_use_is_known_for_each_and_in_sum_and_is_not_forgotten_when_one_is_killed() {
    let base = base();
    let opened = start(&THREE, base.path());
    let work = ["EVAL", "local i = 0 while i < 2e7 do i = i + 1 end return i", "0"];
    assert_eq!(say(&endpoint_of(&opened, "node2"), &work), "20000000");
    say(&endpoint_of(&opened, "node3"), &["SETRANGE", "key", "33554432", "x"]);
    let of = |name: &str| nodes(&opened).states().into_iter().find(|state| state.name == name).unwrap().usage;
    let (first, second, third) = (of("node1"), of("node2"), of("node3"));
    assert!(second.cpu_s > first.cpu_s + 0.02, "{first:?} {second:?}");
    assert!(third.peak_rss_bytes > first.peak_rss_bytes + (30 << 20), "{first:?} {third:?}");
    let before = opened.usage().unwrap();
    assert!(before.cpu_s >= first.cpu_s + second.cpu_s + third.cpu_s, "{before:?}");
    // Pages that servers of other tests map too are shared with those: only what is node3's alone is sure to be in the sum.
    assert!(before.peak_rss_bytes > 33 << 20, "{before:?} {third:?}");
    nodes(&opened).kill("node2").unwrap();
    let after = opened.usage().unwrap();
    assert!(after.cpu_s >= before.cpu_s && opened.server_cpu_s().unwrap() >= before.cpu_s, "{before:?} {after:?}");
    assert!(of("node2").cpu_s >= second.cpu_s && of("node2").peak_rss_bytes >= second.peak_rss_bytes);
    nodes(&opened).restart("node2").unwrap();
    assert!(of("node2").cpu_s > second.cpu_s);
    let each = opened.node_use();
    assert_eq!(each.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["node1", "node2", "node3"]);
    assert!(each.iter().all(|node| node.role == Role::Clients && node.disk_bytes > 0), "{each:?}");
    assert!(each.iter().map(|node| node.disk_bytes).sum::<u64>() <= opened.disk_bytes().unwrap(), "{each:?}");
    let cpu_s = opened.node_cpu_s();
    assert!(each.iter().zip(&cpu_s).all(|(node, (name, later_s))| node.name == *name && node.cpu_s <= *later_s));
}

#[test]
fn who_watches_from_another_process_follows_a_node_that_is_started_again() {
    let base = base();
    let opened = start(&THREE, base.path());
    let mut watched = opened.location().servers.clone();
    let second = &mut watched[1..2];
    let before = pid_of(&opened, "node2").unwrap();
    assert!(Sighting::of(second).rss_bytes > 1 << 20 && second[0].pid() == before);
    nodes(&opened).kill("node2").unwrap();
    assert_eq!(Sighting::of(second), Sighting::default());
    nodes(&opened).restart("node2").unwrap();
    assert!(Sighting::of(second).rss_bytes > 1 << 20, "the process it has now is looked at");
    assert!(second[0].pid() != before && Some(second[0].pid()) == pid_of(&opened, "node2"));
}
