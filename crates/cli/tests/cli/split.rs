//! Nodes of a real cluster that hear nothing of each other for a while, and clients that reach each of them all the time.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::common;

use common::{Desk, Ran, once};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use testkit::waiting::until;

/// Why it cannot be tried here; `None`: it can.
fn obstacle() -> Option<&'static str> {
    let bridge = ["ip", "link", "add", "hub", "type", "bridge"];
    let can = |how: &str| {
        let tried = Command::new("unshare").arg(how).args(bridge).stdout(Stdio::null()).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    };
    // As root; or as root of a namespace of users, where the system lets everybody have one.
    let is_possible = can("-n") || can("-rn");
    (!is_possible).then_some("no network of our own can be had here by unshare and ip")
}

/// `ycsb` on a store some of whose nodes are cut off from the others.
fn split(desk: &Desk, store: &str, load: &str, cuts: &[&str]) -> Ran {
    let usual = "--set read=0.5 --set update=0.5 --clients 6 --deadline 30s --out out";
    let mut command = desk.command(&format!("run {}", once("ycsb", store, &[usual, load])));
    cuts.iter().for_each(|cut| _ = command.args(["--fault", cut]));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let ran = desk.finished(child.wait_with_output().unwrap());
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
    for fault in faults(trial(&ran)) {
        assert_eq!(fault["problem"], Value::Null, "{fault}");
        assert!(fault["until_s"].as_f64() > fault["at_s"].as_f64(), "{fault}");
    }
    ran
}

fn trial(ran: &Ran) -> &Value {
    &ran.only()["trials"][0]
}

fn faults(trial: &Value) -> &[Value] {
    trial["faults"].as_array().unwrap()
}

fn longest_dark_s(trial: &Value) -> f64 {
    let dark = trial["dark"].as_array().into_iter().flatten();
    dark.map(|dark| dark["until_s"].as_f64().unwrap() - dark["from_s"].as_f64().unwrap()).fold(0.0, f64::max)
}

/// Nothing was lost, and every read fits.
fn assert_kept_its_promises(ran: &Ran) {
    let trial = trial(ran);
    for accused in
        ["failed_in_fault", "lost_updates", "stale_value", "unexpected_miss", "wrong_value", "wrong_reply", "deadline"]
    {
        assert_eq!(ran.why(accused), None, "{}", ran.said());
    }
    let history = &trial["history"];
    assert_eq!((&history["contradicted_keys"], &history["stale_reads"]), (&0.into(), &0.into()), "{history}");
    assert_eq!(trial["writes"]["lost"], 0, "{}", trial["writes"]);
}

fn went_on_until(trial: &Value, at_s: f64) {
    let last = trial["series"].as_array().unwrap().last().unwrap();
    assert!(last["at_s"].as_f64().unwrap() > at_s, "it did not go on: {last}");
}

#[test]
fn members_of_etcd_that_hear_nothing_of_each_other_acknowledge_nothing_and_lose_nothing_that_they_had() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("not tried: {obstacle}");
    }
    let desk = Desk::new();
    let cuts = ["at 500ms cut 1 for 2s", "at 500ms cut 2 for 2s"];
    let ran = split(&desk, "etcd,durability=os,nodes=3", "--set records=200 --set seconds=4 --rate 200", &cuts);
    let trial = trial(&ran);
    let longest_s = longest_dark_s(trial);
    assert!(
        longest_s > 1.0,
        "all keys were dark for {longest_s} s, of two in which nobody had a majority\n{}",
        ran.said()
    );
    assert!(trial["failed"]["unknown"].as_u64() > Some(0), "{}\n{}", trial["failed"], ran.said());
    assert_kept_its_promises(&ran);
    let history = &trial["history"];
    assert!(history["unknown"].as_u64() > Some(0) && history["operations"].as_u64() > Some(400), "{history}");
    assert_eq!(trial["read_back"]["records"], 200, "{}", trial["read_back"]);
    went_on_until(trial, 3.0);
}

#[test]
fn etcd_goes_on_while_one_member_hears_nothing_of_the_others_and_clients_of_all_three_see_one_copy() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("not tried: {obstacle}");
    }
    let desk = Desk::new();
    // If it was the leader, the others choose one of them, which takes three seconds where processors are wanted by others. Some three seconds
    // after it is back they choose again, as it has asked for votes all the while: that, too, is to come while clients write.
    let load = "--set records=200 --set seconds=12 --rate 200";
    let ran = split(&desk, "etcd,durability=os,nodes=3", load, &["at 500ms cut 1 for 6s"]);
    assert_kept_its_promises(&ran);
    let trial = trial(&ran);
    assert!(trial["history"]["operations"].as_u64() > Some(400), "{}", trial["history"]);
    let fault = &faults(trial)[0];
    let cut_s = fault["until_s"].as_f64().unwrap() - fault["at_s"].as_f64().unwrap();
    assert!(longest_dark_s(trial) < cut_s, "nothing was answered while it was cut off\n{}", ran.said());
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("node1 was cut off from the others from 0.5 s to "), "{}", ran.said());
}

