//! The matrix of faults: whatever breaks while a study runs, the verdict says what it was, the study ends soon, nothing is left behind,
//! and it can be gone on with.
//!
//! A fault is a row, a store and a job are its columns. Some sixty cells run with every test, all others with `./test --full`
//! (`--ignored`).
#![allow(clippy::unwrap_used)]

mod common;
#[path = "faults/proxy.rs"]
mod proxy;
#[path = "faults/running.rs"]
mod running;

use common::Desk;
use proxy::Proxy;
use running::{Over, Running, strike};
use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// Stores whose work is done in the worker.
const EMBEDDED: [&str; 7] = ["ram", "lmdb", "sqlite", "redb", "fjall", "kyotocabinet", "rocksdb"];
/// Stores with a server.
const SERVERS: [&str; 7] = ["redis-unix", "memcached", "postgres-unix", "mysql-unix", "etcd", "tyrant", "mongodb-unix"];
const JOBS: [&str; 4] = ["fans", "ycsb", "bulk", "append"];

/// Words that keep a store at work for longer than any test waits.
fn long(job: &str, store: &str) -> String {
    let job = match job {
        "fans" => "fans --data gen:6000:42",
        "ycsb" => "ycsb --set records=1000 --set seconds=40",
        "bulk" => "bulk --data gen:40000:42 --set batch=1",
        _ => "append --data gen:100000:42",
    };
    format!("{job} -s {store} --repeats 1 --deadline 1s")
}

/// The same, short enough to be done again.
fn short(store: &str) -> String {
    format!("ycsb --set records=1000 --set seconds=2 -s {store} --repeats 1")
}

fn unlimited(_: &mut Command) {}

/// Room for a busy machine in claims about time.
const SLACK: Duration = Duration::from_secs(5);

/// Every cell of a row, one after the other.
fn each(stores: &[&str], jobs: &[&str], one: impl Fn(&str, &str)) {
    for store in stores {
        for job in jobs {
            one(store, job);
        }
    }
}

