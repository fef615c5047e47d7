//! `--history`: what clients saw is recorded and checked, on real servers and clusters, honest ones and such that answer with what was there
//! before; and `kvtrial crash` on clusters, which records it without being asked.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran};
use serde_json::Value;
use testkit::lying::{Lie, LyingServer, Protocol, Rule, Target, When};

const MIX: &str = "--set workload=a --set records=200 --set operations=20000 --clients 8 --out out";

fn ran(store: &str, more: &str) -> (Desk, Ran) {
    let desk = Desk::new();
    let mut command = desk.command(&format!("run {}", common::once("ycsb", store, &[MIX, more])));
    let ran = desk.finished(command.output().unwrap());
    (desk, ran)
}

fn history(ran: &Ran) -> &Value {
    &ran.study.as_ref().unwrap_or_else(|| panic!("{}", ran.said()))["cells"][0]["trials"][0]["history"]
}

#[test]
fn an_honest_server_is_linearizable_and_its_history_is_written_for_others_to_check() {
    let (desk, ran) = ran("redis-unix", "--history=seen.jsonl");
    let found = history(&ran);
    // Loaded, run, read back and read again.
    assert!(found["operations"].as_u64().unwrap() >= 20_000 + 3 * 200, "{found}");
    assert_eq!((&found["contradicted_keys"], &found["keys"]), (&0.into(), &200.into()), "{found}");
    assert!(ran.stdout.contains("linearizable, in "), "{}", ran.stdout);
    let lines = std::fs::read(desk.path().join("seen.jsonl")).unwrap();
    let mut again = history::read_lines(&mut &lines[..]).unwrap();
    assert_eq!(again.len() as u64, found["operations"].as_u64().unwrap());
    assert_eq!(history::check(&mut again).unwrap().contradicted_keys, 0);
}

#[test]
fn a_server_that_answers_with_what_was_there_before_is_shown_by_the_fewest_operations() {
    let rule = Rule::new(Lie::StaleValue, Target::Gets, When::Every(500));
    let server = LyingServer::start(Protocol::Resp, vec![rule]).unwrap();
    let (_desk, ran) = ran(&format!("redis://127.0.0.1:{}", server.port()), "--history");
    let found = history(&ran);
    assert!(found["contradicted_keys"].as_u64().unwrap() > 0, "{found}");
    let stale = found["stale_reads"].as_u64().unwrap();
    assert!((1..=server.told().len() as u64).contains(&stale), "{found}");
    assert!(found["oldest_stale_s"].as_f64().unwrap() > 0.0, "{found}");
    let smallest = found["smallest"].as_array().unwrap();
    assert_eq!(smallest.len(), 3, "two writes and the read that missed the second: {found}");
    assert_eq!(found["flaw"], "out_of_order");
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Not linearizable") && text.contains("which should have seen it"), "{text}");
}

#[test]
fn what_keeps_nothing_is_not_checked_and_why_is_said() {
    let (_desk, ran) = ran("null", "--history");
    assert_eq!(history(&ran)["problem"], "the store keeps nothing", "{}", ran.said());
}

#[test]
fn a_frozen_server_is_recorded_without_being_asked_and_stays_linearizable() {
    let desk = Desk::new();
    let more = "--set workload=a --set records=200 --set seconds=2 --rate 1000 --clients 8 --timeout 300ms --out out";
    let mut command = desk.command(&format!("run {}", common::once("ycsb", "redis-unix", &[more])));
    command.args(["--fault", "at 1s freeze 1 for 500ms"]);
    let ran = desk.finished(command.output().unwrap());
    let found = history(&ran);
    assert!(found["unknown"].as_u64().unwrap() > 0, "{found}");
    assert_eq!(found["contradicted_keys"], 0, "{found}");
}

/// `ycsb` on a store whose nodes fail, with these faults.
fn faulted(store: &str, more: &str, faults: &[&str]) -> Ran {
    let desk = Desk::new();
    let load = format!("--set workload=a --set records=200 --clients 6 --out out {more}");
    let mut command = desk.command(&format!("run {}", common::once("ycsb", store, &[&load])));
    faults.iter().for_each(|fault| _ = command.args(["--fault", fault]));
    desk.finished(command.output().unwrap())
}

/// Each of the three once: the leader is among them.
#[test]
fn etcd_stays_linearizable_while_one_member_after_the_other_is_frozen() {
    let more = "--set seconds=6 --rate 200 --timeout 500ms --deadline 30s";
    let ran = faulted(
        "etcd,durability=os,nodes=3",
        more,
        &["at 500ms freeze 1 for 1500ms", "at 2500ms freeze 2 for 1500ms", "at 4500ms freeze 3 for 500ms"],
    );
    let found = history(&ran);
    assert_eq!((&found["contradicted_keys"], &found["stale_reads"]), (&0.into(), &0.into()), "{found}\n{}", ran.said());
    assert!(found["operations"].as_u64().unwrap() > 600, "{found}");
    assert!(ran.stdout.contains("linearizable, in "), "{}", ran.stdout);
}

