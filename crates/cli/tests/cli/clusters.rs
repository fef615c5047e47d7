//! Clusters under the general checks: `check`, the known answer of `fans`, and members that freeze and die.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran, is_here, once};
use serde_json::Value;

/// Answer of an unrelated script: `crates/jobs/tests/answers`.
const DEBIAN_1K: &str = "sha256:68feb5060a6d9f728165362a625509d52ab91a5abcf6de1f6c5fe58fe046bc91";

/// Clusters whose programs `./test` installs, and Valkey's where it is.
fn clusters() -> Vec<&'static str> {
    let mut specs = vec!["redis-cluster", "etcd,durability=os,nodes=3", "nats,nodes=3"];
    if is_here(catalog::find("valkey-cluster").unwrap()) {
        specs.push("valkey-cluster");
    }
    specs
}

/// Those of Redis's protocol: the others have theirs in another test, so that none lasts for more than half a minute.
fn is_of_redis(spec: &&str) -> bool {
    spec.ends_with("-cluster")
}

#[test]
fn every_cluster_of_redis_passes_check_and_leaves_nothing() {
    pass_check_and_leave_nothing(clusters().into_iter().filter(is_of_redis));
}

#[test]
#[ignore = "half a minute; the clusters of Redis are checked by every ./test"]
fn every_other_cluster_passes_check_and_leaves_nothing() {
    pass_check_and_leave_nothing(clusters().into_iter().filter(|spec| !is_of_redis(spec)));
}

fn pass_check_and_leave_nothing(specs: impl Iterator<Item = &'static str>) {
    for spec in specs {
        let desk = Desk::new();
        let ran = desk.kvtrial(&format!("check {spec} --deadline 20s"));
        assert!(ran.status == 0 && ran.stdout.contains(" 0 failed"), "{spec}: {}", ran.said());
        assert!(desk.left_behind().is_empty(), "{spec}: {:?}", desk.left_behind());
    }
}

fn has_the_known_answer(clients: u32) {
    for spec in clusters() {
        let desk = Desk::new();
        let clients = format!("--data debian-1k --deadline 20s --clients {clients}");
        let ran = desk.run(&once("fans", spec, &[&clients]));
        assert_eq!(ran.status, 0, "{spec}: {}", ran.said());
        assert!(ran.is_ranked(spec) && ran.digest(spec) == DEBIAN_1K, "{spec}: {}", ran.said());
        assert!(desk.left_behind().is_empty(), "{spec}: {:?}", desk.left_behind());
    }
}

#[test]
#[ignore = "half a minute; sixteen clients and a killed member are tried by every ./test"]
fn every_cluster_has_the_known_answer_with_one_client() {
    has_the_known_answer(1);
}

#[test]
fn every_cluster_has_the_known_answer_with_sixteen_clients() {
    has_the_known_answer(16);
}

fn faulted(store: &str, seconds: u32, faults: &[&str]) -> Ran {
    let desk = Desk::new();
    let more = format!(
        "--rate 300 --clients 6 --deadline 40s --set records=500 --set update=0.5 --set read=0.5 --set seconds={seconds} --out out"
    );
    let mut command = desk.command(&format!("run {}", once("ycsb", store, &[&more])));
    for fault in faults {
        command.args(["--fault", fault]);
    }
    desk.finished(command.output().unwrap())
}

/// The only trial: it went on to the end, what failed did so by the fault, and nothing was answered wrongly.
fn went_on(ran: &Ran, seconds: f64) -> &Value {
    let trial = &ran.only()["trials"][0];
    let kinds: Vec<&str> =
        trial["verdict"]["reasons"].as_array().unwrap().iter().map(|reason| reason["kind"].as_str().unwrap()).collect();
    for wrong in ["wrong_value", "stale_value", "lost_updates", "unexpected_miss", "connection_lost", "server_died"] {
        assert!(!kinds.contains(&wrong), "{}", ran.said());
    }
    let last_s = trial["series"].as_array().unwrap().last().unwrap()["at_s"].as_f64().unwrap();
    assert!(last_s > seconds - 1.0, "it ended at {last_s} s\n{}", ran.said());
    trial
}

#[test]
fn three_members_of_etcd_go_on_while_each_is_killed_in_turn_the_leader_too_and_no_acknowledged_write_is_lost() {
    let faults =
        ["at 1s kill 1", "at 4s restart 1", "at 7s kill 2", "at 10s restart 2", "at 13s kill 3", "at 16s restart 3"];
    let ran = faulted("etcd,durability=os,nodes=3", 19, &faults);
    let trial = went_on(&ran, 19.0);
    // Which of them it is depends on the moment: while nobody leads, a member refuses.
    let failed = |fate: &str| trial["failed"][fate].as_u64().unwrap();
    let all: u64 = ["not_connected", "refused", "unknown"].map(failed).iter().sum();
    assert!(all > 0, "{}\n{}", trial["failed"], ran.said());
    assert_eq!(trial["writes"]["lost"], 0, "{}", ran.said());
    assert_ne!(ran.verdict(), "void", "what failed in a fault is its cost\n{}", ran.said());
}

#[test]
#[ignore = "half a minute; sixteen clients and a killed member are tried by every ./test"]
fn a_member_of_etcd_that_freezes_delays_its_own_clients_and_voids_nothing_that_was_acknowledged() {
    let ran = faulted("etcd,durability=os,nodes=3", 8, &["at 2s freeze 1 for 2s"]);
    let trial = went_on(&ran, 8.0);
    let fault = &trial["faults"][0];
    assert!(fault["until_s"].as_f64().unwrap() - fault["at_s"].as_f64().unwrap() > 1.9, "{fault}");
    assert!(trial["latency_ns"]["response"]["max"].as_f64().unwrap() > 1e9, "{}", trial["latency_ns"]["response"]);
}
