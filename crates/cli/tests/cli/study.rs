//! Whole studies on the embedded stores: known answers, answers of data nobody has seen, interruption and resumption.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran, embedded, named};
use std::collections::BTreeMap;
use testkit::waiting::until;

/// `answers/fan_debian_10k.json`: computed by unrelated scripts.
const DEBIAN_10K: &str = "sha256:9c6ea1cb1e4133de0dbec6cc98699f8b42c680c7442ee8c879c66786a47fce2a";
/// The same of the first thousand profiles.
const DEBIAN_1K: &str = "sha256:68feb5060a6d9f728165362a625509d52ab91a5abcf6de1f6c5fe58fe046bc91";

/// Where the second half of the embedded stores begins: each half has a test, so that none lasts for more than half a minute.
fn half() -> usize {
    embedded().len() / 2
}

fn has_the_known_answer(desk: &Desk, stores: &[&str], options: &str) -> Ran {
    let ran = desk.run(&format!("fans {} --repeats 1 --warmups 0 {options}", named(stores)));
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in stores {
        assert_eq!(ran.digest(store), DEBIAN_10K, "{store}");
        assert!(ran.is_ranked(store) && ran.stdout.contains(store), "{}", ran.said());
    }
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
    ran
}

#[test]
fn fans_has_the_known_answer_on_the_second_half_of_the_embedded_stores() {
    has_the_known_answer(&Desk::new(), &embedded()[half()..], "--no-baselines");
}

#[test]
fn fans_has_the_known_answer_on_the_first_half_of_the_embedded_stores() {
    let desk = Desk::new();
    let stores = &embedded()[..half()];
    let ran = has_the_known_answer(&desk, stores, "");
    let ram = ran.cell("ram");
    // The counts of JOBS: one get and one put a mention; bytes as compact JSON.
    let trial = &ram["trials"][0];
    assert_eq!(
        (trial["operations"].as_u64(), trial["hits"].as_u64(), trial["misses"].as_u64()),
        (Some(98_064), Some(35_838), Some(13_194))
    );
    assert_eq!(trial["bytes_read"].as_u64(), Some(423_812_014));
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    assert_eq!(std::fs::read_to_string(desk.path().join("out/cells.csv")).unwrap().lines().count(), stores.len() + 2);
}

#[test]
fn sixteen_clients_have_the_known_answer_on_every_embedded_store() {
    let words = format!("fans {} --data debian-1k --clients 16 --repeats 1 --warmups 0", named(&embedded()));
    let ran = Desk::new().run(&words);
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in embedded() {
        assert!(ran.is_ranked(store) && ran.digest(store) == DEBIAN_1K, "{store}: {}", ran.said());
    }
}

#[test]
fn sixteen_clients_come_to_the_same_answer_under_every_policy() {
    for (policy, store) in [("partition", "lmdb"), ("cas", "ram"), ("lock", "sqlite")] {
        let ran = Desk::new()
            .run(&format!("fans -s {store} --no-baselines --clients 16 --set policy={policy} --repeats 1 --warmups 0"));
        assert_eq!((ran.status, ran.digest(store)), (0, DEBIAN_10K), "{policy} on {store}: {}", ran.said());
    }
}

#[test]
fn libraries_and_caches_come_to_the_known_answer_with_sixteen_clients() {
    for (policy, store) in [
        ("partition", "leveldb"),
        ("cas", "rocksdb"),
        ("cas", "kyotocabinet,transactions=auto"),
        ("partition", "kyotocabinet"),
        ("cas", "tkrzw,durability=none"),
        ("cas", "berkeleydb"),
        ("partition", "berkeleydb,method=hash"),
        ("partition", "redis-unix,cache=256KiB"),
        ("cas", "redis-unix,cache=64MiB"),
        ("cas", "lmdb,cache=256KiB,flush=50ms"),
        ("lock", "sqlite,cache=8MiB"),
    ] {
        let words =
            format!("fans --data debian-1k -s {store} --no-baselines --clients 16 --set policy={policy} --repeats 1");
        let ran = Desk::new().run(&format!("{words} --warmups 0"));
        assert_eq!((ran.status, ran.digest(store)), (0, DEBIAN_1K), "{policy} on {store}: {}", ran.said());
    }
}

#[test]
fn a_write_behind_cache_is_shown_at_the_level_a_crash_would_leave() {
    let ran = Desk::new().run(
        "fans --data debian-1k -s redis-unix,durability=commit -s redis-unix,durability=commit,cache=64MiB --no-baselines --repeats 1",
    );
    assert_eq!(ran.status, 0, "{}", ran.said());
    let cached = ran.cell("redis-unix,durability=commit,cache=64MiB");
    assert_eq!(cached["durability"], "none");
    assert_eq!(cached["store_config"]["cache_durability_beneath"], "commit");
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let loses = "On redis-unix,durability=commit,cache=64MiB a crash would lose acknowledged writes";
    assert!(said.contains(loses), "{}", ran.said());
    assert!(
        cached["verdict"]["reasons"]
            .as_array()
            .is_none_or(|reasons| { reasons.iter().all(|reason| reason["kind"] != "setting_not_in_effect") })
    );
    assert_eq!(cached["answer"]["digest"], ran.cell("redis-unix,durability=commit")["answer"]["digest"]);
}

