//! Redis Cluster, the real servers: slots that move, masters that die, nodes that name one another.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use crate::suite;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};
use store::{Endpoint, Operation, OwnedReply, Store};
use study::Spec;
use testkit::replies::{loss, refusal, value};
use testkit::rig::connect_of;
use testkit::waiting::{soon, until};
use testkit::{Client, Rig};

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    Rig::shared("redis-cluster", &RIG)
}

suite! {
    all_bytes_come_back_from_keys_and_values,
    values_of_every_size_come_back_whole,
    an_overwrite_leaves_nothing_of_the_old_value,
    what_was_never_stored_is_missing,
    appends_join_and_create,
    counters_count_from_nothing_to_their_bounds,
    fields_count_side_by_side,
    concurrent_increments_are_all_counted,
    of_sixteen_compare_and_sets_exactly_one_wins,
    a_compare_and_set_needs_the_value_that_was_read,
    sixteen_slots_may_create_the_same_key,
}

/// What a node answers to a command.
fn say(endpoint: &Endpoint, words: &[&str]) -> String {
    let (host, port) = endpoint.tcp().unwrap();
    let output = Command::new("redis-cli")
        .env("REDISCLI_AUTH", endpoint.password.as_ref().unwrap().reveal())
        .args(["-h", host, "-p", &port.to_string()])
        .args(words)
        .output();
    String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
}

fn id(endpoint: &Endpoint) -> String {
    say(endpoint, &["CLUSTER", "MYID"])
}

/// The slot of `foo` by the server, its master, and another.
fn slot_of_foo(rig: &Rig) -> (String, Endpoint, Endpoint) {
    let endpoints = rig.endpoints();
    let slot = say(&endpoints[0], &["CLUSTER", "KEYSLOT", "foo"]);
    let (has, has_not): (Vec<_>, Vec<_>) =
        endpoints.into_iter().partition(|endpoint| !say(endpoint, &["GET", "foo"]).starts_with("MOVED"));
    (slot, has[0].clone(), has_not[0].clone())
}

#[test]
fn a_slot_that_moves_is_followed_while_it_moves_and_afterwards() {
    let rig = Rig::start("redis-cluster");
    let store = rig.store();
    let mut client = rig.client(2, 4);
    let keys: Vec<String> = (0..20).map(|number| format!("{{foo}}{number}")).collect();
    keys.iter().for_each(|key| assert_eq!(client.put(key, key), OwnedReply::Done));
    let (slot, from, to) = slot_of_foo(&rig);
    assert_eq!(say(&to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(&from)]), "OK");
    assert_eq!(say(&from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(&to)]), "OK");
    let (host, port) = to.tcp().unwrap();
    let (port, password) = (port.to_string(), to.password.as_ref().unwrap().reveal());
    for key in keys.iter().take(10) {
        assert_eq!(say(&from, &["MIGRATE", host, &port, key, "0", "5000", "AUTH", password]), "OK");
    }
    assert_eq!(store.resent(), 0);
    // Ten have gone: for these the old master says ASK. A new key of the slot is asked for at the new one, too.
    keys.iter().for_each(|key| assert_eq!(client.get(key), value(key)));
    assert_eq!(store.resent(), 10);
    assert_eq!((client.put("{foo}new", b"n"), client.get("{foo}new")), (OwnedReply::Done, value("n")));
    assert_eq!(store.resent(), 12);
    for key in keys.iter().skip(10) {
        assert_eq!(say(&from, &["MIGRATE", host, &port, key, "0", "5000", "AUTH", password]), "OK");
    }
    for endpoint in [&to, &from] {
        assert_eq!(say(endpoint, &["CLUSTER", "SETSLOT", &slot, "NODE", &id(&to)]), "OK");
    }
    // MOVED is said once per session; then the slot is asked for where it is.
    keys.iter().for_each(|key| assert_eq!(client.get(key), value(key)));
    assert_eq!(store.resent(), 13);
    assert_eq!(client.put("{foo}0", b"again"), OwnedReply::Done);
    assert_eq!(client.on_slots(&[(5, Operation::Get { key: b"{foo}0" })]), [value("again")]);
    assert_eq!(store.resent(), 13);
}

