//! The job fans on every server kvtrial starts: the known answer, with one client and with sixteen; the jobs sets and events on each, too.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran, is_java};
use serde_json::Value;
use store::StoreInfo;
use study::{Class, Durability};

/// Answers of unrelated scripts: `crates/jobs/tests/answers`.
const DEBIAN_1K: &str = "sha256:68feb5060a6d9f728165362a625509d52ab91a5abcf6de1f6c5fe58fe046bc91";
const DEBIAN_10K: &str = "sha256:9c6ea1cb1e4133de0dbec6cc98699f8b42c680c7442ee8c879c66786a47fce2a";

/// Answers of `tests/oracle/sets.py` (200 100 random 42) and `tests/oracle/events.py` (500 42).
const SETS_200: &str = "sha256:9e86e71e565dbcc4b6e2e6bfc8bc567ccc7d2c09e6a963930839ab53f0185b5a";
const EVENTS_500_42: &str = "sha256:8fe995a497101b0b5d2ba9557eb5ff9cde185b07da1ab7d573e7aad08bf52002";

/// Where the test server that speaks Tyrant's protocol is found, beside all other programs.
fn path_with_tyrant(desk: &Desk) -> String {
    if !desk.path().join("ttserver").exists() {
        testkit::tyrant_server::install(desk.path()).unwrap();
    }
    format!("{}:{}", desk.path().display(), std::env::var("PATH").unwrap())
}

fn words_of(stores: &[impl AsRef<str>]) -> String {
    stores.iter().map(|store| format!("-s {} ", store.as_ref())).collect()
}

/// Runs fans on all stores and checks every cell.
fn answers_on(desk: &Desk, stores: &[impl AsRef<str>], options: &str, digest: &str) -> Ran {
    answers_of("fans", desk, stores, options, digest)
}

