//! `--fault`: nodes of private servers, real ones, are frozen, killed and started again in mid run.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran};
use serde_json::Value;

/// `ycsb` on one store for some seconds, with these faults.
fn faulted(store: &str, seconds: &str, more: &[&str], faults: &[&str]) -> Ran {
    let desk = Desk::new();
    let set = format!("--set records=1000 --set seconds={seconds} --out out {}", more.join(" "));
    let mut command = desk.command(&format!("run {}", common::once("ycsb", store, &[&set])));
    for fault in faults {
        command.args(["--fault", fault]);
    }
    desk.finished(command.output().unwrap())
}

fn trial(ran: &Ran) -> &Value {
    &ran.study.as_ref().unwrap()["cells"][0]["trials"][0]
}

fn kinds(trial: &Value) -> Vec<&str> {
    trial["verdict"]["reasons"].as_array().unwrap().iter().map(|reason| reason["kind"].as_str().unwrap()).collect()
}

/// Operations failed, as was asked for, and that is no reason to disbelieve the rest: void it is only for acknowledged writes that are lost.
fn paid_for_the_fault(trial: &Value) {
    let failed: u64 =
        ["refused", "not_connected", "unknown"].iter().filter_map(|fate| trial["failed"][fate].as_u64()).sum();
    assert!(failed > 0, "nothing failed: {}", trial["faults"]);
    let lost = trial["writes"]["lost"].as_u64().unwrap_or_else(|| panic!("{} {}", trial["verdict"], trial["faults"]));
    assert_eq!(trial["verdict"]["status"] == "void", lost > 0, "{} {}", trial["verdict"], trial["faults"]);
}

#[test]
fn a_server_frozen_for_a_second_shows_a_gap_of_a_second_and_voids_nothing() {
    // Longer than that no operation waits, so none fails.
    let ran = faulted("redis-unix", "4", &["--rate", "500", "--timeout", "5s"], &["at 1s freeze 1 for 1s"]);
    let trial = trial(&ran);
    let fault = &trial["faults"][0];
    let gap_s = fault["longest_gap_s"].as_f64().unwrap();
    // An interval of the series with one reply in it is no part of the gap, at either end.
    assert!((0.75..2.5).contains(&gap_s), "{fault}");
    assert!(fault["until_s"].as_f64().unwrap() - fault["at_s"].as_f64().unwrap() > 0.9, "{fault}");
    assert!(trial["latency_ns"]["response"]["max"].as_f64().unwrap() > 0.9e9, "{}", trial["latency_ns"]["response"]);
    assert_ne!(trial["verdict"]["status"], "void", "{}", trial["verdict"]);
    let said = format!("the server was frozen from {:.1} s to ", fault["at_s"].as_f64().unwrap());
    assert!(ran.stdout.contains(&said), "{said}: {}", ran.stdout);
}

#[test]
fn the_time_without_answers_is_the_time_a_server_was_frozen_within_10_ms() {
    let more = ["--rate", "1000", "--clients", "64", "--timeout", "5s"];
    let mut seen = Vec::new();
    // A machine that does something else for a moment spoils one attempt, not all.
    for _ in 0..6 {
        let ran = faulted("redis-unix", "2", &more, &["at 1s freeze 1 for 500ms"]);
        let fault = &trial(&ran)["faults"][0];
        let at = |name: &str| fault[name].as_f64().unwrap();
        let (frozen_s, dark_s) = (at("until_s") - at("at_s"), at("longest_dark_s"));
        if (dark_s - frozen_s).abs() <= 0.01 && (dark_s - 0.5).abs() <= 0.01 {
            return;
        }
        seen.push((frozen_s, dark_s));
    }
    panic!("frozen and dark, in s: {seen:?}");
}

