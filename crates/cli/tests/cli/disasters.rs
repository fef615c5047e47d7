//! What happens to a store in the middle of a job: killed, frozen, out of disk. The run is void with the reason, and nothing is left.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran};
use testkit::waiting::soon;

/// Waits until the private Redis of a running kvtrial has been at work for a while; its process id.
fn busy_redis_of(desk: &Desk) -> i32 {
    let base = desk.path().join("base").display().to_string();
    soon("a redis-server is busy below the desk", || {
        std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
            let read = |name: &str| {
                String::from_utf8_lossy(&std::fs::read(entry.path().join(name)).unwrap_or_default()).into_owned()
            };
            let command = read("cmdline");
            // User and system time, the 14th and 15th field, in ticks of 10 ms; the name before them holds no blank.
            let ticks: u64 = read("stat").split(' ').skip(13).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
            let is_it = command.contains("redis-server") && command.contains(&base) && ticks >= 10;
            is_it.then(|| entry.file_name().to_str().unwrap().parse().unwrap())
        })
    })
}

/// Signals the store of a job in the middle of its work; the run must be void with one of the reasons.
fn struck(job: &str, signal: i32, kinds: &[&str]) {
    let desk = Desk::new();
    let words = format!("run {job} -s redis-unix --no-baselines --repeats 1 --deadline 2s --out out");
    let child = desk.command(&words).spawn().unwrap();
    let server = busy_redis_of(&desk);
    // SAFETY: signalling a server the test has started.
    unsafe { libc::kill(server, signal) };
    let ran = desk.finished(child.wait_with_output().unwrap());
    assert_eq!(ran.status, 1, "{}", ran.said());
    let reasons = ran.cell("redis-unix")["verdict"]["reasons"].as_array().unwrap().clone();
    assert!(reasons.iter().any(|reason| kinds.iter().any(|kind| reason["kind"] == *kind)), "{}", ran.said());
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
}

const LONG_BULK: &str = "bulk --data gen:400000:42 --set batch=10";
const LONG_APPEND: &str = "append --data gen:1000000:42 --pipeline 16";

#[test]
#[ignore = "half a minute; the matrix of faults has it for four servers in every ./test"]
fn a_server_killed_in_the_middle_of_a_job_voids_it_with_the_reason() {
    for job in [LONG_BULK, LONG_APPEND] {
        struck(job, libc::SIGKILL, &["server_died", "connection_lost"]);
    }
}

#[test]
#[ignore = "half a minute; the matrix of faults has it for two servers in every ./test"]
fn a_server_frozen_in_the_middle_of_a_job_voids_it_at_the_deadline() {
    for job in [LONG_BULK, LONG_APPEND] {
        struck(job, libc::SIGSTOP, &["deadline"]);
    }
}

/// Runs `kvtrial` with a limit on the size of its files, which is a full disk to a store.
fn with_small_files(desk: &Desk, words: &str) -> Ran {
    let command = desk.command(words);
    let line: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_str().unwrap().to_owned())
        .collect();
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 4096; exec \"$@\"", "sh"]).args(&line);
    limited.current_dir(desk.path()).env("TMPDIR", desk.path().join("base")).env("NO_COLOR", "1");
    desk.finished(limited.output().unwrap())
}

fn full_disk(job: &str, words: &str) {
    let desk = Desk::new();
    let ran = with_small_files(&desk, &format!("run {job} -s sqlite --no-baselines --repeats 1 --out out"));
    assert_eq!(ran.status, 1, "{}", ran.said());
    let reason = ran.reason("sqlite", "refused");
    assert!(reason["example"].as_str().unwrap().contains(words), "{reason}");
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
}

#[test]
fn a_full_disk_in_the_middle_of_a_job_voids_it_with_the_stores_own_words() {
    full_disk("bulk", "while: load");
    full_disk("append --data gen:60000:42", "disk I/O error");
}

#[test]
fn a_store_that_cannot_be_opened_here_is_not_run_with_its_remedy_and_the_others_are_run() {
    let desk = Desk::new();
    let words = "run fans -s fjall -s ram --data debian-1k --no-baselines --repeats 1 --warmups 0 --out out";
    let ran = with_small_files(&desk, words);
    assert_eq!(ran.status, 1, "{}", ran.said());
    assert_eq!(ran.cell("fjall")["verdict"]["status"], "not_run", "{}", ran.said());
    let reason = ran.reason("fjall", "not_started");
    assert!(reason["example"].as_str().unwrap().contains("raise it (ulimit -f)"), "{reason}");
    assert!(ran.is_ranked("ram") && ran.stdout.contains("ulimit -f"), "{}", ran.said());
    assert!(desk.left_behind().is_empty(), "{:?}", desk.left_behind());
    // Bad usage still stops all, and of one store alone nothing is left to run.
    let ran = Desk::new().run("fans -s fjall,durability=never -s ram --data debian-1k");
    assert_eq!((ran.status, ran.study.is_none()), (2, true), "{}", ran.said());
}

#[test]
#[ignore = "half a minute"]
fn a_hundred_thousand_clients_of_a_library_share_its_threads_and_the_run_ends() {
    let ran = common::run_once(
        "ycsb",
        "null",
        &["--set", "records=1000", "--set", "operations=200000", "--clients", "100000"],
    );
    assert!(ran.is_ranked("null"), "{}", ran.said());
    assert_eq!(ran.only()["trials"][0]["client_threads"], 4096, "{}", ran.said());
}
