//! The fans job on every server kvtrial starts: the known answer, with one client and with sixteen.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Desk, Ran};

/// Answers of unrelated scripts: `crates/jobs/tests/answers`.
const DEBIAN_1K: &str = "sha256:68feb5060a6d9f728165362a625509d52ab91a5abcf6de1f6c5fe58fe046bc91";
const DEBIAN_10K: &str = "sha256:9c6ea1cb1e4133de0dbec6cc98699f8b42c680c7442ee8c879c66786a47fce2a";

/// Runs the job on all stores and checks every cell.
fn answers_on(desk: &Desk, stores: &[&str], options: &str, digest: &str) -> Ran {
    testkit::tyrant_server::install(desk.path()).unwrap();
    let path = format!("{}:{}", desk.path().display(), std::env::var("PATH").unwrap());
    let specs: Vec<String> = stores.iter().map(|store| format!("-s {store}")).collect();
    let words = format!("run fans {} {options} --no-baselines --repeats 1 --warmups 0 --out out", specs.join(" "));
    let ran = desk.finished(desk.command(&words).env("PATH", path).output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.said());
    for store in stores {
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
    let stores =
        ["redis", "redis-unix", "memcached", "memcached-unix", "tyrant", "tyrant-unix", "memcached,protocol=text"];
    answers_on(&Desk::new(), &stores, "--clients 16 --pipeline 4", DEBIAN_10K);
    answers_on(&Desk::new(), &stores, "--data debian-1k", DEBIAN_1K);
}

#[test]
fn every_database_server_has_the_known_answer() {
    let stores = [
        "mysql,durability=none",
        "mysql-unix,durability=none",
        "postgres,durability=none",
        "postgres-unix,durability=none",
        "mongodb,durability=os",
        "mongodb-unix,durability=os",
    ];
    let ran = answers_on(&Desk::new(), &stores, "--data debian-1k --clients 16", DEBIAN_1K);
    answers_on(&Desk::new(), &stores[..4], "--data debian-1k", DEBIAN_1K);
    let others = [
        "etcd,durability=os",
        "postgres-unix,durability=none,layout=hstore",
        "postgres-unix,durability=none,layout=jsonb",
    ];
    answers_on(&Desk::new(), &others, "--data debian-1k --clients 16", DEBIAN_1K);
    answers_on(&Desk::new(), &others[1..], "--data debian-1k", DEBIAN_1K);
    // What was really measured is what is named: a stand-in never passes for the real thing.
    let product = ran.cell(stores[4])["product"].as_str().unwrap();
    assert!(product == "FerretDB" || product == "MongoDB", "{product}");
    assert!(ran.stdout.contains(product), "{}", ran.stdout);
}

/// PouchDB Server takes milliseconds for each request: a few profiles, and the answer of the store in memory.
#[test]
fn couchdb_has_the_answer_of_ram() {
    for options in ["--clients 1", "--clients 16"] {
        let desk = Desk::new();
        let ran = desk.kvtrial(&format!(
            "run fans -s ram -s couchdb --data gen:40:7 {options} --no-baselines --repeats 1 --warmups 0 --out out"
        ));
        assert_eq!(ran.status, 0, "{}", ran.said());
        assert!(ran.is_ranked("couchdb"), "{}", ran.said());
        assert_eq!(ran.digest("couchdb"), ran.digest("ram"));
        assert_eq!(ran.cell("couchdb")["product"], "PouchDB Server");
        assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
    }
}

#[test]
fn policies_and_variants_agree_on_redis() {
    for options in ["--set policy=cas", "--set policy=lock", "--set variant=counters", "--pipeline 16"] {
        answers_on(&Desk::new(), &["redis-unix"], &format!("--data debian-1k --clients 8 {options}"), DEBIAN_1K);
    }
}