#[test]
fn a_master_that_comes_back_empty_is_shown_by_the_reads_that_found_nothing_of_what_was_acknowledged() {
    let more = "--set seconds=5 --rate 500 --timeout 500ms";
    let ran = faulted("redis-cluster,durability=none", more, &["at 1s kill 1", "at 2s restart 1"]);
    let found = history(&ran);
    let (lost, stale) = (&ran.only()["trials"][0]["writes"]["lost"], found["stale_reads"].as_u64().unwrap());
    assert!(lost.as_u64().unwrap() > 0 && stale > 0, "{lost} {found}\n{}", ran.said());
    assert_eq!(found["flaw"], "out_of_order", "{found}");
    let smallest = found["smallest"].as_array().unwrap();
    let (first, last) = (&smallest[0], smallest.last().unwrap());
    assert_eq!(
        (&first["act"], &last["act"], &last["version"]),
        (&"write".into(), &"miss".into(), &0.into()),
        "{found}"
    );
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("stale reads, at most ") && text.contains("found nothing"), "{text}");
}

#[test]
fn counters_are_recorded_where_each_increment_says_which_it_is() {
    let counted = |store: &str, more: &str| {
        let desk = Desk::new();
        let load = format!("--data gen:200:1 --clients 4 --history {more}");
        desk.run(&common::once("counts", store, &[&load]))
    };
    let ran = counted("redis-unix", "");
    let found = history(&ran);
    assert!(found["operations"].as_u64().unwrap() > 1000 && found["contradicted_keys"] == 0, "{found}\n{}", ran.said());
    let ran = counted("redis-unix", "--set increment=rewrite");
    assert!(history(&ran)["problem"].as_str().unwrap().contains("increment=native"), "{}", history(&ran));
    let rule = Rule::new(Lie::RepeatedNumber, Target::Increments, When::Every(200));
    let server = LyingServer::start(Protocol::Resp, vec![rule]).unwrap();
    let ran = counted(&format!("redis://127.0.0.1:{}", server.port()), "");
    let found = history(&ran);
    let contradicted = found["contradicted_keys"].as_u64().unwrap();
    assert!((1..=server.told().len() as u64).contains(&contradicted), "{found}\n{}", ran.said());
    // Two increments that say the same number; where the second of them was the key's last, the read of a number that none has said.
    let increments = found["smallest"].as_array().unwrap().iter().filter(|it| it["act"] == "increase").count();
    assert!(increments > 0 || found["flaw"] == "never_written", "{found}");
}

/// The histories of the cuts of the only case.
fn of_cuts(ran: &Ran) -> Vec<Value> {
    let study = ran.study.as_ref().unwrap_or_else(|| panic!("{}", ran.said()));
    let cuts = study["crash"]["cuts"].as_u64();
    let cuts_made = study["crash"]["cases"][0]["cuts"].as_array().unwrap();
    assert_eq!(cuts, Some(cuts_made.len() as u64), "{}", ran.said());
    cuts_made.iter().map(|cut| cut["history"].clone()).collect()
}

#[test]
fn crashes_of_a_cluster_say_whether_one_copy_could_have_answered_what_clients_saw() {
    let desk = Desk::new();
    let ran = desk.kvtrial(
        "crash etcd,nodes=3,durability=commit --nodes 1 --outage 1500ms --cuts 1 --clients 3 --within 300ms --out out",
    );
    let [found] = of_cuts(&ran).try_into().unwrap();
    assert_eq!(found["contradicted_keys"], 0, "{found}\n{}", ran.said());
    // Written, read meanwhile, and read when all was over.
    assert!(found["reads"].as_u64().unwrap() > found["keys"].as_u64().unwrap(), "{found}");
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("in 1 of 1 kill one copy of the data could have answered what clients saw"), "{text}");
}

#[test]
fn what_a_cluster_lost_in_a_crash_is_shown_as_what_a_client_saw_last_and_of_one_server_there_is_no_history() {
    let desk = Desk::new();
    let ran = desk.kvtrial("crash redis-cluster,durability=none --cuts 1 --clients 3 --within 200ms --out out");
    let [found] = of_cuts(&ran).try_into().unwrap();
    assert!(found["contradicted_keys"].as_u64().unwrap() > 0, "{found}\n{}", ran.said());
    assert_eq!(found["smallest"].as_array().unwrap().last().unwrap()["act"], "miss", "{found}");
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = ["redis-cluster,durability=none, cut 1: ", "reader found nothing", "before the crash"];
    assert!(said.iter().all(|words| text.contains(words)), "{text}");
    let desk = Desk::new();
    let ran = desk.kvtrial("crash redis-unix,durability=none --cuts 1 --clients 2 --within 50ms --out out");
    assert_eq!(of_cuts(&ran), [Value::Null], "{}", ran.said());
}