/// A data set made here, and its answer by the plainest possible method.
fn unseen() -> (String, String) {
    use sha2::{Digest, Sha256};
    let mut state = 2_463_534_242u32;
    let mut random = move |n: u32| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % n
    };
    let mut text = String::new();
    let mut pairs: BTreeMap<(String, String), u64> = BTreeMap::new();
    for profile in 0..500 {
        let mut pages: Vec<String> = Vec::new();
        for _ in 0..1 + random(12) {
            let rank = random(300) * random(300) / 300;
            pages.push(format!("http://example.org/ünï/{rank}"));
        }
        text += &format!("u{profile}\t{}\n", pages.join(" "));
        pages.sort();
        pages.dedup();
        for a in &pages {
            for b in pages.iter().filter(|b| *b != a) {
                *pairs.entry((a.clone(), b.clone())).or_default() += 1;
            }
        }
    }
    let mut lines: Vec<String> = pairs.iter().map(|((a, b), count)| format!("{a}\t{b}\t{count}\n")).collect();
    lines.sort();
    let digest: String = Sha256::digest(lines.concat()).iter().map(|byte| format!("{byte:02x}")).collect();
    (text, format!("sha256:{digest}"))
}

#[test]
fn data_that_was_never_in_the_project_gives_the_right_answer() {
    let desk = Desk::new();
    let (text, digest) = unseen();
    desk.file("mine.tsv", &text);
    let ran = desk.run("fans --data mine.tsv --repeats 2 --warmups 1 --clients 3");
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in ["ram", "sqlite", "lmdb", "redb", "fjall"] {
        assert_eq!(ran.digest(store), digest, "{store}");
        assert_eq!(ran.cell(store)["trials"].as_array().unwrap().len(), 3);
        assert_eq!(ran.cell(store)["makespan_s"]["n"], 2, "warm-ups must not count");
    }
}

