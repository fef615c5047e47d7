//! A private store that holds keys nobody wrote makes the cell void; one that holds what the job left there does not, whatever the job.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran, is_here, is_java, once};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use study::Class;
use testkit::lying::{Lie, private};
use testkit::waiting::until;

/// What is run on every store: each leaves other keys, and not the same number.
/// Where those of ycsb begin.
const YCSB: usize = 9;

const JOBS: [&str; 15] = [
    "fans --data gen:30:7",
    "fans --data gen:30:7 --set variant=counters",
    "fans --data gen:30:7 --set policy=cas --clients 3",
    "bulk --data gen:60:7 --set batch=7",
    "bulk --data gen:60:7 --set batch=1 --set ids=random",
    "append --data gen:60:7",
    "append --data gen:60:7 --set append=rewrite",
    "counts --data gen:3:7",
    "crud --set rows=20",
    "ycsb --set workload=a",
    "ycsb --set workload=b",
    "ycsb --set workload=c",
    "ycsb --set workload=d",
    "ycsb --set workload=e",
    "ycsb --set workload=f",
];

/// What of them is run on stores that need long for each operation, or for each start.
const FEW: [usize; 4] = [1, 4, 7, 12];

/// Runs the lying program as this store.
fn lied_to(store: &str, lie: Option<Lie>) -> Ran {
    let desk = Desk::new();
    private::install(desk.path(), lie).unwrap();
    let path = format!("{}:{}", desk.path().display(), std::env::var("PATH").unwrap());
    let words = once("ycsb", store, &["--set workload=a --set records=300 --set operations=2000"]);
    desk.finished(desk.command(&format!("run {words} --out out")).env("PATH", path).output().unwrap())
}

#[test]
fn ten_thousand_keys_nobody_wrote_make_a_cell_void_on_every_protocol() {
    for store in ["memcached-unix", "redis-unix", "tyrant-unix"] {
        let honest = lied_to(store, None);
        assert_eq!((honest.status, honest.is_ranked(store)), (0, true), "{store}: {}", honest.said());
        let ran = lied_to(store, Some(Lie::KeysNobodyWrote));
        assert_eq!((ran.verdict(), ran.status), ("void", 1), "{store}: {}", ran.said());
        let (count, example) = ran.why("foreign_data").unwrap_or_else(|| panic!("{}", ran.said()));
        assert_eq!(count, 10_000, "{store}: {example}");
        assert!(example.contains("it holds 10,300 keys, 300 were left there"), "{store}: {example}");
    }
}

/// Runs a job on these stores: none of them is doubted for what it holds. A store that cannot do the job is left out.
fn nobody_is_accused(job: &str, stores: &[String]) {
    let desk = Desk::new();
    let path = format!("{}:{}", desk.path().display(), std::env::var("PATH").unwrap());
    testkit::tyrant_server::install(desk.path()).unwrap();
    let small = if job.starts_with("ycsb") { "--set records=50 --set operations=200" } else { "" };
    let mut left: Vec<&str> = stores.iter().map(String::as_str).collect();
    let ran = loop {
        let words = left.iter().map(|store| format!("-s {store}")).collect::<Vec<_>>().join(" ");
        let words = format!("run {job} {small} {words} --no-baselines --repeats 1 --warmups 0 --out out");
        let ran = desk.finished(desk.command(&words).env("PATH", &path).output().unwrap());
        let unsuited = left.iter().position(|store| ran.stderr.starts_with(&format!("kvtrial: -s {store}: ")));
        match unsuited.filter(|_| ran.status == 2 && ran.stderr.contains("this store ")) {
            Some(at) => drop(left.remove(at)),
            None => break ran,
        }
    };
    assert!(!left.is_empty(), "{job}: {}", ran.said());
    for store in left {
        assert!(ran.is_ranked(store), "{job}: {store}: {}", ran.cell(store)["verdict"]);
    }
}