/// What a row leaves out where it is run with every test.
fn but(all: &[&'static str], these: &[&str]) -> Vec<&'static str> {
    all.iter().copied().filter(|one| !these.contains(one)).collect()
}

/// The study goes on: what was recorded stays.
fn void_and_resumable(over: &Over) {
    assert_eq!(over.ran.status, 1, "{}: {}", over.words, over.ran.said());
    assert_eq!(over.ran.verdict(), "void", "{}: {}", over.words, over.ran.said());
    over.resumes();
}

fn server_killed(store: &str, job: &str) {
    let mut running = Running::start(&long(job, store), unlimited);
    running.until_busy();
    let struck = strike(running.server().unwrap().pid, libc::SIGKILL);
    let over = running.ended(struck);
    let why = over.reason(&["server_died"]);
    assert!(why.contains("SIGKILL") && why.contains("while: "), "{}: {why}", over.words);
    assert!(over.took < Duration::from_secs(1) + SLACK, "{}: {:?}", over.words, over.took);
    void_and_resumable(&over);
}

fn server_frozen(store: &str, job: &str) {
    let mut running = Running::start(&long(job, store), unlimited);
    running.until_busy();
    let struck = strike(running.server().unwrap().pid, libc::SIGSTOP);
    let over = running.ended(struck);
    over.reason(&["deadline", "connection_lost"]);
    assert!(over.took < Duration::from_secs(2) + SLACK, "{}: {:?}", over.words, over.took);
    void_and_resumable(&over);
}

fn worker_killed(store: &str, job: &str) {
    let mut running = Running::start(&long(job, store), unlimited);
    let worker = running.until_busy();
    let over = running.ended(strike(worker.pid, libc::SIGKILL));
    let why = over.reason(&["worker_died"]);
    assert!(why.contains("SIGKILL") && why.contains("while: "), "{}: {why}", over.words);
    assert!(over.took < Duration::from_secs(1) + SLACK, "{}: {:?}", over.words, over.took);
    void_and_resumable(&over);
}

/// A nursery that is killed takes the worker with it; the next trial has another.
fn nursery_killed(store: &str, _: &str) {
    let mut running = Running::start(&short(store).replace("--repeats 1", "--repeats 2"), unlimited);
    running.until_busy();
    let struck = strike(running.nursery().unwrap().pid, libc::SIGKILL);
    let over = running.ended(struck);
    assert!(over.reason(&["worker_died"]).contains("nursery"), "{}", over.ran.said());
    let trials = over.ran.only()["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2, "{}", over.ran.said());
    assert_ne!(trials[1]["verdict"]["status"], "void", "{}", over.ran.said());
    over.resumes();
}

fn kvtrial_killed(store: &str, _: &str) {
    let mut running = Running::start(&short(store), unlimited);
    running.until_busy();
    let struck = strike(running.pid(), libc::SIGKILL);
    let over = running.ended(struck);
    assert!(over.was_ended_by(libc::SIGKILL), "{}", over.ran.said());
    assert_eq!(over.resumes().status, 0);
}

fn guard_killed(store: &str, _: &str) {
    let mut running = Running::start(&short(store), unlimited);
    running.until_busy();
    let struck = strike(running.guard().unwrap().pid, libc::SIGKILL);
    let over = running.ended(struck);
    assert_eq!(over.ran.status, 0, "{}: {}", over.words, over.ran.said());
    assert_ne!(over.ran.verdict(), "void", "{}", over.ran.said());
}

/// Signals that ask kvtrial to end.
fn asked_to_end(store: &str, signal: i32) {
    let mut running = Running::start(&short(store), unlimited);
    running.until_busy();
    let struck = strike(running.pid(), signal);
    let over = running.ended(struck);
    assert_eq!(over.ran.status, 130, "{}: {}", over.words, over.ran.said());
    assert!(over.took < Duration::from_secs(3) + SLACK, "{}: {:?}", over.words, over.took);
    assert_eq!(over.resumes().status, 0);
}

/// A terminal that is closed hangs up, and takes no more words.
fn terminal_closed(store: &str, _: &str) {
    let (mut master, mut slave) = (-1, -1);
    let null = std::ptr::null_mut();
    // SAFETY: openpty writes two descriptors; they belong to nobody else.
    let (master, slave) = unsafe {
        assert_eq!(libc::openpty(&mut master, &mut slave, null, null.cast(), null.cast()), 0);
        (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    };
    let mut running = Running::start(&short(store), |command| {
        let output = || File::from(slave.try_clone().unwrap());
        command.stdin(output()).stdout(output()).stderr(output());
        // SAFETY: both calls are safe between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            })
        };
    });
    drop(slave);
    let mut reader = File::from(master.try_clone().unwrap());
    let reading = std::thread::spawn(move || drop(std::io::copy(&mut reader, &mut std::io::sink())));
    running.until_busy();
    let struck = Instant::now();
    // The reader holds the master too: closing the terminal is what the kernel tells its foreground, as when it vanishes.
    drop(master);
    strike(running.pid(), libc::SIGHUP);
    let over = running.ended(struck);
    reading.join().unwrap();
    assert_eq!(over.ran.status, 130, "{}: {}", over.words, over.ran.said());
    assert_eq!(over.resumes().status, 0);
}

/// No file may grow beyond this many KiB: a full disk, to a store.
fn limited(kib: u64, words: &str) -> Running {
    Running::start(words, |command| {
        let limit = libc::rlimit { rlim_cur: kib << 10, rlim_max: kib << 10 };
        // SAFETY: setrlimit is safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
                Ok(())
            })
        };
    })
}

fn disk_full_in_mid_run(store: &str, job: &str) {
    let begun = Instant::now();
    let over = limited(3 << 10, &long(job, store).replace("--deadline 1s", "--deadline 5s")).ended(begun);
    over.reason(&["refused", "worker_died", "connection_lost", "server_died"]);
    void_and_resumable(&over);
}

fn disk_full_at_set_up(store: &str, job: &str) {
    let begun = Instant::now();
    let over = limited(3, &long(job, store)).ended(begun);
    // Either the store or the study cannot be opened, which is the user's to mend, or the first write is refused.
    let said = over.ran.said();
    assert!([1, 2].contains(&over.ran.status), "{}: {said}", over.words);
    assert!(
        said.contains("too large") || said.contains("full") || said.contains("I/O error"),
        "{}: {said}",
        over.words
    );
}