#[test]
fn a_server_killed_and_started_again_goes_on_and_failed_operations_are_its_cost_and_void_nothing() {
    let ran = faulted("redis-unix,durability=os", "4", &["--rate", "500"], &["at 1s kill 1", "at 2s restart 1"]);
    let trial = trial(&ran);
    let (killed, again) = (&trial["faults"][0], &trial["faults"][1]);
    assert!(killed["failed_operations"].as_u64().unwrap() > 0, "{killed}");
    assert!(again["until_s"].as_f64().unwrap() > 1.2 && again.get("problem").is_none(), "{again}");
    paid_for_the_fault(trial);
    assert_ne!(trial["verdict"]["status"], "void", "{}", trial["verdict"]);
    assert_eq!(ran.status, 0, "{}", ran.said());
    // It answered to the end.
    assert!(trial["series"].as_array().unwrap().last().unwrap()["at_s"].as_f64().unwrap() > 3.5);
}

#[test]
fn a_server_that_comes_back_empty_has_lost_acknowledged_writes_and_that_is_said_first() {
    // Of 200 keys most are read before they are written again, which would hide that they were gone.
    let more = ["--set records=200 --set read=0.5 --set update=0.5 --rate 500 --clients 4"];
    let ran = faulted("redis-unix,durability=none", "6", &more, &["at 2s kill 1", "at 3s restart 1"]);
    let trial = trial(&ran);
    assert!(kinds(trial).contains(&"lost_updates"), "{}", trial["verdict"]);
    let lost = trial["writes"]["lost"].as_u64().unwrap();
    assert!(lost > 10, "{}", trial["writes"]);
    assert!(trial["writes"]["failed_absent"].as_u64().unwrap() > 0, "{}", trial["writes"]);
    let (said, fault) = (format!("{lost} acknowledged writes were lost (up to "), "the server was killed at");
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.find(&said).unwrap() < text.find(fault).unwrap(), "{text}");
    let oldest_s = trial["oldest_lost_s"].as_f64().unwrap();
    let at_s = trial["faults"][0]["at_s"].as_f64().unwrap();
    assert!(oldest_s > 0.1 && oldest_s < at_s + 1.0, "loaded or written before the fault: {oldest_s} at {at_s}");
}

#[test]
fn a_store_that_lost_an_acknowledged_write_in_a_fault_is_void_and_its_neighbour_is_not() {
    let desk = Desk::new();
    let stores = "-s redis-unix,durability=none -s redis-unix,durability=os --no-baselines --repeats 1 --warmups 0";
    let work = "--set records=100 --set read=0.5 --set update=0.5 --set seconds=5 --rate 500 --clients 4 --out out";
    let mut command = desk.command(&format!("run ycsb {stores} {work}"));
    let ran = desk.finished(command.args(["--fault", "at 1s kill 1", "--fault", "at 2s restart 1"]).output().unwrap());
    let cells = ran.study.as_ref().unwrap()["cells"].as_array().unwrap();
    let of = |durability: &str| {
        &cells.iter().find(|cell| cell["store"].as_str().unwrap().ends_with(durability)).unwrap()["trials"][0]
    };
    paid_for_the_fault(of("none"));
    paid_for_the_fault(of("os"));
    assert!(kinds(of("none")).contains(&"lost_updates"), "{}", of("none")["verdict"]);
    assert_ne!(of("os")["verdict"]["status"], "void", "{}", of("os")["verdict"]);
    assert_eq!(ran.status, 1, "one of the two is void");
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("as operations failed: redis-unix,durability=") && !text.contains("DISAGREE"), "{text}");
}

#[test]
fn a_server_that_is_killed_for_good_is_void_whether_its_load_is_open_or_not() {
    for rate in [&["--rate", "300"][..], &[]] {
        let more = [rate, &["--timeout", "300ms", "--deadline", "2s"]].concat();
        let ran = faulted("redis-unix", "30", &more, &["at 1s kill 1"]);
        assert_eq!((ran.verdict(), ran.status), ("void", 1), "{}", ran.said());
        let trial = trial(&ran);
        assert!(kinds(trial).iter().any(|kind| ["deadline", "not_sent"].contains(kind)), "{}", trial["verdict"]);
    }
}

