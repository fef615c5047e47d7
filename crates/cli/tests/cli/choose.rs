//! The choice of a store by what the user needs.
#![allow(clippy::unwrap_used)]

use crate::common::{Desk, Ran};
use serde_json::Value;

const WORK: &str = "ycsb --set records=50 --set operations=200";

fn decision(ran: &Ran) -> &Value {
    &ran.study.as_ref().unwrap_or_else(|| panic!("{}", ran.said()))["choice"]["decisions"][0]
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["store"].as_str().or(one.as_str()).unwrap()).collect()
}

/// Runs `choose` on stores of a known order.
fn choose(desk: &Desk, words: &str) -> Ran {
    desk.kvtrial(&format!("choose {WORK} {words} --out out"))
}

#[test]
fn the_fast_store_is_taken_the_slow_one_is_good_enough_and_the_one_that_misses_the_need_is_not() {
    let desk = Desk::new();
    let ran = choose(
        &desk,
        "-s lmdb,burn=160ms -s lmdb,burn=3ms -s lmdb --set records=5 --set operations=12 --need p99<80ms --need durability=os --cuts 2 --budget 1m",
    );
    assert_eq!(ran.status, 0, "{}", ran.said());
    let decision = decision(&ran);
    assert_eq!(names(&decision["take"]), ["lmdb"], "{}", ran.said());
    assert_eq!(names(&decision["also"]), ["lmdb,burn=3ms"], "{}", ran.said());
    assert_eq!(names(&decision["out"]), ["lmdb,burn=160ms"]);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Take lmdb. It meets both needs, is "), "{}", ran.said());
    assert!(said.contains("Set lmdb up as it was measured: "), "{}", ran.said());
    assert!(said.contains("Not: lmdb,burn=160ms (p99<80ms: "), "{}", ran.said());
    let again = desk.kvtrial("report out --format text");
    assert_eq!(again.stdout, ran.stdout.split("Study: ").next().unwrap());
}

#[test]
fn a_store_that_lies_is_never_taken_however_fast_it_is() {
    let rules = vec![testkit::lying::Rule::new(
        testkit::lying::Lie::WrongBytes,
        testkit::lying::Target::Gets,
        testkit::lying::When::Every(50),
    )];
    let liar = testkit::lying::LyingServer::start(testkit::lying::Protocol::Resp, rules).unwrap();
    let desk = Desk::new();
    let ran =
        choose(&desk, &format!("-s redis://127.0.0.1:{} -s lmdb,burn=3ms --need p99<1s --budget 1m", liar.port()));
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert_eq!(names(&decision(&ran)["take"]), ["lmdb,burn=3ms"], "{}", ran.said());
    assert_eq!(decision(&ran)["out"][0]["kind"], "void", "{}", ran.said());
}

#[test]
fn where_no_store_meets_the_needs_the_nearest_is_named_and_the_exit_status_is_1() {
    let desk = Desk::new();
    let ran = choose(
        &desk,
        "-s lmdb,burn=3ms -s lmdb,burn=90ms --set records=5 --set operations=12 --need p99<1ms --need durability=os --cuts 0 --budget 1m",
    );
    assert_eq!(ran.status, 1, "{}", ran.said());
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("No store is shown to meet both needs (p99<1ms and durability=os). Nearest is lmdb,burn=3ms"),
        "{}",
        ran.said()
    );
    assert!(names(&decision(&ran)["take"]).is_empty());
}

#[test]
fn without_needs_the_best_of_each_class_is_taken() {
    let desk = Desk::new();
    let ran = choose(&desk, "-s lmdb,burn=3ms -s lmdb -s redis-unix --set operations=50 --budget 20s");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let decisions = ran.study.as_ref().unwrap()["choice"]["decisions"].as_array().unwrap();
    let taken: Vec<(&str, Vec<&str>)> =
        decisions.iter().map(|one| (one["class"].as_str().unwrap(), names(&one["take"]))).collect();
    assert_eq!(taken, [("embedded", vec!["lmdb"]), ("network", vec!["redis-unix"])], "{}", ran.said());
    assert_eq!(names(&decisions[0]["also"]), ["lmdb,burn=3ms"]);
}

#[test]
fn the_budget_is_kept_and_what_it_did_not_suffice_for_is_said() {
    let desk = Desk::new();
    let begun = std::time::Instant::now();
    let ran = choose(&desk, "-s lmdb,burn=5ms -s redb,burn=5ms --need p99<1s --budget 4s --set operations=150");
    let used_s = ran.study.as_ref().unwrap()["choice"]["used_s"].as_f64().unwrap();
    assert!(used_s < 4.4, "{used_s}: {}", ran.said());
    assert!(begun.elapsed().as_secs_f64() > 1.0 && ran.stdout.contains(" of 4.00 s."), "{}", ran.said());
}

#[test]
fn what_cannot_be_chosen_by_is_refused_before_anything_is_started() {
    for (words, said) in [
        ("choose bulk --data gen:60:7 -s lmdb --need rate>=100", "a request of bulk carries many records"),
        ("choose ycsb -s lmdb --need loss=0", "add --fault and the clusters"),
        ("choose ycsb -s lmdb --fault kill --need loss=0", "name a private one"),
        ("choose ycsb --fault kill", "--store"),
        ("choose ycsb -s lmdb -s lmdb", "named twice"),
        ("choose ycsb -s lmdb --need fast", "'p99<5ms'"),
        ("choose nothing", "there is no job 'nothing'"),
    ] {
        let ran = Desk::new().kvtrial(words);
        assert!(ran.status == 2 && ran.study.is_none() && ran.stderr.contains(said), "{words}: {}", ran.said());
    }
}