/// Runs a job on all stores and checks every cell.
fn answers_of(job: &str, desk: &Desk, stores: &[impl AsRef<str>], options: &str, digest: &str) -> Ran {
    let words = words_of(stores);
    let words = format!("run {job} {words} {options} --no-baselines --repeats 1 --warmups 0 --out out");
    let ran = desk.finished(desk.command(&words).env("PATH", path_with_tyrant(desk)).output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in stores.iter().map(AsRef::as_ref) {
        assert!(ran.is_ranked(store) && ran.digest(store) == digest, "{store}: {}", ran.said());
        let cell = ran.cell(store);
        assert!(
            !cell["store_version"].as_str().unwrap().is_empty()
                && !cell["store_config"].as_object().unwrap().is_empty(),
            "{cell}"
        );
        let server = &cell["trials"][0]["server"];
        assert!(
            server["cpu_s"].as_f64().unwrap() > 0.0 && server["peak_rss_bytes"].as_u64().unwrap() > 1 << 20,
            "{server}"
        );
    }
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
    ran
}

#[test]
fn every_fast_server_has_the_known_answer_of_the_whole_data_set() {
    let desk = Desk::new();
    let mut fast = servers(&desk, |info| info.durabilities == [Durability::None] || info.family == "redis");
    fast.push("memcached,protocol=text".into());
    answers_on(&desk, &fast, "--clients 16 --pipeline 4", DEBIAN_10K);
}

/// Families whose programs `./test` installs: one that is not found is a failure. Others are left out with a sentence.
const INSTALLED: [&str; 10] =
    ["redis", "memcached", "tyrant", "mysql", "postgres", "mongodb", "couchdb", "etcd", "dynamodb", "nats"];

/// Families that take milliseconds for each request: with one client they get a small data set.
const SLOW: [&str; 5] = ["mongodb", "etcd", "couchdb", "dynamodb", "s3"];

/// Specs of the servers of the registry that are found from this desk, each at the level that waits least for its disk.
fn servers(desk: &Desk, of: impl Fn(&StoreInfo) -> bool) -> Vec<String> {
    let said = desk.finished(desk.command("stores --json").env("PATH", path_with_tyrant(desk)).output().unwrap());
    let listed: Value = serde_json::from_str(&said.stdout).unwrap();
    let presence = |name: &str| {
        let of_name = |store: &&Value| store["name"] == name;
        &listed.as_array().unwrap().iter().find(of_name).unwrap()["presence"]
    };
    let mut specs = Vec::new();
    // A Java server takes from 10 s to start: they have tests of their own.
    let no_java = catalog::all().filter(|info| !is_java(info));
    for info in no_java.filter(|info| info.class == Class::Network && of(info)) {
        let presence = presence(info.name);
        if presence["status"] == "found" {
            let level = info.durabilities.iter().min().unwrap();
            specs.push(format!("{},durability={}", info.name, level.name()));
            continue;
        }
        assert!(!INSTALLED.contains(&info.family), "{} is not here: {presence}; {}", info.name, info.install);
        testkit::absent::left_out(info.name, info.install);
    }
    specs
}

fn of_family(families: &[&str]) -> impl Fn(&StoreInfo) -> bool {
    |info| families.contains(&info.family)
}

/// All servers but CouchDB, a third of which each of three tests takes, so that none lasts for more than half a minute.
fn third(number: usize) -> (Desk, Vec<String>) {
    let desk = Desk::new();
    let all = servers(&desk, |info| info.family != "couchdb");
    assert!(
        all.len() >= 2 * INSTALLED.len() - 5,
        "two of each, but one etcd, one dynamodb, one nats and no couchdb: {all:?}"
    );
    (desk, all.into_iter().skip(number).step_by(3).collect())
}

fn have_the_known_answer_with_sixteen_clients(number: usize) {
    let (desk, stores) = third(number);
    let ran = answers_on(&desk, &stores, "--data debian-1k --clients 16", DEBIAN_1K);
    // What was really measured is what is named: a stand-in never passes for the real thing.
    for mongodb in stores.iter().filter(|store| store.starts_with("mongodb")) {
        let product = ran.cell(mongodb)["product"].as_str().unwrap();
        assert!(product == "FerretDB" || product == "MongoDB", "{product}");
        assert!(ran.stdout.contains(product), "{}", ran.stdout);
    }
}

#[test]
fn every_server_of_the_registry_has_the_known_answer_first_third() {
    have_the_known_answer_with_sixteen_clients(0);
}

#[test]
fn every_server_of_the_registry_has_the_known_answer_second_third() {
    have_the_known_answer_with_sixteen_clients(1);
}

#[test]
fn every_server_of_the_registry_has_the_known_answer_last_third() {
    have_the_known_answer_with_sixteen_clients(2);
}

#[test]
fn every_server_of_the_registry_has_the_known_answer_with_one_client_if_it_is_fast_enough() {
    let desk = Desk::new();
    answers_on(&desk, &servers(&desk, |info| !SLOW.contains(&info.family)), "--data debian-1k", DEBIAN_1K);
}

#[test]
fn every_server_of_the_registry_counts_sets_to_the_known_answer() {
    let desk = Desk::new();
    answers_of("sets", &desk, &servers(&desk, |_| true), "--set ids=200 --clients 16", SETS_200);
}

#[test]
fn every_server_of_the_registry_sums_events_to_the_known_answer() {
    let desk = Desk::new();
    let all = servers(&desk, |_| true);
    answers_of("events", &desk, &all, "--seed 42 --set events=500 --clients 16", EVENTS_500_42);
}

/// PouchDB Server takes milliseconds for each request: a few profiles, and the answer of the store in memory.
#[test]
#[ignore = "half a minute: the same answer by other ways"]
fn a_slow_server_has_the_answer_of_ram() {
    for options in ["--clients 1", "--clients 16"] {
        let desk = Desk::new();
        let slow = servers(&desk, of_family(&SLOW));
        let ran = desk.kvtrial(&format!(
            "run fans -s ram {} --data gen:40:7 {options} --no-baselines --repeats 1 --warmups 0 --out out",
            words_of(&slow)
        ));
        assert_eq!(ran.status, 0, "{}", ran.said());
        for store in &slow {
            assert!(ran.is_ranked(store), "{}", ran.said());
            assert_eq!(ran.digest(store), ran.digest("ram"));
        }
        assert_eq!(ran.cell("couchdb,durability=os")["product"], "PouchDB Server");
        assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
    }
}

#[test]
#[ignore = "half a minute: the same answer by other ways"]
fn layouts_and_protocols_have_the_known_answer() {
    let postgres = ["postgres-unix,durability=none,layout=hstore", "postgres-unix,durability=none,layout=jsonb"];
    let all = [postgres[0], postgres[1], "memcached,protocol=text"];
    for options in ["--clients 16", ""] {
        answers_on(&Desk::new(), &all, &format!("--data debian-1k {options}"), DEBIAN_1K);
    }
}

#[test]
fn policies_and_variants_agree_on_redis() {
    for options in ["--set policy=cas", "--set policy=lock", "--set variant=counters", "--pipeline 16"] {
        answers_on(&Desk::new(), &["redis-unix"], &format!("--data debian-1k --clients 8 {options}"), DEBIAN_1K);
    }
}