#[test]
fn a_study_with_a_fault_has_three_trials_no_baselines_a_headline_and_figures_with_intervals_that_can_fail_a_build() {
    let desk = Desk::new();
    let work = "--set records=100 --set seconds=3 --rate 500 --clients 4 --timeout 5s --out out";
    let run = |repeats: &str| {
        let mut command = desk.command(&format!("run ycsb -s redis-unix {work} {repeats}"));
        desk.finished(command.args(["--fault", "at 1s freeze 1 for 400ms"]).output().unwrap())
    };
    let ran = run("");
    let cell = ran.only();
    assert_eq!(cell["trials"].as_array().unwrap().len(), 3, "three trials, and no baseline beside them");
    let fault = &cell["faults"][0];
    let dark = |end: &str| fault["longest_dark_s"][end].as_f64().unwrap();
    assert!(dark("low") > 0.35 && dark("value") < 0.9 && fault["longest_dark_s"]["n"] == 3, "{fault}");
    let (before, after) = (&fault["before_per_s"]["value"], &fault["after_per_s"]["value"]);
    assert!((450.0..550.0).contains(&before.as_f64().unwrap()) && after.as_f64().unwrap() > 300.0, "{fault}");
    assert!(fault["p99_after_ns"]["value"].as_f64() > fault["p99_before_ns"]["value"].as_f64(), "{fault}");
    assert_eq!((&cell["lost_writes"]["value"], &fault["trials"]), (&0.0.into(), &3.into()), "{cell}");
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let headline =
        text.find("While the server was frozen, redis-unix answered again after ").unwrap_or_else(|| panic!("{text}"));
    assert!(headline < text.find("STORE ").unwrap() && text.contains("; no acknowledged write was lost."), "{text}");
    assert!(text.contains("redis-unix, the server (at 1s freeze 1 for 400ms, 3 trials): no answers for "), "{text}");
    let page = std::fs::read_to_string(desk.path().join("out/report.html")).unwrap();
    assert!(page.find("id=\"faults\"").unwrap() < page.find("id=\"ranking\"").unwrap(), "the faults come first");
    let table = std::fs::read_to_string(desk.path().join("out/cells.csv")).unwrap();
    assert!(table.lines().next().unwrap().contains(",lost_writes,lost_writes_low,lost_writes_high"), "{table}");
    std::fs::remove_dir_all(desk.path().join("out")).unwrap();
    run("--repeats 6");
    for (gate, status) in [("dark > 100ms", 3), ("dark > 10s", 0)] {
        let judged = desk.finished(desk.command("compare out").args(["--fail-if", gate]).output().unwrap());
        assert_eq!(judged.status, status, "{gate}: {}", judged.said());
    }
}

#[test]
#[ignore = "a minute: two stores restarted node by node"]
fn an_upgrade_restarts_each_node_of_each_store_in_turn_and_is_one_table() {
    let desk = Desk::new();
    let stores = "-s etcd,durability=os,nodes=3 -s redis-unix,durability=os --repeats 1";
    let work = "--set records=100 --set seconds=15 --rate 200 --clients 6 --fault rolling";
    let ran = desk.run(&format!("ycsb {stores} {work}"));
    let cells = ran.study.as_ref().unwrap()["cells"].as_array().unwrap();
    let planned = |at: usize| -> Vec<&str> {
        let faults = cells[at]["trials"][0]["faults"].as_array().unwrap();
        assert!(faults.iter().all(|fault| fault.get("problem").is_none() && fault["at_s"].is_number()), "{faults:?}");
        faults.iter().map(|fault| fault["planned"].as_str().unwrap()).collect()
    };
    assert_eq!(
        planned(0),
        [
            "at 1.5s stop 1",
            "at 2.833s restart 1",
            "at 5.5s stop 2",
            "at 6.833s restart 2",
            "at 9.5s stop 3",
            "at 10.833s restart 3"
        ]
    );
    assert_eq!(planned(1), ["at 1.5s stop 1", "at 5.5s restart 1"], "one node is restarted as well");
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("While each node was stopped and started again in turn, etcd,"), "{text}");
    assert!(cells.iter().all(|cell| cell["lost_writes"]["value"] == 0.0), "{text}");
}