#[test]
fn after_a_failover_the_session_finds_the_new_master_by_itself() {
    let rig = Rig::start("redis-cluster,replicas=1,node-timeout=500");
    let mut client = rig.client(1, 1);
    let until_replicated = || (0..6).map(|node| say(&rig.endpoints()[node], &["DBSIZE"])).collect::<Vec<_>>();
    let keys: Vec<String> = (0..60).map(|number| format!("key{number}")).collect();
    keys.iter().for_each(|key| assert_eq!(client.put(key, key), OwnedReply::Done));
    until("the replicas have what the masters have", || {
        let sizes: Vec<u64> = until_replicated().iter().map(|size| size.parse().unwrap_or(0)).collect();
        sizes.iter().sum::<u64>() == 120
    });
    let masters = rig.endpoints().iter().position(|endpoint| say(endpoint, &["ROLE"]).starts_with("master"));
    rig.kill_node(&format!("node{}", masters.unwrap() + 1));
    let killed = Instant::now();
    let mut lost = 0;
    until("every key is answered again", || {
        let replies: Vec<OwnedReply> = keys.iter().map(|key| client.get(key)).collect();
        let wrong = replies.iter().zip(&keys).find(|(reply, key)| loss(reply).is_none() && **reply != value(key));
        assert!(wrong.is_none(), "{wrong:?}");
        lost += replies.iter().filter(|reply| loss(reply).is_some()).count();
        replies.iter().all(|reply| loss(reply).is_none())
    });
    assert!(lost > 0, "a master was killed and nobody saw it");
    assert_eq!(rig.store().holding().unwrap().keys, Some(60), "who took over holds what the dead master held");
    assert!(killed.elapsed() < Duration::from_secs(40), "{:?}", killed.elapsed());
}

/// A node that calls itself one of a whole cluster and answers commands after the hello in a way of its own: what it says to one,
/// given the port of its peer. What is not whole is followed by the end of the connection.
type Answer = fn(command: &str, peer: u16) -> String;

fn liar(answer: Answer, listener: TcpListener, peer: u16) {
    let own = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || talk(stream.unwrap(), own, |command| answer(command, peer)));
        }
    });
}

fn talk(mut stream: TcpStream, own: u16, answer: impl Fn(&str) -> String) {
    let mut bytes = [0; 4096];
    while let Ok(size @ 1..) = stream.read(&mut bytes) {
        let said = String::from_utf8_lossy(&bytes[..size]).into_owned();
        let bulk = |text: &str| format!("${}\r\n{text}\r\n", text.len());
        let reply = if said.contains("SCRIPT") {
            bulk("9727c0c3d59879d40e8841eb5f2722ce5967bd3d")
        } else if said.contains("NODES") {
            bulk(&format!("aa 127.0.0.1:{own}@1 myself,master - 0 0 1 connected 0-16383\n"))
        } else if said.contains("CLUSTER") {
            bulk("cluster_state:ok\r\n")
        } else if said.contains("INFO") {
            bulk("redis_version:7.0.15\r\n")
        } else if said.contains("CONFIG") {
            "*0\r\n".to_owned()
        } else {
            let one = |command| if str::contains(command, "ASKING") { "+OK\r\n".into() } else { answer(command) };
            said.split('*').skip(1).map(one).collect()
        };
        stream.write_all(reply.as_bytes()).unwrap();
        if !reply.ends_with("\r\n") {
            return;
        }
    }
}

fn pair_of_liars(answers: [Answer; 2]) -> Box<dyn Store> {
    let [one, other] = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let ports = [&one, &other].map(|listener| listener.local_addr().unwrap().port());
    liar(answers[0], one, ports[1]);
    liar(answers[1], other, ports[0]);
    let endpoints = [Endpoint::loopback(ports[0])];
    connect_of("redis-cluster")(&Spec::private("redis-cluster"), &endpoints).unwrap()
}

#[test]
fn two_nodes_that_name_each_other_are_left_after_sixteen_turns() {
    let moved: Answer = |_, peer| format!("-MOVED 12182 127.0.0.1:{peer}\r\n");
    let ask: Answer = |_, peer| format!("-ASK 12182 127.0.0.1:{peer}\r\n");
    for answer in [moved, ask] {
        let store = pair_of_liars([answer; 2]);
        let reply = Client::of(&*store).get("foo");
        assert!(refusal(&reply).is_some_and(|words| words.contains("12182")), "{reply:?}");
        assert_eq!(store.resent(), 16);
    }
}