/// A store that maps its files is killed by SIGBUS when the disk below is full. Needs root: a file system of this size is mounted.
fn mapped_disk_full() {
    let words = "fans --data gen:8000:42 -s kyotocabinet --repeats 2 --base small";
    let begun = Instant::now();
    let over = Running::start(words, |command| {
        // SAFETY: unshare and mount touch no memory of ours but the strings, and are safe between fork and exec. The mount is seen
        // by this kvtrial and what it starts, by nobody else.
        unsafe {
            command.pre_exec(|| {
                let (tmpfs, none) = (c"tmpfs".as_ptr(), std::ptr::null());
                let private = libc::MS_REC | libc::MS_PRIVATE;
                if libc::unshare(libc::CLONE_NEWNS) != 0
                    || libc::mount(none, c"/".as_ptr(), none, private, none.cast()) != 0
                    || libc::mkdir(c"small".as_ptr(), 0o755) != 0
                    || libc::mount(tmpfs, c"small".as_ptr(), tmpfs, 0, c"size=8m".as_ptr().cast()) != 0
                {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            })
        };
    })
    .ended(begun);
    let why = over.reason(&["worker_died"]);
    assert!(why.contains("SIGBUS") && why.contains("while: run"), "{}: {why}", over.words);
    assert_eq!(over.ran.only()["trials"].as_array().unwrap().len(), 2, "{}", over.ran.said());
}

/// More memory than a process may have.
fn memory_limited(store: &str, _: &str) {
    let words = format!("ycsb --set records=4000000 --set value=1000 -s {store} --repeats 1");
    let begun = Instant::now();
    let over = Running::start(&words, |command| {
        let limit = libc::rlimit { rlim_cur: 700 << 20, rlim_max: 700 << 20 };
        // SAFETY: setrlimit is safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &limit), 0);
                Ok(())
            })
        };
    })
    .ended(begun);
    let why = over.reason(&["worker_died", "refused", "server_died"]);
    assert!(!why.is_empty(), "{}", over.ran.said());
    void_and_resumable(&over);
}

/// A server of the user's behind a proxy that cuts connections.
fn connections_cut(program: &str, job: &str, all: bool) {
    let proxy = Proxy::to(program);
    // The others go on, and what was cut is connected again.
    let words = format!("{} --clients 4", long(job, &proxy.spec())).replace("seconds=40", "seconds=2");
    let mut running = Running::start(&words, unlimited);
    running.until_busy();
    // Not between two phases, when the connections of the one are closed and those of the other not there yet: loading is short.
    std::thread::sleep(Duration::from_millis(300));
    let struck = Instant::now();
    proxy.cut(all);
    let over = running.ended(struck);
    over.reason(&["connection_lost"]);
    assert_eq!(over.ran.status, 1, "{}", over.ran.said());
}

#[test]
fn a_server_that_is_killed_ends_the_cell_at_once_by_name() {
    each(&["redis-unix"], &JOBS, server_killed);
    each(&["memcached", "postgres-unix", "mysql-unix", "etcd", "tyrant"], &["ycsb"], server_killed);
}

#[test]
#[ignore = "all servers and jobs: minutes"]
fn a_server_that_is_killed_ends_the_cell_at_once_by_name_everywhere() {
    each(&SERVERS[1..], &JOBS, server_killed);
}

#[test]
fn a_server_that_is_frozen_ends_the_cell_at_the_deadline() {
    each(&["redis-unix"], &["fans", "ycsb", "append"], server_frozen);
    each(&["memcached"], &["ycsb"], server_frozen);
}

#[test]
#[ignore = "all servers and jobs: minutes"]
fn a_server_that_is_frozen_ends_the_cell_at_the_deadline_everywhere() {
    each(&SERVERS, &JOBS, server_frozen);
}

#[test]
fn a_worker_that_is_killed_voids_its_cell_by_name() {
    each(&["lmdb"], &JOBS, worker_killed);
    each(&["ram", "sqlite", "kyotocabinet", "redis-unix", "rocksdb"], &["ycsb"], worker_killed);
}