#[test]
fn a_study_with_faults_goes_on_with_the_same_faults_and_no_others() {
    let desk = Desk::new();
    let run = |repeats: u32, fault: &str| {
        let work = "-s redis-unix --set records=100 --set seconds=2 --rate 200 --clients 4 --warmups 0 --out out";
        let resume = if repeats > 1 { "--resume" } else { "" };
        let mut command = desk.command(&format!("run ycsb {work} --repeats {repeats} {resume}"));
        desk.finished(command.args(["--fault", fault]).output().unwrap())
    };
    run(1, "at 1s freeze 1 for 100ms");
    let other = run(2, "at 1s kill 1");
    assert_eq!(other.status, 2, "{}", other.said());
    let told = "--fault was 'at 1s freeze 1 for 100ms' there and is 'at 1s kill 1' here";
    assert!(other.stderr.split_whitespace().collect::<Vec<_>>().join(" ").contains(told), "{}", other.stderr);
    let ran = run(2, "at 1s freeze 1 for 100ms");
    let trials = ran.only()["trials"].as_array().unwrap();
    assert!(trials.len() == 2 && trials.iter().all(|trial| trial["faults"][0]["at_s"].is_number()), "{trials:?}");
}

#[test]
fn appends_that_failed_are_told_from_those_that_were_acknowledged_and_only_these_can_be_lost() {
    let desk = Desk::new();
    let words = format!(
        "run {}",
        common::once("append", "nats,nodes=3", &["--data gen:8000:42 --clients 8 --deadline 60s --out out"])
    );
    let mut command = desk.command(&words);
    command.args(["--fault", "at 1s kill 1", "--fault", "at 4s restart 1"]);
    let ran = desk.finished(command.output().unwrap());
    let trial = trial(&ran);
    let writes = &trial["writes"];
    let missing = |kind: &&str| ["lost_updates", "unexpected_miss"].contains(kind);
    let lost = writes["lost"].as_u64().unwrap_or_else(|| panic!("{} {}", trial["verdict"], trial["faults"]));
    assert_eq!(lost > 0, kinds(trial).iter().any(missing), "{writes} {}", trial["verdict"]);
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("acknowledged write"), "{text}");
}

#[test]
#[ignore = "a quarter of a minute of waiting"]
fn three_nats_servers_go_on_while_one_is_frozen_and_another_killed_and_lose_nothing_acknowledged() {
    let faults = ["at 1s freeze 2 for 1s", "at 3s kill 1", "at 13s restart 1"];
    // A new leader may take two elections of up to nine seconds, where processors are busy.
    let ran = faulted("nats,nodes=3", "16", &["--rate", "300", "--clients", "6", "--deadline", "60s"], &faults);
    let trial = trial(&ran);
    let (frozen, again) = (&trial["faults"][0], &trial["faults"][2]);
    assert!(frozen["until_s"].as_f64().unwrap() - frozen["at_s"].as_f64().unwrap() > 0.9, "{frozen}");
    assert!(again["until_s"].as_f64().unwrap() > 12.0 && again.get("problem").is_none(), "{again}");
    // Two of the clients were at the server that was frozen.
    assert!(trial["latency_ns"]["response"]["max"].as_f64().unwrap() > 0.9e9, "{}", trial["latency_ns"]["response"]);
    assert!(!kinds(trial).iter().any(|kind| ["server_died", "connection_lost", "wrong_value"].contains(kind)));
    let last = trial["series"].as_array().unwrap().last().unwrap();
    assert!(last["at_s"].as_f64().unwrap() > 15.0, "{last} {} {}", trial["faults"], trial["verdict"]);
}

