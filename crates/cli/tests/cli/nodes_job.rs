//! The job `nodes` on real stores: keys move to another number of nodes while they are served.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran};
use serde_json::Value;

#[test]
fn keys_move_between_real_servers_and_files_while_they_are_served_and_the_report_says_how_many() {
    let stores = "redis-unix,nodes=4 -s memcached-unix,nodes=3,shard=ketama -s sqlite,nodes=3,shard=anchor -s redis";
    let words = common::once("nodes", stores, &["--clients 4 --set records=2000 --set operations=4000"]);
    let ran = Desk::new().run(&words);
    assert_eq!(ran.status, 0, "{}", ran.said());
    let cells = ran.cells();
    let facts = |at: usize| &cells[at]["trials"][0]["answer"]["facts"];
    for (at, nodes) in [(0, 4), (1, 3), (2, 3)] {
        let facts = facts(at);
        assert_eq!((&facts["nodes_before"], &facts["nodes_after"]), (&(nodes - 1).into(), &nodes.into()), "{facts}");
        assert!(facts["keys_moved"] == facts["keys_to_move"] && facts["keys_moved"].as_u64() > Some(300), "{facts}");
        let by_node: u64 =
            facts["keys_by_node_after"].as_array().unwrap().iter().map(|keys| keys.as_u64().unwrap()).sum();
        assert_eq!(by_node, 2000);
    }
    assert!(facts(3).get("keys_moved").is_none(), "one server has nothing to move");
    let digests: Vec<_> = cells.iter().map(|cell| &cell["trials"][0]["answer"]["digest"]).collect();
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
    assert!(ran.stdout.contains("3 nodes became 4, and "), "{}", ran.stdout);
}

#[test]
fn two_rings_move_no_key_when_a_storage_node_comes_and_let_none_go() {
    let settings = "--clients 4 --set records=2000 --set operations=4000";
    let ran = Desk::new().run(&common::once("nodes", "redis-unix,nodes=3,shard=rings", &[settings]));
    assert_eq!(ran.status, 0, "{}", ran.said());
    let facts = &ran.cells()[0]["trials"][0]["answer"]["facts"];
    assert_eq!((&facts["nodes_after"], &facts["keys_moved"]), (&3.into(), &0.into()), "{facts}");
    assert_eq!(facts["keys_by_node_after"][2], 0, "{facts}");
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("2 nodes became 3, and 0 of 2,000 keys"), "{}", ran.stdout);

    let settings = format!("{settings} --set change=remove");
    let ran = Desk::new().run(&common::once("nodes", "redis-unix,nodes=3,shard=rings", &[&settings]));
    assert_eq!(ran.status, 1, "{}", ran.said());
    let reason = &ran.cells()[0]["trials"][0]["verdict"]["reasons"][0];
    assert!(reason["example"].as_str().unwrap().contains("its keys would be lost"), "{reason}");
}

#[test]
fn a_store_of_one_node_says_why_its_keys_cannot_move() {
    let ran = Desk::new().run(&common::once("nodes", "redis-unix,nodes=1", &["--set records=100"]));
    assert_eq!(ran.status, 1, "{}", ran.said());
    let reason = &ran.cells()[0]["trials"][0]["verdict"]["reasons"][0];
    assert!(reason["example"].as_str().unwrap().contains("use nodes=2 or more"), "{reason}");
}

/// A trial in which a node of this store is killed, or a new node joins: 2,000 keys, 300 operations in each part, 500 per second.
fn changed(store: &str, settings: &str) -> Ran {
    let settings = format!("--clients 4 --rate 500 --set records=2000 --set operations=300 {settings}");
    Desk::new().run(&common::once("nodes", store, &[&settings]))
}

#[test]
fn a_server_that_is_killed_takes_its_keys_with_it_and_those_of_the_others_are_found() {
    let ran = changed("redis-unix,durability=os,nodes=4,shard=anchor", "--set change=kill --set node=2");
    let trial = &ran.only()["trials"][0];
    let (facts, killed) = (&ran.only()["answer"]["facts"], &trial["faults"][0]);
    assert_eq!((&killed["planned"], &killed["node"]), (&"at change: kill 2".into(), &"node2".into()), "{}", ran.said());
    assert!(killed["failed_operations"].as_u64() > Some(0) && killed["dark_share"].as_f64() > Some(0.1), "{killed}");
    let (on_it, lost) = (facts["keys_on_lost_node"].as_u64().unwrap(), trial["writes"]["lost"].as_u64().unwrap());
    // A key that was put again before anybody asked for it was missed by nobody.
    assert!((300..700).contains(&on_it) && lost <= on_it && lost * 10 > on_it * 8, "{lost} of {on_it}");
    let accused = ["wrong_value", "stale_value", "wrong_reply", "failed_in_fault", "connection_lost", "deadline"];
    assert!(!kinds(&ran).iter().any(|kind| accused.contains(kind)), "{}", trial["verdict"]);
    assert!(kinds(&ran).contains(&"lost_updates"), "{}", trial["verdict"]);
    assert_eq!((ran.status, &facts["nodes_after"]), (1, &3.into()), "{}", ran.said());
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("4 nodes became 3: node2 was lost with"), "{}", ran.stdout);
}