#[test]
fn a_node_that_nobody_can_reach_or_that_is_none_fails_the_operation_in_words() {
    let store = pair_of_liars([|_, _| "-MOVED 12182 127.0.0.1:1\r\n".into(); 2]);
    let reply = Client::of(&*store).get("foo");
    assert!(loss(&reply).is_some_and(|words| words.contains("127.0.0.1:1")), "{reply:?}");
    let store = pair_of_liars([|_, _| "-MOVED 12182 nowhere\r\n".into(); 2]);
    let reply = Client::of(&*store).get("foo");
    assert!(loss(&reply).is_some_and(|words| words.contains("no address")), "{reply:?}");
}

#[test]
fn half_a_reply_of_one_node_fails_what_was_asked_of_it_and_nothing_else() {
    let honest: Answer = |command, peer| match command.contains("foo") {
        true => format!("-MOVED 12182 127.0.0.1:{peer}\r\n"),
        false => "$3\r\nyes\r\n".into(),
    };
    let store = pair_of_liars([honest, |_, _| "$1000\r\nonly the begi".into()]);
    let mut client = Client::new(&*store, 1, 3);
    let replies = client.all(&["bar", "foo", "hello"].map(|key| Operation::Get { key: key.as_bytes() }));
    assert_eq!((&replies[0], &replies[2]), (&value("yes"), &value("yes")));
    assert!(loss(&replies[1]).is_some_and(|words| words.contains("closed")), "{replies:?}");
    // Asked again, it is the same; nothing of the half reply is taken for another's.
    assert_eq!(client.get("bar"), value("yes"));
    assert!(loss(&client.get("foo")).is_some());
}

#[test]
fn one_server_that_is_no_cluster_is_refused_with_the_store_to_name() {
    let redis = Rig::start("redis");
    let refused = connect_of("redis-cluster")(&Spec::private("redis-cluster"), &[redis.endpoint().clone()]);
    let problem = refused.err().expect("a single server is no cluster").to_string();
    assert!(problem.contains("cluster support disabled") && problem.contains("redis and valkey"), "{problem}");
}

#[test]
fn the_users_cluster_is_found_by_any_of_its_addresses() {
    let rig = Rig::start("redis-cluster");
    let ports: Vec<String> = rig.endpoints().iter().map(|endpoint| endpoint.to_string()).collect();
    assert_eq!(rig.client(1, 1).put("foo", "bar"), OwnedReply::Done);
    rig.kill_node("node2");
    // Two of three go on serving their slots until the third counts as failed.
    let url = format!("redis-cluster://:{}@127.0.0.1:1,{},{}", rig.password(), ports[1], ports[0]);
    let spec: Spec = url.parse().unwrap();
    let problem = host::open(testkit::rig::info("redis-cluster"), &spec, &std::env::temp_dir());
    let problem = problem.map(|_| ()).unwrap_err().to_string();
    assert!(!problem.contains(&rig.password()), "{problem}");
    rig.start_node_again("node2");
    let open = || host::open(testkit::rig::info("redis-cluster"), &spec, &std::env::temp_dir());
    let opened = soon("the cluster is whole again", || open().ok());
    assert_eq!(Client::of(opened.store()).get("foo"), value("bar"));
}

#[test]
fn a_cluster_of_impossible_size_is_refused_before_anything_starts() {
    for (spec, possible) in [("redis-cluster,nodes=2", "3 to 16"), ("redis-cluster,replicas=9", "0 to 2")] {
        let spec: Spec = spec.parse().unwrap();
        let problem = host::open(testkit::rig::info("redis-cluster"), &spec, &std::env::temp_dir()).unwrap_err();
        assert!(problem.to_string().contains(possible), "{problem}");
    }
}

#[test]
fn a_write_that_waits_is_acknowledged_only_when_a_replica_has_it() {
    let rig = Rig::start("redis-cluster,replicas=1,wait=1");
    let mut client = rig.client(4, 1);
    assert_eq!(client.put("kept", "twice"), OwnedReply::Done);
    assert_eq!(client.get("kept"), value("twice"));
    // Those that were named last are the replicas.
    for replica in ["node4", "node5", "node6"] {
        rig.kill_node(replica);
    }
    let reply = client.put("kept", "once");
    let said = format!("{reply:?}");
    assert!(said.contains("Unknown") && said.contains("too few replicas"), "{said}");
    assert_eq!(client.get("kept"), value("once"), "the master has it all the same");
    let spec: Spec = "redis-cluster,wait=1".parse().unwrap();
    let problem = host::open(testkit::rig::info("redis-cluster"), &spec, &std::env::temp_dir()).unwrap_err();
    assert!(problem.to_string().contains("add replicas=1"), "{problem}");
}
