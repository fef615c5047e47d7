//! Nodes of a real cluster that hear nothing of each other for a while, and clients that reach each of them all the time.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::common;

use common::{Desk, Ran, once};
use serde_json::Value;
use std::process::{Command, Stdio};

/// Why it cannot be tried here; `None`: it can.
fn obstacle() -> Option<&'static str> {
    let words = ["-n", "ip", "link", "add", "hub", "type", "bridge"];
    let tried = Command::new("unshare").args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match tried {
        Ok(status) if status.success() => None,
        _ => Some("only root can have a network of its own, with unshare and ip"),
    }
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
    let dark = trial["dark"].as_array().unwrap().iter();
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
    let cuts = ["at 2s cut 1 for 2s", "at 2s cut 2 for 2s"];
    let ran = split(&desk, "etcd,durability=os,nodes=3", "--set records=200 --set seconds=8 --rate 200", &cuts);
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
    went_on_until(trial, 7.0);
}