fn found(wanted: impl Fn(&store::StoreInfo) -> bool) -> Vec<String> {
    let no_java = catalog::all().filter(|info| !is_java(info));
    let here = no_java.filter(|info| wanted(info) && is_here(info));
    // At the level that waits for the disk least, of those a private one here has.
    here.map(|info| format!("{},durability={}", info.name, info.levels_found().last().unwrap())).collect()
}

fn is_slow(name: &str) -> bool {
    let slow = [
        "mysql",
        "mysql-unix",
        "handlersocket",
        "postgres",
        "postgres-unix",
        "mongodb",
        "mongodb-unix",
        "couchdb",
        "etcd",
        "dynamodb",
        "s3",
    ];
    slow.contains(&name)
}

/// After these jobs, on every engine.
fn every_engine_says_what_it_holds(jobs: &[&str]) {
    let mut all = found(|info| info.class == Class::Embedded);
    all.extend(["ram", "ram,map=lines", "ram,map=btree"].map(str::to_owned));
    for job in jobs {
        nobody_is_accused(job, &all);
    }
}

#[test]
fn what_a_job_leaves_is_what_every_engine_says_it_holds() {
    every_engine_says_what_it_holds(&JOBS[..YCSB]);
}

#[test]
fn what_ycsb_leaves_is_what_every_engine_says_it_holds() {
    every_engine_says_what_it_holds(&JOBS[YCSB..]);
}

#[test]
fn what_a_job_leaves_is_what_every_fast_server_says_it_holds() {
    let mut all = found(|info| info.class == Class::Network && !is_slow(info.name));
    all.extend(["tyrant-unix", "memcached,protocol=text"].map(str::to_owned));
    for job in FEW.map(|at| JOBS[at]) {
        nobody_is_accused(job, &all);
    }
}

#[test]
#[ignore = "half a minute; the fast servers are tried by every ./test"]
fn what_a_job_leaves_is_what_every_database_server_says_it_holds() {
    let all = found(|info| is_slow(info.name));
    for job in FEW.map(|at| JOBS[at]) {
        nobody_is_accused(job, &all);
    }
}

#[test]
#[ignore = "minutes: each job on each server"]
fn what_any_job_leaves_is_what_every_server_says_it_holds() {
    let mut all = found(|info| info.class == Class::Network);
    all.extend(["tyrant-unix", "memcached,protocol=text"].map(str::to_owned));
    for job in JOBS {
        nobody_is_accused(job, &all);
    }
}

/// The file of this name below a directory.
fn below(directory: &Path, name: &str) -> Option<PathBuf> {
    std::fs::read_dir(directory).ok()?.flatten().find_map(|entry| match entry.path() {
        path if path.is_dir() => below(&path, name),
        path => (entry.file_name() == name).then_some(path),
    })
}

#[test]
fn one_row_slipped_into_a_private_database_makes_the_cell_void() {
    let desk = Desk::new();
    let words = once("ycsb", "sqlite", &["--set workload=c --set records=100 --set seconds=10"]);
    let running = desk.command(&format!("run {words} --out out")).spawn().unwrap();
    let slip = "import sqlite3, sys; database = sqlite3.connect(sys.argv[1], timeout=10); \
        assert database.execute('SELECT count(*) FROM kvtrial_values').fetchone()[0] == 100; \
        database.execute(\"INSERT INTO kvtrial_values VALUES (x'6e6f', x'00')\"); database.commit()";
    // When the records are there; from then on they are only read.
    until("the row is slipped in", || {
        let file = below(&desk.path().join("base"), "kvtrial.sqlite");
        file.is_some_and(|file| {
            Command::new("python3").args(["-c", slip]).arg(file).stderr(Stdio::null()).status().unwrap().success()
        })
    });
    let ran = desk.finished(running.wait_with_output().unwrap());
    assert_eq!((ran.verdict(), ran.status), ("void", 1), "{}", ran.said());
    let (count, example) = ran.why("foreign_data").unwrap_or_else(|| panic!("{}", ran.said()));
    assert_eq!((count, &example[..]), (1, "the store says it holds 101 keys, 100 were left there"));
}