#[test]
fn those_to_be_taken_are_killed_and_one_that_loses_what_it_acknowledged_is_out_though_it_is_fastest() {
    let desk = crate::plugins::with_ordered();
    // The plugin keeps all in memory, and says of itself that a kill loses nothing.
    let killed = |desk: &Desk, words: &str| {
        // What earlier kills have shown would be enough.
        let words = format!(
            "choose {WORK} -s plugin:./ordered.so -s lmdb,burn=3ms --set operations=50 {words} --budget 40s --out out"
        );
        desk.finished(desk.command(&words).env("XDG_CACHE_HOME", desk.path()).output().unwrap())
    };
    let ran = killed(&desk, "--need durability=os --cuts 3");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let study = ran.study.as_ref().unwrap();
    let decision = decision(&ran);
    assert_eq!(names(&decision["take"]), ["lmdb,burn=3ms"], "{}", ran.said());
    assert_eq!(names(&decision["out"]), ["plugin:./ordered.so"], "{}", ran.said());
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("kept every acknowledged write in 3 kills"), "{}", ran.said());
    assert_eq!(study["crash"]["cases"].as_array().unwrap().len(), 2, "{}", ran.said());
    assert_eq!(said.matches("Every level of every store").count(), 1, "{}", ran.said());
    // Without the need it is enough that kills are asked for.
    let desk = crate::plugins::with_ordered();
    let ran = killed(&desk, "--need p99<1s --cuts 2");
    let out = &self::decision(&ran)["out"][0];
    assert_eq!((&out["kind"], &out["because"]), (&"lost".into(), &"os".into()), "{}", ran.said());
}

#[test]
#[ignore = "half a minute"]
fn the_first_to_take_does_the_job_with_ten_times_the_data_and_other_settings_are_raced() {
    let desk = Desk::new();
    let ran = choose(&desk, "-s sqlite -s lmdb,burn=3ms --set operations=50 --need p99<1s --budget 1m");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let decision = decision(&ran);
    assert!(decision["settings_tried"].as_u64().unwrap() > 0, "{}", ran.said());
    assert_eq!(decision["more_data"]["times"], 10);
    assert_eq!((&decision["more_data"]["param"], &decision["more_data"]["value"]), (&"records".into(), &"500".into()));
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("With 10 times the data (records=500), in one trial: time "), "{}", ran.said());
    assert!(said.contains(" of the best, tried one at a time"), "{}", ran.said());
    // The trial with more data stands in no ranking.
    assert!(!said.contains("combinations"), "{}", ran.said());
    // A store whose input says how much there is has the reason instead.
    let ran = desk.kvtrial("choose fans --data gen:40:7 -s lmdb --budget 5s --out other");
    assert!(ran.said().contains("More data was not tried: its input says"), "{}", ran.said());
}

#[test]
fn a_choice_is_resumed_with_more_budget_and_runs_no_trial_again() {
    let desk = Desk::new();
    let words = "-s lmdb,burn=4ms -s redb,burn=4ms --need p99<1s --set records=10 --set operations=100";
    let ran = choose(&desk, &format!("{words} --budget 3s"));
    let trials = |ran: &Ran| {
        let cells = ran.study.as_ref().unwrap()["cells"].as_array().unwrap().clone();
        let all = cells.iter().flat_map(|cell| cell["trials"].as_array().unwrap().clone());
        all.map(|trial| (trial["order"].as_u64().unwrap(), trial["makespan_s"].as_f64().unwrap())).collect::<Vec<_>>()
    };
    let before = trials(&ran);
    let ran = choose(&desk, &format!("{words} --budget 20s --resume"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    let after = trials(&ran);
    assert!(before.iter().all(|trial| after.contains(trial)) && after.len() > before.len(), "{before:?} {after:?}");
    let used_s = ran.study.as_ref().unwrap()["choice"]["used_s"].as_f64().unwrap();
    let choice = &ran.study.as_ref().unwrap()["choice"];
    let more_data = &choice["decisions"][0]["more_data"];
    let with_more_data = usize::from(more_data["because"] == "");
    assert!(used_s > 2.0 && choice["trials"] == after.len() - with_more_data, "{}", ran.said());
    // Another command is refused, and nothing is lost.
    let other = desk.kvtrial("choose ycsb -s lmdb --need p99<1s --budget 1m --out out --resume");
    assert!(other.status == 2 && other.stderr.contains("belongs to that study"), "{}", other.said());
}

#[test]
#[ignore = "half a minute"]
fn clusters_are_chosen_by_what_they_lose_while_a_node_is_killed_and_those_that_leave_the_race_are_said() {
    let desk = Desk::new();
    // A single Redis that keeps nothing loses all when it is killed; etcd is a cluster and loses nothing.
    let stores = "-s redis -s etcd,nodes=3";
    let words = format!(
        "choose ycsb --set records=200 --set seconds=3 {stores} --fault at~1s~kill~1 --fault at~2s~restart~1 --need loss=0 --budget 2m --out out"
    );
    let mut command = desk.command("");
    command.args(words.split(' ').map(|word| word.replace('~', " ")));
    let ran = desk.finished(command.output().unwrap());
    let decision = decision(&ran);
    assert_eq!(names(&decision["take"]), ["etcd,nodes=3"], "{}", ran.said());
    assert_eq!(names(&decision["out"]), ["redis"], "{}", ran.said());
    assert!(ran.stderr.contains("redis gets no more trials: its trial was void"), "{}", ran.said());
}