/// A cluster with copies goes on when its first node is killed, and every key is found; what it says of where they are.
fn finds_every_key_after_a_kill(store: &str) -> Value {
    let ran = changed(store, "--set change=kill --set update=0");
    let trial = &ran.only()["trials"][0];
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert_eq!((&trial["faults"][0]["node"], &trial["writes"]["lost"]), (&"node1".into(), &0.into()), "{store}");
    let facts = &ran.only()["answer"]["facts"];
    assert_eq!(facts["keys_valid"], 2000, "{store}");
    let parts: Vec<&str> = phases(&ran).iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert!(parts.contains(&"while a node is dead") && parts.contains(&"after"), "{parts:?}");
    facts.clone()
}

#[test]
fn a_replica_has_all_keys_of_a_master_that_was_killed_and_the_cluster_says_so() {
    let facts = finds_every_key_after_a_kill("redis-cluster,replicas=1,node-timeout=500");
    let keys = |name: &str, node: usize| facts[name][node].as_u64().unwrap();
    let (lost, left) = (keys("keys_by_node_before", 0), keys("keys_by_node_after", 0));
    let taken: u64 = (3..6).map(|replica| keys("keys_by_node_after", replica)).sum();
    assert!(lost > 500 && left == 0 && taken == lost && facts["keys_at_another_node"] == lost, "{facts}");
}

#[test]
fn etcd_has_every_key_when_a_member_was_killed() {
    let facts = finds_every_key_after_a_kill("etcd,durability=os,nodes=3");
    assert_eq!(facts["where_keys_are"], "every node has every key");
}

#[test]
#[ignore = "a quarter of a minute: a thousand hash slots per node move while they are served"]
fn a_cluster_that_another_node_joins_says_where_each_key_was_and_is_and_none_is_lost() {
    let ran = changed("redis-cluster", "--set change=add");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let (trial, facts) = (&ran.only()["trials"][0], &ran.only()["answer"]["facts"]);
    let added = &trial["faults"][0];
    assert!(added["node"] == "node4" && added.get("problem").is_none() && added["until_s"].is_number(), "{added}");
    let keys = |name: &str| -> Vec<u64> {
        facts[name].as_array().unwrap().iter().map(|keys| keys.as_u64().unwrap()).collect()
    };
    let (before, after) = (keys("keys_by_node_before"), keys("keys_by_node_after"));
    assert_eq!((before.iter().sum::<u64>(), after.iter().sum::<u64>(), before[3]), (2000, 2000, 0), "{facts}");
    assert!(after.iter().all(|keys| (350..650).contains(keys)), "{facts}");
    assert_eq!(facts["keys_at_another_node"], after[3], "all that moved went to the new node: {facts}");
    // The part lasts until the node has its share.
    let part = phases(&ran).into_iter().find(|phase| phase["name"] == "while keys move").unwrap();
    let joining_s = added["until_s"].as_f64().unwrap() - added["at_s"].as_f64().unwrap();
    assert!(part["elapsed_s"].as_f64().unwrap() >= joining_s - 0.1, "{part}, {added}");
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("are at another node than before"), "{said}");
}

#[test]
fn a_change_that_a_store_cannot_have_is_refused_with_what_can() {
    for (store, set, words) in [
        ("sqlite,nodes=4", "change=kill", "kills a server that kvtrial started"),
        ("redis-unix", "change=kill", "would leave no node"),
        ("redis-unix,nodes=4", "change=kill --set node=5", "it has no node 5"),
        ("nats,nodes=3", "change=add", "no node can join"),
        ("redis-cluster", "change=remove", "use change=kill here"),
        ("redis-unix,nodes=3,cache=64KiB", "change=add", "leave cache= out"),
    ] {
        let ran = Desk::new().run(&common::once("nodes", store, &["--set", set]));
        assert!(ran.status == 2 && ran.stderr.contains(words), "{store} {set}: {}", ran.said());
    }
    let ran = changed("redis-unix,nodes=3", "--set change=kill --set node=1");
    let reason = &ran.only()["trials"][0]["verdict"]["reasons"][0];
    assert!(reason["example"].as_str().unwrap().contains("use shard=anchor"), "{reason}");
}

/// Three parts on four real servers, each of this many operations, 500 per second, with these faults.
fn at_a_rate(operations: u32, faults: &[&str]) -> Ran {
    let desk = Desk::new();
    let settings = format!("--clients 4 --rate 500 --set records=2000 --set operations={operations} --out out");
    let words = common::once("nodes", "redis-unix,durability=os,nodes=4", &[&settings]);
    let mut command = desk.command(&format!("run {words}"));
    if !faults.is_empty() {
        command.args(["--timeout", "300ms", "--deadline", "3s"]);
    }
    for fault in faults {
        command.args(["--fault", fault]);
    }
    desk.finished(command.output().unwrap())
}