#[test]
#[ignore = "a quarter of a minute of waiting"]
fn a_replica_takes_over_from_a_master_killed_soon_after_the_start_and_a_node_is_added_after_that() {
    let faults = ["at 1s kill 1", "at 5s add"];
    let ran = faulted("redis-cluster,replicas=1,node-timeout=500", "14", &["--rate", "500", "--clients", "4"], &faults);
    let trial = trial(&ran);
    let (killed, added) = (&trial["faults"][0], &trial["faults"][1]);
    assert!(killed["longest_gap_s"].as_f64().unwrap() < 8.0, "{killed}");
    assert!(added.get("problem").is_none() && added["until_s"].as_f64().unwrap() > 4.0, "{added}");
    paid_for_the_fault(trial);
}

#[test]
#[ignore = "a quarter of a minute of waiting"]
fn a_frozen_master_is_left_when_its_replica_takes_over_and_everything_is_read_back() {
    let more = ["--rate", "300", "--clients", "6"];
    let ran = faulted("redis-cluster,replicas=1,node-timeout=500", "14", &more, &["at 1s freeze 1 for 12s"]);
    let trial = trial(&ran);
    let frozen = &trial["faults"][0];
    assert!(frozen["failed_operations"].as_u64().unwrap() > 0, "{frozen}");
    paid_for_the_fault(trial);
    assert!(!kinds(trial).iter().any(|kind| ["deadline", "connection_lost", "not_sent", "wrong_value"].contains(kind)));
    // It was frozen for 12 s; its keys had answers long before.
    let (dark_s, share) = (frozen["longest_dark_s"].as_f64().unwrap(), frozen["dark_share"].as_f64().unwrap());
    assert!((0.3..9.0).contains(&dark_s) && share > 0.3, "{frozen}");
    assert!(trial["dark"].as_array().unwrap().iter().any(|dark| dark["share"].as_f64().unwrap() < 0.4), "{trial}");
    assert_eq!(trial["read_back"]["records"], 1000, "{}", trial["read_back"]);
}

#[test]
#[ignore = "a quarter of a minute of waiting"]
fn while_one_master_is_frozen_and_another_dead_the_trial_goes_on_long_before_the_deadline() {
    let more = ["--rate", "300", "--clients", "12", "--deadline", "30s"];
    let store = "redis-cluster,nodes=5,replicas=1,node-timeout=500";
    let ran = faulted(store, "14", &more, &["at 1s freeze 1 for 12s", "at 1s kill 2"]);
    let trial = trial(&ran);
    assert!(trial["faults"][1]["longest_dark_s"].as_f64().unwrap() < 11.0, "{}", trial["faults"]);
    let answered = |from_s: f64| {
        let series = trial["series"].as_array().unwrap().iter();
        let later = series.filter(|point| point["at_s"].as_f64().unwrap() > from_s);
        later.map(|point| point["operations"].as_i64().unwrap() - point["errors"].as_i64().unwrap_or(0)).sum::<i64>()
    };
    assert!(answered(1.0) > 3000, "of 3900 due after the faults {} were answered", answered(1.0));
    assert_eq!(trial["read_back"]["records"], 1000, "{}", trial["read_back"]);
}

#[test]
#[ignore = "a quarter of a minute of waiting"]
fn a_server_that_is_frozen_takes_its_timeout_per_operation_and_the_trial_goes_on_with_any_driver() {
    // A codec of kvtrial's own, a driver of tokio's, and kvtrial's own spreading over both.
    for store in ["redis-unix", "etcd,nodes=3", "redis-unix,nodes=2"] {
        let more = ["--rate", "200", "--clients", "4", "--timeout", "300ms"];
        let ran = faulted(store, "6", &more, &["at 1s freeze 1 for 2s"]);
        let trial = trial(&ran);
        let frozen = &trial["faults"][0];
        assert!(frozen["failed_operations"].as_u64().unwrap() > 0, "{store}: {frozen}");
        paid_for_the_fault(trial);
        assert!(
            !kinds(trial).iter().any(|kind| ["deadline", "connection_lost", "wrong_value"].contains(kind)),
            "{store}"
        );
        assert_eq!(trial["read_back"]["records"], 1000, "{store}: {}", trial["read_back"]);
        let last = trial["series"].as_array().unwrap().last().unwrap();
        assert!(last["at_s"].as_f64().unwrap() > 5.0, "{store}: {last}");
    }
}

