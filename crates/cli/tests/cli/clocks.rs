//! Nodes of a real cluster whose time of day is another one for a while.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::common;

use common::{Desk, once};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use testkit::waiting::until;

/// Why it cannot be tried here; `None`: it can.
fn obstacle() -> Option<String> {
    host::ClockLibrary::find().err()
}

/// What libfaketime has left of these processes.
fn shared_by(pids: &[String]) -> Vec<String> {
    let files = |pid: &String| [format!("/dev/shm/sem.faketime_sem_{pid}"), format!("/dev/shm/faketime_shm_{pid}")];
    pids.iter().flat_map(files).filter(|file| Path::new(file).exists()).collect()
}

#[test]
fn values_of_a_node_whose_clock_is_ahead_are_gone_before_their_time_and_those_of_the_others_are_not() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("not tried: {obstacle}");
    }
    let desk = Desk::new();
    let load =
        "--set records=300 --set theta=0 --set read=0.5 --set update=0.5 --set ttl=1s --set seconds=3 --rate 300";
    let mut command = desk.command(&format!("run {}", once("ycsb", "redis-cluster", &[load, "--clients 6 --out out"])));
    let ran = desk.finished(command.args(["--fault", "at 0s clock 2 by 1m for 2s"]).output().unwrap());
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
    let trial = &ran.only()["trials"][0];
    let fault = &trial["faults"][0];
    let at = |name: &str| fault[name].as_f64().unwrap_or_else(|| panic!("no {name}: {fault}\n{}", ran.said()));
    // It moves when a second begins.
    assert!((0.0..2.0).contains(&at("at_s")) && at("until_s") > at("at_s"), "{fault}");
    assert_eq!(fault["problem"], Value::Null, "{fault}");
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = format!("node2 was 1m ahead of the time of the others from {:.1} s to ", at("at_s"));
    assert!(said.contains(&words), "{}", ran.said());
    assert_eq!(ran.verdict(), "void", "{}", ran.said());
    let (early, _) = ran.why("expired_early").unwrap_or_else(|| panic!("nothing was gone early\n{}", ran.said()));
    // Each of the three nodes has a third of the keys. What was put meanwhile stays a minute too long.
    assert!((10..200).contains(&early), "{early} values were gone early\n{}", ran.said());
    assert!(ran.why("never_expired").is_some(), "{}", ran.said());
}

#[test]
#[ignore = "minutes: Java servers"]
fn acknowledged_writes_of_cassandra_are_lost_where_the_node_that_took_an_earlier_one_was_ahead() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("not tried: {obstacle}");
    }
    let desk = Desk::new();
    let load = "--set workload=a --set records=50 --set seconds=14 --clients 12 --seed 46 --out out";
    let mut command = desk.command_with_own_cache(&format!("run {}", once("ycsb", "cassandra,nodes=3", &[load])));
    let ran = desk.finished(command.args(["--fault", "at 4s clock 2 by 30s for 4s"]).output().unwrap());
    let trial = &ran.only()["trials"][0];
    assert_eq!(trial["faults"][0]["problem"], Value::Null, "{}", trial["faults"]);
    let (lost, history) = (trial["writes"]["lost"].as_u64().unwrap(), &trial["history"]);
    assert!(lost > 0 && history["contradicted_keys"].as_u64() >= Some(lost), "{lost} lost: {history}\n{}", ran.said());
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("'at 4s clock 2 by 30s for 4s (node2)'"), "{}", ran.said());
}

#[test]
fn nothing_is_left_in_shared_memory_when_kvtrial_and_its_nodes_are_killed() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("not tried: {obstacle}");
    }
    let desk = Desk::new();
    let words = once("ycsb", "redis-cluster", &["--set records=100 --set seconds=50 --rate 100 --clients 3 --out out"]);
    let mut command = desk.command(&format!("run {words}"));
    let mut child = command.args(["--fault", "at 40s clock 1 by 1m for 2s"]).stdout(Stdio::null()).spawn().unwrap();
    let base = desk.path().join("base");
    let nodes = || {
        let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let is_node = |pid: &String| {
            let preloaded =
                std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default().contains("libfaketime");
            preloaded && std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&base))
        };
        pids.filter(is_node).collect::<Vec<String>>()
    };
    until("three nodes run below the library", || nodes().len() == 3);
    let pids = nodes();
    // SAFETY: the child is ours and has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), libc::SIGKILL) }, 0);
    child.wait().unwrap();
    until("no directory is left", || desk.left_behind().is_empty());
    until("no node is left", || nodes().is_empty());
    until("nothing of them is left", || shared_by(&pids).is_empty());
}

#[test]
fn a_store_whose_clocks_cannot_be_moved_is_refused_with_those_whose_can() {
    for (store, why) in [
        ("etcd,nodes=3", "programs in Go"),
        ("nats,nodes=3", "programs in Go"),
        ("redis", "has one node, whose clock is no other's"),
        ("redis-unix,nodes=4", "do not say what time they have"),
        ("sqlite", "has no server that kvtrial started"),
        ("redis-cluster://127.0.0.1:1", "has no server that kvtrial started"),
    ] {
        let desk = Desk::new();
        let mut command = desk.command(&format!("run ycsb -s {store} --out out --set seconds=3"));
        let ran = desk.finished(command.args(["--fault", "at 1s clock 1 by 30s for 3s"]).output().unwrap());
        assert_eq!(ran.status, 2, "{}", ran.said());
        assert!(ran.stderr.contains("at 1s clock 1 by 30s for 3s") && ran.stderr.contains(why), "{}", ran.said());
        assert!(ran.study.is_none() && desk.left_behind().is_empty(), "{}", ran.said());
    }
}