#[test]
fn a_master_of_redis_that_is_cut_off_acknowledges_what_is_lost_when_another_has_taken_over() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("not tried: {obstacle}");
    }
    let desk = Desk::new();
    let store = "redis-cluster,node-timeout=1000,replicas=1";
    let load = "--set records=5000 --set theta=0 --set seconds=6 --rate 500 --seed 46";
    let ran = split(&desk, store, load, &["at 1s cut 1 for 4s"]);
    let trial = trial(&ran);
    let (lost, history) = (trial["writes"]["lost"].as_u64().unwrap(), &trial["history"]);
    assert!(lost > 0, "{}\n{}", trial["writes"], ran.said());
    assert!(history["contradicted_keys"].as_u64() >= Some(lost), "{lost} lost: {history}");
    assert!(history["stale_reads"].as_u64() >= Some(lost), "{lost} lost: {history}");
    assert_eq!((ran.verdict(), ran.why("lost_updates").is_some()), ("void", true), "{}", ran.said());
    let by = &faults(trial)[0]["taken_over"];
    assert!(by["at_s"].as_f64() > Some(2.0) && by["at_s"].as_f64() < Some(5.0), "{by}\n{}", ran.said());
}

#[test]
fn nats_loses_nothing_and_shows_one_copy_while_each_of_its_servers_in_turn_hears_nothing_of_the_others() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("not tried: {obstacle}");
    }
    let desk = Desk::new();
    let cuts = ["at 500ms cut 1 for 1s", "at 2s cut 2 for 1s", "at 3500ms cut 3 for 1s"];
    let ran = split(&desk, "nats,nodes=3", "--set records=200 --set seconds=5 --rate 300", &cuts);
    assert_kept_its_promises(&ran);
    assert!(trial(&ran)["history"]["operations"].as_u64() > Some(600), "{}", trial(&ran)["history"]);
    went_on_until(trial(&ran), 4.0);
}

#[test]
fn a_store_whose_nodes_cannot_be_cut_off_is_refused_with_those_that_can() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("not tried: {obstacle}");
    }
    for (store, why) in [
        ("redis", "has one node, which hears of no other"),
        ("etcd", "has one node, which hears of no other"),
        ("redis-unix,nodes=4", "has nodes that speak to each other in no way that kvtrial can cut"),
        ("sqlite", "has no server that kvtrial started"),
        ("redis-cluster://127.0.0.1:1", "has no server that kvtrial started"),
    ] {
        let desk = Desk::new();
        let mut command = desk.command(&format!("run ycsb -s {store} --out out --set seconds=3"));
        let ran = desk.finished(command.args(["--fault", "at 1s cut 1 for 1s"]).output().unwrap());
        assert_eq!(ran.status, 2, "{}", ran.said());
        assert!(ran.stderr.contains("at 1s cut 1 for 1s") && ran.stderr.contains(why), "{}", ran.said());
        assert!(ran.study.is_none() && desk.left_behind().is_empty(), "{}", ran.said());
    }
}

/// The network namespace of a process.
fn namespace(pid: &str) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}

/// The processes in network namespaces for which this is so.
fn processes(is_meant: impl Fn(&str, &Path) -> bool) -> Vec<String> {
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    pids.filter(|pid| namespace(pid).is_some_and(|namespace| is_meant(pid, &namespace))).collect()
}

/// A run with a node that is cut off; the network namespaces that it has.
fn cut_off(desk: &Desk) -> (Child, Vec<PathBuf>) {
    let words = once("ycsb", "redis-cluster", &["--set records=100 --set seconds=50 --rate 100 --clients 3 --out out"]);
    let mut command = desk.command(&format!("run {words}"));
    let child = command.args(["--fault", "at 100ms cut 1 for 40s"]).spawn().unwrap();
    let base = desk.path().join("base");
    let of_it = |pid: &str, _: &Path| {
        std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|directory| directory.starts_with(&base))
    };
    let hears_nothing = |pid: &String| {
        let known = std::fs::read_to_string(format!("/proc/{pid}/net/arp")).unwrap_or_default();
        known.contains("02:00:00:00:00:99")
    };
    until("all nodes hear nothing of one of them", || {
        let nodes = processes(of_it);
        nodes.len() >= 3 && nodes.iter().filter(|pid| hears_nothing(pid)).count() == 3
    });
    let mut found: Vec<PathBuf> = processes(of_it).iter().filter_map(|pid| namespace(pid)).collect();
    found.extend(namespace(&child.id().to_string()));
    found.sort();
    found.dedup();
    (child, found)
}

#[test]
fn nothing_is_left_of_a_network_when_kvtrial_is_interrupted_or_killed() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("not tried: {obstacle}");
    }
    for signal in [libc::SIGINT, libc::SIGKILL] {
        let desk = Desk::new();
        let (mut child, namespaces) = cut_off(&desk);
        let outside = namespace("self").unwrap();
        assert!(namespaces.len() == 4 && !namespaces.contains(&outside), "{namespaces:?}");
        // SAFETY: the child is ours and has not been waited for.
        assert_eq!(unsafe { libc::kill(child.id().cast_signed(), signal) }, 0);
        child.wait().unwrap();
        let is_one = |_: &str, namespace: &Path| namespaces.iter().any(|it| it == namespace);
        until("no process is in the namespaces", || processes(is_one).is_empty());
        until("no directory is left", || desk.left_behind().is_empty());
        let links = std::fs::read_dir("/sys/class/net").unwrap().map(|link| link.unwrap().file_name());
        assert!(links.into_iter().all(|link| !link.to_string_lossy().starts_with("hub")));
    }
}
