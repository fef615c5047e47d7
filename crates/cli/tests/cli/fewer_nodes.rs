//! Clusters of which fewer nodes are up than were asked for: a private one is not run and says which node it was, one of the user's is
//! reached through a node that answers, and the study says who does not.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::common;

use common::{Desk, Ran, once};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;
use store::Endpoint;
use testkit::Rig;

const CLUSTERS: [(&str, &str); 3] =
    [("redis-cluster", "redis-server"), ("etcd,durability=os,nodes=3", "etcd"), ("nats,nodes=3", "nats-server")];

const LOAD: &str = "--set records=200 --set operations=2000 --clients 4";

/// Runs `ycsb` on a cluster whose second node does this instead of serving, and on ram.
fn without_the_second(store: &str, program: &str, instead: &str) -> (Desk, Ran) {
    let desk = Desk::new();
    let path = std::env::var("PATH").unwrap();
    let real = path.split(':').map(|directory| Path::new(directory).join(program)).find(|file| file.exists()).unwrap();
    let words = format!("#!/bin/sh\ncase \"$PWD\" in */node2) {instead};; esac\nexec {} \"$@\"\n", real.display());
    std::fs::create_dir(desk.path().join("programs")).unwrap();
    let program = desk.file(&format!("programs/{program}"), words);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let words = format!("run {}", once("ycsb", store, &["-s ram --out out", LOAD]));
    let output = desk.command(&words).env("PATH", path).output().unwrap();
    let ran = desk.finished(output);
    (desk, ran)
}

/// It is not run and says this, and the other store of the study is.
fn says_why(store: &str, (desk, ran): (Desk, Ran), reason: &str) {
    assert_eq!(ran.status, 1, "{store}: {}", ran.said());
    assert!(ran.is_ranked("ram"), "{store}: {}", ran.said());
    assert_eq!(ran.cell(store)["verdict"]["status"], "not_run", "{store}: {}", ran.said());
    let example = ran.reason(store, "not_started")["example"].as_str().unwrap();
    assert!(example.contains("node2") && example.contains(reason), "{store}: {example}");
    assert!(desk.left_behind().is_empty(), "{store}: {:?}", desk.left_behind());
}

#[test]
fn a_private_cluster_one_of_whose_nodes_dies_while_it_starts_is_not_run_and_the_node_and_its_last_words_are_named() {
    for (store, program) in CLUSTERS {
        let ran = without_the_second(store, program, "echo 'there is no such volume' >&2; exit 3");
        says_why(store, ran, "ended with status 3; its log ends:\n  there is no such volume");
    }
}

#[test]
#[ignore = "it waits for a deadline"]
fn a_private_cluster_one_of_whose_nodes_never_comes_up_is_given_up_in_time_and_the_node_is_named() {
    std::thread::scope(|scope| {
        for (store, program) in CLUSTERS {
            scope.spawn(move || {
                let begun = Instant::now();
                let ran = without_the_second(store, program, "exec sleep 1000");
                assert!(begun.elapsed().as_secs() < 55, "{store} took {:?}", begun.elapsed());
                says_why(store, ran, "did not answer within");
            });
        }
    });
}

/// A cluster as its user names it: the addresses of all its nodes, by one login.
fn url_of(cluster: &Rig) -> String {
    let nodes = cluster.endpoints();
    let login = |endpoint: &Endpoint| {
        let password = endpoint.password.as_ref()?.reveal().to_owned();
        Some(format!("{}:{password}@", endpoint.user.clone().unwrap_or_default()))
    };
    let login = nodes.first().and_then(login).unwrap_or_default();
    let places: Vec<String> =
        nodes.iter().filter_map(Endpoint::tcp).map(|(host, port)| format!("{host}:{port}")).collect();
    format!("{}://{login}{}", cluster.name(), places.join(","))
}

/// Of a cluster of the user's the first node that is named is dead: the study is as good as any, and says which server did not answer.
fn goes_on_without_the_first(spec: &str) {
    let cluster = Rig::start(spec);
    let first = cluster.endpoints().swap_remove(0);
    cluster.kill_node("node1");
    let ran = Desk::new().run(&once("ycsb", &url_of(&cluster), &["--deadline 20s", LOAD]));
    assert_eq!(ran.status, 0, "{spec}: {}", ran.said());
    assert_ne!(ran.verdict(), "void", "{spec}: {}", ran.said());
    assert_eq!(ran.only()["answer"]["facts"]["keys_valid"], 200, "{spec}: {}", ran.said());
    let (host, port) = first.tcp().unwrap();
    let silent = format!("{host}:{port}");
    assert_eq!(ran.only()["store_config"]["not_answering"], silent, "{spec}: {}", ran.said());
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(&format!("did not answer when the store was opened: {silent}.")), "{spec}: {said}");
}

#[test]
fn a_redis_cluster_of_the_users_with_a_dead_master_is_connected_to_by_another_node_which_says_who_took_over() {
    goes_on_without_the_first("redis-cluster,replicas=1,node-timeout=500");
}

#[test]
fn etcd_and_nats_of_the_users_with_a_dead_member_are_connected_to_by_another_one() {
    goes_on_without_the_first("etcd,durability=os,nodes=3");
    goes_on_without_the_first("nats,nodes=3");
}

#[test]
fn a_redis_cluster_of_the_users_whose_dead_master_has_no_replica_is_not_run_and_says_why() {
    let cluster = Rig::start("redis-cluster,node-timeout=500");
    cluster.kill_node("node1");
    let begun = Instant::now();
    let ran = Desk::new().run(&once("ycsb", &url_of(&cluster), &["-s ram --deadline 3s", LOAD]));
    assert!(begun.elapsed().as_secs() < 40, "it took {:?}", begun.elapsed());
    assert_ne!(ran.status, 0, "{}", ran.said());
    let said = ran.said();
    assert!(ran.is_ranked("ram"), "{said}");
    let cell = ran.cells().iter().find(|cell| cell["store"] != "ram").unwrap();
    let reasons = cell["verdict"]["reasons"].to_string();
    assert!(["void", "not_run"].contains(&cell["verdict"]["status"].as_str().unwrap()), "{said}");
    assert!(reasons.contains("CLUSTERDOWN") || reasons.contains("cluster"), "{reasons}");
}
