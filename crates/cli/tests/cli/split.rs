//! A split: the members of a real etcd hear nothing of each other for a while, and clients reach each of them all the time.
//!
//! kvtrial and its servers run in a network namespace of their own, in which the ports that members speak over lead nowhere meanwhile.
#![allow(clippy::unwrap_used, missing_docs)]

use crate::common;

use common::{Desk, Ran, once};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use testkit::waiting::until;

/// Other rules come before the addresses of the machine itself there.
const PREPARE: &str = "ip link set lo up && ip rule add pref 100 lookup local && ip rule del pref 0 && exec \"$@\"";

/// Why it cannot be tried here; `None`: it can.
fn obstacle() -> Option<&'static str> {
    let words = ["-n", "sh", "-c", PREPARE, "sh", "ip", "rule", "add", "ipproto", "tcp", "dport", "1", "blackhole"];
    let tried = Command::new("unshare").args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match tried {
        Ok(status) if status.success() => None,
        _ => Some("only root can have a network namespace, with unshare and ip, in which ports lead nowhere"),
    }
}

/// A process below a directory, with its words.
fn processes(directory: &Path, program: &str) -> Vec<(String, Vec<String>)> {
    let words = |pid: &str| {
        let text = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        text.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>()
    };
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let of_it = |(pid, words): &(String, Vec<String>)| {
        let place = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        place.starts_with(directory) && words.first().is_some_and(|word| word.ends_with(program))
    };
    pids.map(|pid| (pid.clone(), words(&pid))).filter(of_it).collect()
}

fn is_frozen(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
}

/// In the namespace of a process: what goes to these ports or comes from them leads nowhere, or does again.
fn turn(rules: &str, pid: &str, ports: &[String]) {
    let all: Vec<String> = ports
        .iter()
        .flat_map(|port| {
            ["dport", "sport"].map(|end| format!("ip rule {rules} pref 10 ipproto tcp {end} {port} blackhole"))
        })
        .collect();
    let net = format!("--net=/proc/{pid}/ns/net");
    let status = Command::new("nsenter").args([&net, "sh", "-c", &all.join(" && ")]).status().unwrap();
    assert!(status.success());
}

/// `ycsb` on three members that are cut off from each other for two seconds.
fn split(desk: &Desk) -> Ran {
    let load = "--set records=200 --set seconds=8 --rate 200 --clients 6 --deadline 30s --out out";
    let mut inner = desk.command(&format!("run {}", once("ycsb", "etcd,durability=os,nodes=3", &[load])));
    // The freeze says when the clock runs, and that nodes fail on purpose.
    inner.args(["--fault", "at 500ms freeze 1 for 300ms"]);
    let mut command = Command::new("unshare");
    command.args(["-n", "sh", "-c", PREPARE, "sh"]).arg(inner.get_program()).args(inner.get_args());
    command.current_dir(desk.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, value) in inner.get_envs() {
        value.into_iter().for_each(|value| _ = command.env(name, value));
    }
    let child = command.spawn().unwrap();
    let members = || processes(&desk.path().join("base"), "etcd");
    until("three members run", || members().len() == 3);
    let members = members();
    let ports: Vec<String> = members
        .iter()
        .map(|(_, words)| {
            let at = words.iter().position(|word| word == "--listen-peer-urls").unwrap();
            words[at + 1].rsplit(':').next().unwrap().to_owned()
        })
        .collect();
    until("one of them is frozen", || members.iter().any(|(pid, _)| is_frozen(pid)));
    sleep(Duration::from_secs(2));
    turn("add", &members[0].0, &ports);
    sleep(Duration::from_secs(2));
    turn("del", &members[0].0, &ports);
    desk.finished(child.wait_with_output().unwrap())
}

#[test]
fn members_of_etcd_that_hear_nothing_of_each_other_acknowledge_nothing_and_lose_nothing_that_they_had() {
    if let Some(obstacle) = obstacle() {
        return eprintln!("not tried: {obstacle}");
    }
    let desk = Desk::new();
    let ran = split(&desk);
    let trial = &ran.only()["trials"][0];
    let dark = trial["dark"].as_array().unwrap().iter();
    let dark_s = dark.map(|dark| dark["until_s"].as_f64().unwrap() - dark["from_s"].as_f64().unwrap());
    let longest_s = dark_s.fold(0.0, f64::max);
    assert!(
        longest_s > 1.0,
        "all keys were dark for {longest_s} s, of two in which nobody had a majority\n{}",
        ran.said()
    );
    assert!(trial["failed"]["unknown"].as_u64() > Some(0), "{}\n{}", trial["failed"], ran.said());
    for accused in
        ["failed_in_fault", "lost_updates", "stale_value", "unexpected_miss", "wrong_value", "wrong_reply", "deadline"]
    {
        assert_eq!(ran.why(accused), None, "{}", ran.said());
    }
    let history = &trial["history"];
    assert_eq!((&history["contradicted_keys"], &history["stale_reads"]), (&0.into(), &0.into()), "{history}");
    assert!(history["unknown"].as_u64() > Some(0) && history["operations"].as_u64() > Some(400), "{history}");
    assert_eq!(trial["writes"]["lost"], 0, "{}", trial["writes"]);
    assert_eq!(trial["read_back"]["records"], 200, "{}", trial["read_back"]);
    let last = trial["series"].as_array().unwrap().last().unwrap();
    assert!(last["at_s"].as_f64().unwrap() > 7.0, "it went on when they heard of each other again: {last}");
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
}