#[test]
fn everything_is_read_back_after_a_phase_that_ended_because_nothing_was_answered_any_more() {
    let more = ["--rate", "300", "--timeout", "300ms", "--deadline", "2s"];
    let ran = faulted("redis-unix", "30", &more, &["at 1s freeze 1 for 5s"]);
    let trial = trial(&ran);
    let timed_s = trial["series"].as_array().unwrap().last().unwrap()["at_s"].as_f64().unwrap();
    assert!(timed_s < 20.0, "it went on for {timed_s} s, though nothing was answered for five");
    assert!(trial["failed"]["unknown"].as_u64().unwrap() > 0, "{}", trial["failed"]);
    assert!(trial["verdict"]["status"] == "void" && kinds(trial).contains(&"not_sent"), "{}", trial["verdict"]);
    assert!(!kinds(trial).iter().any(|kind| ["connection_lost", "wrong_value", "lost_updates"].contains(kind)));
    assert_eq!(trial["read_back"]["records"], 1000, "{}", trial["read_back"]);
}

#[test]
fn fans_has_its_known_digest_though_a_master_is_killed_before_anybody_is_connected_to_it() {
    let store = "redis-cluster,replicas=1,node-timeout=500";
    let words = format!("run {}", common::once("fans", store, &["--data debian-1k --clients 8 --out out"]));
    // The clients begin when the kill does: where one was there first, its operations failed, and that was another experiment.
    let ran = (0..6)
        .map(|_| {
            let desk = Desk::new();
            let ran = desk.finished(desk.command(&words).args(["--fault", "at 0s kill 1"]).output().unwrap());
            assert_ne!(ran.verdict(), "void", "{}", ran.said());
            ran
        })
        .find(|ran| ran.only()["trials"][0]["failed"].is_null())
        .expect("clients were connected before the kill each time");
    let alone = common::run_once("fans", "ram", &["--data debian-1k"]);
    assert_eq!(ran.only()["answer"]["digest"], alone.only()["answer"]["digest"], "{}", ran.said());
}

#[test]
fn a_node_that_is_added_to_a_cluster_gets_its_share_of_the_keys_while_it_serves_and_no_answer_is_wrong() {
    let ran = faulted("redis-cluster", "12", &["--rate", "500"], &["at 1s add"]);
    let trial = trial(&ran);
    let added = &trial["faults"][0];
    assert!(added.get("problem").is_none() && added["until_s"].as_f64().unwrap() > 0.5, "{added}");
    assert_eq!(added["node"], "node4");
    let nodes: Vec<&str> =
        trial["nodes"].as_array().unwrap().iter().map(|node| node["name"].as_str().unwrap()).collect();
    assert_eq!(nodes, ["node1", "node2", "node3", "node4"]);
    assert_ne!(trial["verdict"]["status"], "void", "{}", trial["verdict"]);
    assert!(trial["resent"].as_u64().unwrap() > 0, "nobody was redirected to it");
    let said = format!("node4 was added at {:.1} s and had its share of the", added["at_s"].as_f64().unwrap());
    assert!(ran.stdout.contains(&said), "{said}: {}", ran.stdout);
}

#[test]
#[ignore = "a quarter of a minute: members take another one when they have known each other for five seconds"]
fn a_member_that_is_added_to_etcd_has_its_share_and_the_others_go_on_with_it_when_one_is_killed() {
    let load = ["--rate", "300", "--clients", "3"];
    let faults = ["at 1s add", "at 9s kill 1"];
    let ran = faulted("etcd,durability=os,nodes=3", "13", &load, &faults);
    let trial = trial(&ran);
    let (added, killed) = (&trial["faults"][0], &trial["faults"][1]);
    assert_eq!((&added["node"], &killed["node"]), (&"node4".into(), &"node1".into()));
    assert!(added.get("problem").is_none() && added["until_s"].as_f64().unwrap() < 9.0, "{added}");
    assert_ne!(trial["verdict"]["status"], "void", "{} {}", trial["verdict"], trial["faults"]);
    assert_eq!(trial["writes"]["lost"], 0, "{}", trial["writes"]);
    assert!(trial["series"].as_array().unwrap().last().unwrap()["at_s"].as_f64().unwrap() > 12.0);
}