#[test]
fn an_interrupted_study_says_so_and_resumes_where_it_stopped() {
    let desk = Desk::new();
    let words = "run fans --data debian-1k -s sqlite -s lmdb --repeats 6 --warmups 0 --no-baselines --out out";
    let child = desk.command(words).spawn().unwrap();
    let study = desk.path().join("out/trials.jsonl");
    // One trial on disk, then Ctrl-C.
    until("a trial is on disk", || std::fs::read_to_string(&study).is_ok_and(|text| text.lines().count() >= 2));
    // SAFETY: signalling our own child.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let ran = desk.finished(child.wait_with_output().unwrap());
    assert_eq!(ran.status, 130, "{}", ran.said());
    assert!(ran.stderr.contains("--resume"), "{}", ran.said());
    let page = std::fs::read_to_string(desk.path().join("out/report.html")).unwrap();
    assert!(page.contains("trials are missing") || page.contains("not run"), "what is finished has its page");
    assert!(ran.stdout.contains("out/report.html"), "{}", ran.said());
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
    let trials = |ran: &Ran| -> Vec<u64> {
        let cells = ran.cells().iter().flat_map(|cell| cell["trials"].as_array().unwrap().clone());
        let mut orders: Vec<u64> = cells.map(|trial| trial["order"].as_u64().unwrap()).collect();
        orders.sort_unstable();
        orders
    };
    let before = trials(&ran);
    assert!((1..12).contains(&before.len()), "{before:?}");
    for cell in ran.cells().iter().filter(|cell| cell["trials"].as_array().unwrap().is_empty()) {
        assert_eq!(cell["verdict"]["status"], "not_run");
        assert_eq!(cell["verdict"]["reasons"][0]["kind"], "interrupted");
    }
    let ran = desk.kvtrial(&format!("{words} --resume"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert_eq!(trials(&ran), (1..=12).collect::<Vec<_>>());
}

#[test]
fn piped_output_is_plain_and_progress_is_a_line_for_each_trial() {
    let ran = Desk::new().run("ycsb -s lmdb --repeats 2 --warmups 1 --set operations=2000 --set records=500");
    assert!(!ran.said().contains('\u{1b}'), "{}", ran.said());
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 9, "3 trials of null, ram and lmdb: {}", ran.said());
    for (at, line) in lines.iter().enumerate() {
        let begins = format!("kvtrial: trial {} of 9, 0:", at + 1);
        let verdict = [", valid", ", degraded ("].iter().any(|word| line.contains(word));
        assert!(line.starts_with(&begins) && line.contains(" op/s") && verdict, "{line}");
        assert_eq!(line.contains("warm-up"), at < 3, "{line}");
    }
}

#[test]
fn a_ycsb_property_file_runs_unmodified() {
    let desk = Desk::new();
    desk.file("workloadb", "# Yahoo! Cloud System Benchmark\nrecordcount=1000\noperationcount=5000\nworkload=site.ycsb.workloads.CoreWorkload\nreadallfields=true\nreadproportion=0.95\nupdateproportion=0.05\nscanproportion=0\ninsertproportion=0\nrequestdistribution=zipfian\n");
    let ran = desk.run("ycsb -s ram --plan workloadb --repeats 1 --warmups 0");
    assert_eq!(ran.status, 0, "{}", ran.said());
    let trial = &ran.cell("ram")["trials"][0];
    assert_eq!(trial["operations"], 5000);
    let reads = trial["latency_ns"]["by_operation"]["get"]["n"].as_u64().unwrap();
    assert!((4_650..4_850).contains(&reads), "{reads} of 5000 are reads");
}

#[test]
fn the_operations_and_the_time_of_a_property_file_are_both_ends() {
    let desk = Desk::new();
    // With a mark before it and a letter in Latin-1, as editors leave them.
    let file = |operations: u32| {
        let text = format!(
            "recordcount 100\noperationcount={operations}\nmaxexecutiontime=2\nwriteallfields=true\ninsertproportion=0.1\n"
        );
        desk.file("plan", [b"\xef\xbb\xbf".as_slice(), text.as_bytes(), b"# f\xc3\xbcr alle\n"].concat());
    };
    let trial = |name: &str| {
        let words = "run ycsb -s ram --plan plan --no-baselines --repeats 1 --clients 3 --rate 2000 --set value=100";
        let ran = desk.kvtrial(&format!("{words} --out {name}"));
        assert_eq!(ran.status, 0, "{}", ran.said());
        let study = std::fs::read(desk.path().join(name).join("study.json")).unwrap();
        let study: serde_json::Value = serde_json::from_slice(&study).unwrap();
        study["cells"][0]["trials"][0].clone()
    };
    file(300);
    let by_count = trial("count");
    assert_eq!(by_count["operations"], 300);
    assert!(by_count["makespan_s"].as_f64().unwrap() < 1.5, "300 of 2,000 per second: {}", by_count["makespan_s"]);
    file(1_000_000);
    let by_time = trial("time");
    let operations = by_time["operations"].as_u64().unwrap();
    assert!((2_000..=4_100).contains(&operations), "2 s at 2,000 per second: {operations}");
    desk.file("plan", b"# f\xfcr\nrecordcuont=5\nrecordcount=7\n");
    let ran = desk.kvtrial("run ycsb -s ram --plan plan");
    let said = "--plan plan: line 2: YCSB has no property 'recordcuont'. Did you mean recordcount?";
    assert!(ran.status == 2 && ran.stderr.contains(said), "{}", ran.said());
}

#[test]
fn a_study_of_which_nothing_was_kept_is_begun_by_resuming_it() {
    let desk = Desk::new();
    let words = "run ycsb -s ram --no-baselines --repeats 2 --set records=100 --set operations=1000 --out out --resume";
    let ran = desk.kvtrial(words);
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(ran.stderr.contains("--resume: there is nothing in out yet, so the study begins"), "{}", ran.stderr);
    // What is counted is what is run now.
    let ran = desk.kvtrial(&words.replace("--repeats 2", "--repeats 5"));
    assert_eq!(ran.status, 0, "{}", ran.said());
    for trial in ["trial 1 of 3", "trial 3 of 3"] {
        assert!(ran.stderr.contains(trial), "{trial}: {}", ran.stderr);
    }
    desk.file("other", "");
    std::fs::create_dir(desk.path().join("full")).unwrap();
    std::fs::rename(desk.path().join("other"), desk.path().join("full/other")).unwrap();
    assert_eq!(desk.kvtrial(&words.replace("--out out", "--out full")).status, 2);
}

#[test]
fn what_becomes_of_standard_output_costs_nobody_the_report() {
    let desk = Desk::new();
    let words = "run ycsb -s ram --no-baselines --repeats 1 --set records=100 --set operations=1000 --out out";
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ran = desk.finished(desk.command(words).stdout(full).output().unwrap());
    assert_eq!(ran.status, 2, "{}", ran.said());
    assert!(
        ran.stderr.contains("No space left on device") && ran.stderr.contains("report.html are in out"),
        "{}",
        ran.stderr
    );
    for file in ["study.json", "cells.csv", "report.html"] {
        assert!(desk.path().join("out").join(file).exists(), "{file}");
    }
}