fn kinds(ran: &Ran) -> Vec<&str> {
    let reasons = ran.only()["trials"][0]["verdict"]["reasons"].as_array().unwrap();
    reasons.iter().map(|reason| reason["kind"].as_str().unwrap()).collect()
}

fn phases(ran: &Ran) -> Vec<&Value> {
    ran.only()["trials"][0]["phases"].as_array().unwrap().iter().collect()
}

/// Operations that failed.
fn failed(trial: &Value) -> u64 {
    ["refused", "not_connected", "unknown"].iter().filter_map(|fate| trial["failed"][fate].as_u64()).sum()
}

#[test]
fn in_an_open_loop_each_part_takes_as_long_as_its_operations_are_due_and_all_keys_move() {
    let ran = at_a_rate(1000, &[]);
    assert_eq!(ran.status, 0, "{}", ran.said());
    let facts = &ran.only()["answer"]["facts"];
    assert!(facts["keys_moved"] == facts["keys_to_move"] && facts["keys_moved"].as_u64() > Some(300), "{facts}");
    let timed = phases(&ran);
    for name in ["before", "while keys move", "after"] {
        let part = timed.iter().find(|part| part["name"] == name).unwrap_or_else(|| panic!("{timed:?}"));
        let elapsed_s = part["elapsed_s"].as_f64().unwrap();
        assert!(part["operations"] == 1000 && (1.9..4.0).contains(&elapsed_s), "{part}");
    }
}

#[test]
fn a_node_that_fails_before_or_after_keys_move_is_blamed_for_that_alone_and_every_key_is_found() {
    are_to_blame_alone(&[("before", &["at 500ms freeze 1 for 1s"]), ("after", &["at 4500ms freeze 1 for 1s"])]);
}

#[test]
fn a_node_that_fails_while_keys_move_is_blamed_for_that_alone_and_every_key_is_found() {
    are_to_blame_alone(&[
        ("while keys move", &["at 2100ms freeze 4 for 1s"]),
        ("while keys move", &["at 2100ms kill 2", "at 3s restart 2"]),
    ]);
}

/// Faults, and the part of an open loop they are in.
fn are_to_blame_alone(rows: &[(&str, &[&str])]) {
    for (part, faults) in rows {
        // On a busy machine a fault may fall between two parts, when nothing is asked: then once more.
        let hit = (0..5).map(|_| at_a_rate(1000, faults)).find(|ran| failed(&ran.only()["trials"][0]) > 0);
        let ran = hit.unwrap_or_else(|| panic!("{faults:?} failed no operation in any of 5 trials"));
        let (cell, said) = (ran.only(), ran.said());
        let trial = &cell["trials"][0];
        let wrong = |kind: &&str| {
            [
                "failed_in_fault",
                "lost_updates",
                "unexpected_miss",
                "wrong_reply",
                "wrong_value",
                "connection_lost",
                "deadline",
                "not_sent",
            ]
            .contains(kind)
        };
        assert!(!kinds(&ran).iter().any(wrong), "{faults:?} {}\n{said}", trial["verdict"]);
        assert_eq!(
            (&trial["writes"]["lost"], &trial["read_back"]["records"].as_u64().is_some()),
            (&0.into(), &true),
            "{said}"
        );
        let begun = phases(&ran).iter().map(|phase| phase["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        assert!(begun.contains(&(*part).to_owned()) && begun.contains(&"after".to_owned()), "{begun:?}");
        assert_eq!(cell["answer"]["facts"]["keys"], 2000, "{said}");
        assert!(cell["answer"]["facts"]["keys_moved"].as_u64() > Some(300), "{said}");
    }
}

#[test]
fn a_node_that_stays_dead_while_keys_move_ends_the_part_and_what_the_others_have_is_read_back() {
    let ran = at_a_rate(300, &["at 700ms kill 4"]);
    let trial = &ran.only()["trials"][0];
    assert!(kinds(&ran).contains(&"failed_in_fault"), "{}", trial["verdict"]);
    let accused = |kind: &&str| ["lost_updates", "unexpected_miss", "wrong_reply", "wrong_value"].contains(kind);
    assert!(!kinds(&ran).iter().any(accused), "{}\n{}", trial["verdict"], ran.said());
    assert_eq!(trial["writes"]["lost"], 0, "{}", ran.said());
    assert!(trial["read_back"]["records"].as_u64() > Some(1000), "{trial}");
    let begun = phases(&ran).iter().any(|phase| phase["name"] == "after");
    assert!(!begun, "keys of the dead node never moved: {}", ran.said());
}