#[test]
#[ignore = "half a minute: a cluster is filled while a replica takes over and a node gets its share"]
fn a_cluster_is_filled_while_a_node_is_killed_and_another_joins_and_nothing_that_was_acknowledged_is_missing() {
    let desk = Desk::new();
    let store = "redis-cluster,replicas=2,wait=1,node-timeout=1000";
    let load = "--set items=20000 --set value=1000 --rate 1500 --clients 4 --out out";
    let mut command = desk.command(&format!("run {}", common::once("grow", store, &[load])));
    let ran = desk.finished(command.args(["--fault", "at 3s kill 1", "--fault", "at 8s add"]).output().unwrap());
    let trial = trial(&ran);
    let (killed, added) = (&trial["faults"][0], &trial["faults"][1]);
    assert!(killed.get("problem").is_none() && killed["taken_over"]["by"].is_string(), "{killed}");
    assert!(added["node"] == "node10" && added.get("problem").is_none() && added["until_s"].is_number(), "{added}");
    assert_eq!(trial["writes"]["lost"], 0, "{}", ran.said());
    assert_ne!(trial["verdict"]["status"], "void", "{}", ran.said());
    assert!(trial["read_back"]["records"].as_u64() > Some(19_000), "{}", trial["read_back"]);
}

#[test]
fn a_server_that_is_killed_while_it_is_asked_as_a_whole_is_blamed_for_that_alone() {
    let desk = Desk::new();
    let words = format!("run {}", common::once("sets", "redis-unix", &["--set ids=300000 --deadline 4s --out out"]));
    let ran = desk.finished(desk.command(&words).args(["--fault", "at 60ms kill 1"]).output().unwrap());
    assert!(ran.why("failed_in_fault").is_some(), "{}", ran.said());
    for accused in ["refused", "unknown", "connection_lost", "lost_updates", "server_died"] {
        assert_eq!(ran.why(accused), None, "{}", ran.said());
    }
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
}

#[test]
fn a_fault_that_was_asked_for_and_not_done_makes_the_cell_void_and_says_what_was_not_done() {
    let ran = faulted("redis-unix", "1", &[], &["at 30s kill 1"]);
    assert_eq!(ran.status, 1, "{}", ran.said());
    let said = "'at 30s kill 1': the trial was over before".to_owned();
    assert_eq!(ran.why("fault_not_done"), Some((1, said)), "{}", ran.said());
    assert!(ran.stdout.contains("A fault you asked for was not done"), "{}", ran.said());
}

#[test]
fn a_fault_that_cannot_be_is_refused_before_anything_is_started() {
    for (store, fault, words) in [
        ("redis-unix", "at 1s kill 2", "has no node 2 then; use 1"),
        ("ram", "at 1s kill 1", "has no server that kvtrial started"),
        ("redis-unix", "at 5 kill 1", "write 'at 5s kill 2'"),
        ("redis-unix", "at 1s add", "no node can join"),
        ("redis-cluster", "at 1s kill 4", "has no node 4 then; use 1 to 3"),
        ("redis-unix", "scale-out", "no node can join"),
        ("redis-unix", "flap", "freezing a node five times needs --set seconds=15 or more"),
        ("redis-unix", "at 1s restart 1", "that node runs then; have it killed or stopped before"),
        ("redis-unix", "explode", "or one of the common faults: kill, rolling"),
    ] {
        let ran = faulted(store, "1", &[], &[fault]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("--fault") && ran.stderr.contains(words), "{}", ran.stderr);
        assert!(ran.study.is_none());
    }
}