#[test]
#[ignore = "all stores and jobs: minutes"]
fn a_worker_that_is_killed_voids_its_cell_by_name_everywhere() {
    each(&but(&EMBEDDED, &["lmdb"]), &JOBS, worker_killed);
    each(&SERVERS, &JOBS, worker_killed);
}

#[test]
fn the_trial_after_a_nursery_that_was_killed_has_another() {
    each(&["ram", "redis-unix"], &["ycsb"], nursery_killed);
}

#[test]
fn a_kvtrial_that_is_killed_leaves_nothing_and_its_study_goes_on() {
    each(&["ram", "lmdb", "sqlite", "fjall", "redis-unix", "memcached"], &["ycsb"], kvtrial_killed);
}

#[test]
#[ignore = "all stores: a minute"]
fn a_kvtrial_that_is_killed_leaves_nothing_and_its_study_goes_on_everywhere() {
    each(&EMBEDDED, &["ycsb"], kvtrial_killed);
    each(&SERVERS, &["ycsb"], kvtrial_killed);
}

#[test]
fn a_guard_that_is_killed_is_missed_by_nobody() {
    each(&["lmdb", "redis-unix"], &["ycsb"], guard_killed);
}

#[test]
fn a_signal_that_asks_to_end_is_obeyed_and_the_study_goes_on() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        asked_to_end("ram", signal);
        asked_to_end("redis-unix", signal);
    }
    for store in ["lmdb", "sqlite", "memcached"] {
        asked_to_end(store, libc::SIGINT);
    }
}

#[test]
#[ignore = "all stores: a minute"]
fn a_signal_that_asks_to_end_is_obeyed_and_the_study_goes_on_everywhere() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        EMBEDDED.iter().chain(&SERVERS).for_each(|store| asked_to_end(store, signal));
    }
}

#[test]
fn a_terminal_that_is_closed_leaves_nothing_and_the_study_goes_on() {
    each(&["lmdb", "redis-unix"], &["ycsb"], terminal_closed);
}

#[test]
fn a_disk_that_fills_voids_the_cell_and_not_the_study() {
    each(&["sqlite", "redb"], &["bulk"], disk_full_in_mid_run);
    each(&["sqlite"], &["append"], disk_full_in_mid_run);
}

#[test]
#[ignore = "all embedded stores and jobs: minutes"]
fn a_disk_that_fills_voids_the_cell_and_not_the_study_everywhere() {
    // Some take more than this when they are opened.
    each(&but(&EMBEDDED, &["ram", "fjall", "kyotocabinet"]), &["fans", "bulk", "append"], disk_full_in_mid_run);
}

#[test]
fn a_store_that_is_killed_by_the_disk_below_it_voids_its_cell_and_the_study_goes_on() {
    // SAFETY: geteuid touches no memory.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("not tried: only root can mount a file system that is full");
    }
    mapped_disk_full();
}

#[test]
fn a_disk_that_is_full_from_the_start_is_said() {
    each(&["sqlite", "lmdb", "redb", "fjall", "kyotocabinet"], &["ycsb"], disk_full_at_set_up);
}

#[test]
fn a_process_without_memory_voids_the_cell_and_not_the_study() {
    each(&["ram"], &["ycsb"], memory_limited);
}

#[test]
fn connections_that_are_cut_void_the_cell() {
    for all in [false, true] {
        connections_cut("redis", "ycsb", all);
        connections_cut("memcached", "ycsb", all);
    }
}

#[test]
#[ignore = "all jobs: a minute"]
fn connections_that_are_cut_void_the_cell_in_every_job() {
    for (job, all) in JOBS.iter().flat_map(|job| [(job, false), (job, true)]) {
        connections_cut("redis", job, all);
        connections_cut("memcached", job, all);
    }
}

#[test]
fn a_port_that_somebody_else_listens_on_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    for name in ["redis", "memcached"] {
        let ran = Desk::new().kvtrial(&format!("run ycsb -s {name}://127.0.0.1:{port} --no-baselines --repeats 1"));
        assert!(ran.status == 2 && ran.stderr.contains(&port.to_string()), "{name}: {}", ran.said());
    }
}
