//! `kvtrial publish`: a study is checked and added, made again and marked, and the site shows it.
#![allow(clippy::unwrap_used)]

use crate::common::{Desk, Ran};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const STORES: &str = "-s lmdb -s redb --no-baselines --repeats 3 --set records=500 --set operations=2000";

/// A desk with a study in `out` and an empty repository in `results`.
fn desk() -> Desk {
    let desk = Desk::new();
    fs::create_dir_all(desk.path().join("results/.git")).unwrap();
    let ran = desk.run(&format!("ycsb {STORES}"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    // On a busy machine the self-test may not pass.
    change(&desk, |study| {
        let proof = json!({ "name": "clock_cost", "passed": true, "measured": 1.0, "bound": { "high": 2.0 } });
        study["selftest"] = json!({ "passed": true, "scope": "quick", "proofs": [proof] });
    });
    desk
}

fn change(desk: &Desk, change: impl FnOnce(&mut Value)) {
    let path = desk.path().join("out/study.json");
    let mut study = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut study);
    fs::write(&path, serde_json::to_vec(&study).unwrap()).unwrap();
}

fn published(desk: &Desk) -> Vec<PathBuf> {
    let found = fs::read_dir(desk.path().join("results/studies")).into_iter().flatten();
    let mut found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn publish(desk: &Desk) -> Ran {
    desk.kvtrial("publish out --to results")
}

#[test]
fn a_study_is_added_once_and_a_second_one_appears_beside_it_on_the_site() {
    let desk = desk();
    let added = publish(&desk);
    assert_eq!(added.status, 0, "{}", added.said());
    assert!(added.stdout.contains("git add results/studies/"), "{}", added.stdout);
    let [study] = &published(&desk)[..] else { panic!("{:?}", published(&desk)) };
    let files: Vec<_> = fs::read_dir(study).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["study.json.xz"]);
    assert_eq!(fs::read_dir(desk.path().join("results/.git")).unwrap().count(), 0, "what git keeps is not touched");
    let again = publish(&desk);
    assert!(again.status == 0 && again.stdout.contains("there already"), "{}", again.said());
    let other = desk.kvtrial("run crud -s lmdb --no-baselines --repeats 3 --set rows=500 --out other");
    assert_eq!(other.status, 0, "{}", other.said());
    let copied = serde_json::from_slice::<Value>(&fs::read(desk.path().join("out/study.json")).unwrap()).unwrap();
    fs::rename(desk.path().join("out"), desk.path().join("first")).unwrap();
    fs::rename(desk.path().join("other"), desk.path().join("out")).unwrap();
    change(&desk, |study| study["selftest"] = copied["selftest"].clone());
    assert_eq!(publish(&desk).status, 0);
    assert_eq!(published(&desk).len(), 2);
    let site = desk.kvtrial("site results --out site");
    assert!(site.status == 0 && site.stdout.contains("of 2 studies"), "{}", site.said());
    let page = fs::read_to_string(desk.path().join("site/index.html")).unwrap();
    assert!(page.contains("crud") && page.contains("ycsb") && page.contains("as submitted"), "{page}");
    assert_eq!(desk.kvtrial("publish --check results").status, 0);
    let report = desk.kvtrial(&format!("report {} --format text", study.display()));
    assert!(report.status == 0 && report.stdout.contains("redb"), "{}", report.said());
}

#[test]
fn what_was_changed_by_hand_is_refused_and_nothing_is_added() {
    let desk = desk();
    change(&desk, |study| study["cells"][0]["makespan_s"]["value"] = json!(0.000_1));
    let refused = publish(&desk);
    assert_eq!(refused.status, 1, "{}", refused.said());
    assert!(refused.stdout.contains("makespan_s.value is 0.0001"), "{}", refused.stdout);
    change(&desk, |study| {
        let kept = study["cells"][1].clone();
        study["cells"][0] = kept;
        study["schema"] = json!(1);
    });
    let old = publish(&desk);
    assert!(old.status == 1 && old.stdout.contains("schema 1"), "{}", old.said());
    change(&desk, |study| study["schema"] = json!(99));
    let newer = publish(&desk);
    assert!(newer.status == 2 && newer.stderr.contains("newer kvtrial"), "{}", newer.said());
    assert!(published(&desk).is_empty());
}

#[test]
fn no_repository_no_study_and_no_task_are_said_with_the_remedy() {
    let desk = desk();
    for (words, said) in [
        ("publish out --to elsewhere", "git init"),
        ("publish out", "--to"),
        ("publish results --check", "no study"),
        ("publish out --to results --budget 5m", "--verify"),
    ] {
        let ran = desk.kvtrial(words);
        assert!(ran.status == 2 && ran.stderr.contains(said), "{words}: {}", ran.said());
    }
}

#[test]
fn a_study_is_made_again_by_its_own_command_and_its_answers_are_the_same() {
    let desk = desk();
    assert_eq!(publish(&desk).status, 0);
    let ran = desk.kvtrial("publish --verify --budget 5m results");
    // Figures of so short trials may differ on a busy machine; answers may not.
    assert!(ran.status <= 1 && ran.stdout.contains("the same: the answers of 2 cells"), "{}", ran.said());
    let file = fs::read(published(&desk)[0].join("verified.json")).unwrap();
    let verified: Value = serde_json::from_slice(&file).unwrap();
    let command: Vec<&str> = verified["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(command.join(" ").starts_with("kvtrial run ycsb --set records=500"), "{command:?}");
    let mark = verified["mark"].as_str().unwrap().replace('_', " ");
    let site = desk.kvtrial("site results --out site");
    assert_eq!(site.status, 0, "{}", site.said());
    let page = fs::read_to_string(desk.path().join("site/index.html")).unwrap();
    assert!(page.contains(mark.split(' ').next().unwrap()), "{mark}");
}

#[test]
fn the_workflow_is_written_once_and_its_commands_are_those_of_this_program() {
    let desk = desk();
    assert_eq!(publish(&desk).status, 0);
    assert_eq!(desk.kvtrial("publish --init results").status, 0);
    let path = desk.path().join("results/.github/workflows/studies.yml");
    let workflow = fs::read_to_string(&path).unwrap();
    let commands = workflow.lines().filter_map(|line| line.trim().strip_prefix("run: kvtrial "));
    let commands: Vec<String> =
        commands.map(|line| line.split('|').next().unwrap().replace("studies", "results/studies")).collect();
    assert_eq!(commands.len(), 3, "{workflow}");
    for command in commands {
        let ran = desk.kvtrial(command.trim());
        assert!(ran.status <= 1, "{command}: {}", ran.said());
    }
    fs::write(&path, "mine").unwrap();
    let refused = desk.kvtrial("publish --init results");
    assert!(refused.status == 2 && refused.stderr.contains("there already"), "{}", refused.said());
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}
