//! The matrix of faults: whatever breaks while a study runs, the verdict says what it was, the study ends soon, nothing is left behind,
//! and it can be gone on with.
//!
//! A fault is a row of [`MATRIX`], a store and a job are its columns.
//! 67 cells run with every test, 223 more with `--ignored` (`./test --full`).
//! `KVTRIAL_CELLS="frozen: redis"` in the environment tries only cells whose name, such as `server frozen: redis-unix, fans`, holds these
//! words.
//!
//! How soon is a part of what is tried, so this is a program of its own, and cells take turns.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "faults/ports.rs"]
mod ports;
#[path = "faults/proxy.rs"]
mod proxy;
#[path = "faults/rows.rs"]
mod rows;
#[path = "faults/running.rs"]
mod running;
#[path = "faults/turn.rs"]
mod turn;

use std::panic;
use std::time::Instant;
use turn::Turn;

/// Stores whose work is done in the worker.
const EMBEDDED: &[&str] = &["ram", "lmdb", "sqlite", "redb", "fjall", "kyotocabinet", "rocksdb"];
/// Stores with a server.
const SERVERS: &[&str] = &["redis-unix", "memcached", "postgres-unix", "mysql-unix", "etcd", "tyrant", "mongodb-unix"];
const JOBS: &[&str] = &["fans", "ycsb", "bulk", "append"];
const YCSB: &[&str] = &["ycsb"];

/// Stores, each with every one of these jobs.
type Block = (&'static [&'static str], &'static [&'static str]);

/// A fault, and the cells it is tried in.
struct Row {
    fault: &'static str,
    one: fn(&str, &str),
    /// With every test.
    always: &'static [Block],
    /// With `--ignored`, beside those.
    full: &'static [Block],
}

const MATRIX: &[Row] = &[
    Row {
        fault: "server killed",
        one: rows::server_killed,
        always: &[(&["redis-unix"], JOBS), (&["memcached", "postgres-unix", "etcd"], YCSB)],
        full: &[
            (&["memcached", "postgres-unix", "etcd"], &["fans", "bulk", "append"]),
            (&["mysql-unix", "tyrant", "mongodb-unix"], JOBS),
        ],
    },
    Row {
        fault: "server frozen",
        one: rows::server_frozen,
        always: &[(&["redis-unix"], JOBS), (&["memcached"], YCSB)],
        full: &[
            (&["memcached"], &["fans", "bulk", "append"]),
            (&["postgres-unix", "mysql-unix", "etcd", "tyrant", "mongodb-unix"], JOBS),
        ],
    },
    Row {
        fault: "server of the user's killed",
        one: rows::users_server_killed,
        always: &[(&["redis", "memcached"], YCSB)],
        full: &[(&["redis", "memcached"], &["fans", "bulk", "append"])],
    },
    Row {
        fault: "worker killed",
        one: rows::worker_killed,
        always: &[(&["lmdb"], JOBS), (&["ram", "kyotocabinet", "redis-unix"], YCSB)],
        full: &[
            (&["ram", "kyotocabinet", "redis-unix"], &["fans", "bulk", "append"]),
            (
                &[
                    "sqlite",
                    "rocksdb",
                    "redb",
                    "fjall",
                    "memcached",
                    "postgres-unix",
                    "mysql-unix",
                    "etcd",
                    "tyrant",
                    "mongodb-unix",
                ],
                JOBS,
            ),
        ],
    },
    Row {
        fault: "call without end",
        one: rows::call_without_end,
        always: &[(&["lmdb", "sqlite"], YCSB)],
        full: &[
            // Kyoto Cabinet is through with a bulk load before it could be stopped.
            (&["kyotocabinet"], &["fans", "ycsb", "append"]),
            (&["rocksdb", "ram", "redb", "fjall"], JOBS),
            (&["lmdb", "sqlite"], &["fans", "bulk", "append"]),
        ],
    },
    Row {
        fault: "worker frozen",
        one: rows::worker_frozen,
        always: &[(&["ram", "lmdb", "redis-unix"], YCSB)],
        full: &[(&["sqlite", "redb", "fjall", "kyotocabinet", "rocksdb"], YCSB)],
    },
    Row {
        fault: "fork server killed",
        one: rows::nursery_killed,
        always: &[(&["ram", "redis-unix"], YCSB)],
        full: &[(&["lmdb", "memcached", "postgres-unix"], YCSB)],
    },
    Row {
        fault: "kvtrial killed",
        one: rows::kvtrial_killed,
        always: &[(&["ram", "lmdb", "redis-unix", "memcached"], YCSB)],
        full: &[
            (&["sqlite", "fjall", "redb", "kyotocabinet", "rocksdb"], YCSB),
            (&["postgres-unix", "mysql-unix", "etcd", "tyrant", "mongodb-unix"], YCSB),
        ],
    },
    Row {
        fault: "guard killed",
        one: rows::guard_killed,
        always: &[(&["lmdb", "redis-unix"], YCSB)],
        full: &[(&["postgres-unix", "memcached"], YCSB)],
    },
    Row {
        fault: "SIGINT",
        one: |store, job| rows::asked_to_end(store, job, libc::SIGINT),
        always: &[(&["ram", "redis-unix", "lmdb"], YCSB)],
        full: &[(&["sqlite", "memcached", "redb", "fjall", "kyotocabinet", "rocksdb"], YCSB), (BIG_SERVERS, YCSB)],
    },
    Row {
        fault: "SIGTERM",
        one: |store, job| rows::asked_to_end(store, job, libc::SIGTERM),
        always: &[(&["ram", "redis-unix"], YCSB)],
        full: &[(OTHERS, YCSB), (BIG_SERVERS, YCSB)],
    },
    Row {
        fault: "SIGHUP",
        one: |store, job| rows::asked_to_end(store, job, libc::SIGHUP),
        always: &[(&["ram", "redis-unix"], YCSB)],
        full: &[(OTHERS, YCSB), (BIG_SERVERS, YCSB)],
    },
    Row {
        fault: "terminal closed",
        one: rows::terminal_closed,
        always: &[(&["lmdb", "redis-unix"], YCSB)],
        full: &[(&["ram", "postgres-unix"], YCSB)],
    },
    Row {
        fault: "disk full in mid run",
        one: rows::disk_full_in_mid_run,
        always: &[(&["sqlite", "redb"], &["bulk"]), (&["sqlite"], &["append"])],
        // The others take more than the limit when they are opened, or keep nothing on a disk.
        full: &[
            (&["sqlite", "redb"], &["fans"]),
            (&["redb"], &["append"]),
            (&["lmdb", "rocksdb"], &["fans", "bulk", "append"]),
        ],
    },
    Row {
        fault: "disk full below a mapped file",
        one: rows::mapped_disk_full,
        always: &[(&["kyotocabinet"], &["fans"])],
        full: &[],
    },
    Row {
        fault: "disk full at set-up",
        one: rows::disk_full_at_set_up,
        always: &[(&["sqlite", "lmdb", "fjall"], YCSB)],
        full: &[(&["sqlite", "lmdb", "fjall"], &["fans", "bulk", "append"]), (&["redb", "kyotocabinet"], JOBS)],
    },
    Row {
        fault: "memory limit of the worker",
        one: rows::workers_memory_limited,
        always: &[(&["ram", "redb", "fjall"], YCSB)],
        // The others take all they need when they are opened.
        full: &[],
    },
    Row {
        fault: "memory limit of a private server",
        one: rows::servers_memory_limited,
        always: &[(&["redis-unix", "memcached"], YCSB)],
        // The others keep in memory what they have taken from the start, or little.
        full: &[(&["etcd"], YCSB)],
    },
    Row {
        fault: "memory limit in the settings of the user's server",
        one: rows::users_server_full,
        always: &[(&["redis", "memcached"], YCSB)],
        full: &[],
    },
    Row {
        fault: "memory limit at set-up",
        one: rows::memory_limited_at_set_up,
        always: &[(&["lmdb"], YCSB)],
        // The others need less than kvtrial itself.
        full: &[(&["fjall", "rocksdb"], YCSB)],
    },
    Row {
        fault: "one connection cut",
        one: |store, job| rows::connections_cut(store, job, proxy::Cut::Busiest),
        always: &[(&["redis", "memcached"], YCSB)],
        full: &[(&["redis", "memcached"], &["fans", "bulk", "append"])],
    },
    Row {
        fault: "all connections cut",
        one: |store, job| rows::connections_cut(store, job, proxy::Cut::All),
        always: &[(&["redis", "memcached"], YCSB)],
        full: &[(&["redis", "memcached"], &["fans", "bulk", "append"])],
    },
    Row {
        fault: "port of a URL taken by another",
        one: ports::stranger_at_the_url,
        always: &[(&["redis", "memcached"], YCSB)],
        full: &[],
    },
    Row {
        fault: "port of a private server taken meanwhile",
        one: ports::taken_once,
        always: &[(&["redis", "memcached"], YCSB)],
        full: &[],
    },
    Row {
        fault: "port of a private server taken every time",
        one: ports::taken_every_time,
        always: &[(&["redis"], YCSB)],
        full: &[(&["memcached"], YCSB)],
    },
];

/// How the faults begin that must have a cell with every test.
const NAMED: [&str; 18] = [
    "server killed",
    "server frozen",
    "disk full in mid run",
    "disk full at set-up",
    "memory limit of the worker",
    "memory limit of a private server",
    "memory limit at set-up",
    "one connection cut",
    "all connections cut",
    "port of a URL taken",
    "port of a private server taken",
    "SIGINT",
    "SIGTERM",
    "SIGHUP",
    "terminal closed",
    "kvtrial killed",
    "worker killed",
    "guard killed",
];

/// The rows about memory.
const MEMORY: [&str; 4] = [
    "memory limit of the worker",
    "memory limit of a private server",
    "memory limit in the settings of the user's server",
    "memory limit at set-up",
];

const BIG_SERVERS: &[&str] = &["postgres-unix", "mysql-unix", "etcd", "tyrant", "mongodb-unix"];
const OTHERS: &[&str] = &["lmdb", "sqlite", "redb", "fjall", "kyotocabinet", "rocksdb", "memcached"];

fn cells(blocks: &[Block]) -> Vec<(&'static str, &'static str)> {
    let pairs = |(stores, jobs): &Block| -> Vec<_> {
        let (stores, jobs): Block = (stores, jobs);
        stores.iter().flat_map(|store| jobs.iter().map(move |job| (*store, *job))).collect()
    };
    blocks.iter().flat_map(pairs).collect()
}

fn row(fault: &str) -> &'static Row {
    MATRIX.iter().find(|row| row.fault == fault).unwrap_or_else(|| panic!("no fault '{fault}'"))
}

/// One cell after the other; those that fail are named at the end, after all others were tried.
fn run(faults: &[&str], blocks: fn(&Row) -> &[Block]) {
    let mut failed = Vec::new();
    for row in faults.iter().map(|fault| row(fault)) {
        for (store, job) in cells(blocks(row)) {
            let name = format!("{}: {store}, {job}", row.fault);
            if std::env::var("KVTRIAL_CELLS").is_ok_and(|only| !name.contains(&only)) {
                continue;
            }
            let _turn = Turn::wait();
            let begun = Instant::now();
            let went = panic::catch_unwind(|| (row.one)(store, job));
            let how = if went.is_ok() { "ok" } else { "FAILED" };
            println!("{:6.1} s {how}: {name}", begun.elapsed().as_secs_f64());
            if went.is_err() {
                failed.push(name);
            }
        }
    }
    assert!(failed.is_empty(), "failed, each as said above: {failed:#?}");
}

/// The cells of these rows that run with every test.
fn always(faults: &[&str]) {
    run(faults, |row| row.always);
}

/// Their other cells.
fn full(faults: &[&str]) {
    run(faults, |row| row.full);
}

#[test]
fn the_matrix_has_sixty_cells_in_every_test_and_every_store_and_job_in_all() {
    let count = |blocks: fn(&Row) -> &[Block]| MATRIX.iter().map(|row| cells(blocks(row)).len()).sum::<usize>();
    let (always, full) = (count(|row| row.always), count(|row| row.full));
    for row in MATRIX {
        println!("{:>4} {:>4}  {}", cells(row.always).len(), cells(row.full).len(), row.fault);
    }
    let counted = format!("{always} cells run with every test, {full} more with `--ignored`");
    println!("{counted}; {} faults", MATRIX.len());
    assert!(
        include_str!("faults.rs").contains(&format!("//! {counted}")),
        "say so in the head of this file: {counted}"
    );
    assert!(always >= 60 && full >= 100 && MATRIX.len() >= 15, "{always} and {full}");
    for fault in NAMED {
        let of_it = MATRIX.iter().filter(|row| row.fault.starts_with(fault));
        assert!(of_it.flat_map(|row| cells(row.always)).count() > 0, "{fault}: no cell with every test");
    }
    for row in MATRIX {
        let mut all = [cells(row.always), cells(row.full)].concat();
        let before = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), before, "{}: a cell is there twice", row.fault);
    }
    let all: Vec<_> = MATRIX.iter().flat_map(|row| [cells(row.always), cells(row.full)].concat()).collect();
    for store in EMBEDDED.iter().chain(SERVERS) {
        for job in JOBS {
            assert!(all.contains(&(store, job)), "{store} with {job}");
        }
    }
}

#[test]
fn a_server_that_is_killed_ends_the_cell_at_once_by_name() {
    always(&["server killed"]);
}

#[test]
#[ignore = "all servers and jobs: minutes"]
fn a_server_that_is_killed_ends_the_cell_at_once_by_name_everywhere() {
    full(&["server killed"]);
}

#[test]
fn a_server_that_is_frozen_ends_the_cell_at_the_deadline() {
    always(&["server frozen"]);
}

#[test]
#[ignore = "all servers and jobs: minutes"]
fn a_server_that_is_frozen_ends_the_cell_at_the_deadline_everywhere() {
    full(&["server frozen"]);
}

#[test]
fn a_server_of_the_users_that_dies_ends_the_cell_at_the_deadline() {
    always(&["server of the user's killed"]);
}

#[test]
#[ignore = "all jobs: a minute"]
fn a_server_of_the_users_that_dies_ends_the_cell_at_the_deadline_everywhere() {
    full(&["server of the user's killed"]);
}

#[test]
fn a_call_that_never_returns_voids_its_cell_a_second_after_the_deadline_and_the_next_trial_goes_on() {
    always(&["call without end"]);
}

#[test]
#[ignore = "all embedded stores and jobs: minutes"]
fn a_call_that_never_returns_voids_its_cell_a_second_after_the_deadline_everywhere() {
    full(&["call without end"]);
}

#[test]
fn a_worker_that_is_frozen_voids_its_cell_a_second_after_the_deadline() {
    always(&["worker frozen"]);
}

#[test]
#[ignore = "all embedded stores: a minute"]
fn a_worker_that_is_frozen_voids_its_cell_a_second_after_the_deadline_everywhere() {
    full(&["worker frozen"]);
}

#[test]
fn a_worker_that_is_killed_voids_its_cell_by_name() {
    always(&["worker killed"]);
}

#[test]
#[ignore = "all stores and jobs: minutes"]
fn a_worker_that_is_killed_voids_its_cell_by_name_everywhere() {
    full(&["worker killed"]);
}

#[test]
fn the_trial_after_a_nursery_that_was_killed_has_another() {
    always(&["fork server killed"]);
}

#[test]
fn a_kvtrial_that_is_killed_leaves_nothing_and_its_study_goes_on() {
    always(&["kvtrial killed"]);
}

#[test]
#[ignore = "all stores: minutes"]
fn processes_of_kvtrial_that_are_killed_leave_nothing_and_the_study_goes_on_everywhere() {
    full(&["kvtrial killed", "fork server killed", "guard killed"]);
}

#[test]
fn a_guard_that_is_killed_is_missed_by_nobody() {
    always(&["guard killed"]);
}

#[test]
fn a_signal_that_asks_to_end_is_obeyed_and_the_study_goes_on() {
    always(&["SIGINT", "SIGTERM", "SIGHUP"]);
}

#[test]
#[ignore = "all stores: minutes"]
fn a_signal_that_asks_to_end_is_obeyed_and_the_study_goes_on_everywhere() {
    full(&["SIGINT", "SIGTERM", "SIGHUP", "terminal closed"]);
}

#[test]
fn a_terminal_that_is_closed_leaves_nothing_and_the_study_goes_on() {
    always(&["terminal closed"]);
}

#[test]
fn a_disk_that_fills_voids_the_cell_and_not_the_study() {
    always(&["disk full in mid run"]);
}

#[test]
#[ignore = "all embedded stores and jobs: minutes"]
fn a_disk_that_fills_voids_the_cell_and_not_the_study_everywhere() {
    full(&["disk full in mid run", "disk full at set-up"]);
}

#[test]
fn a_store_that_is_killed_by_the_disk_below_it_voids_its_cell_and_the_study_goes_on() {
    // SAFETY: geteuid touches no memory.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("not tried: only root can mount a file system that is full");
    }
    always(&["disk full below a mapped file"]);
}

#[test]
fn a_disk_that_is_full_from_the_start_is_said() {
    always(&["disk full at set-up"]);
}

#[test]
fn a_process_of_kvtrials_own_without_memory_voids_the_cell_and_not_the_study() {
    always(&MEMORY[..2]);
}

#[test]
fn a_server_of_the_users_or_a_set_up_without_memory_voids_the_cell_and_not_the_study() {
    always(&MEMORY[2..]);
}

#[test]
#[ignore = "all stores: a minute"]
fn a_process_without_memory_voids_the_cell_and_not_the_study_everywhere() {
    full(&MEMORY);
}

#[test]
fn connections_that_are_cut_void_the_cell() {
    always(&["one connection cut", "all connections cut"]);
}

#[test]
#[ignore = "all jobs: a minute"]
fn connections_that_are_cut_void_the_cell_in_every_job() {
    full(&["one connection cut", "all connections cut"]);
}

#[test]
fn a_port_that_somebody_else_has_is_named_or_changed_for_another() {
    always(&[
        "port of a URL taken by another",
        "port of a private server taken meanwhile",
        "port of a private server taken every time",
    ]);
}

#[test]
#[ignore = "the rest of a row"]
fn a_port_that_somebody_else_has_is_named_or_changed_for_another_everywhere() {
    full(&["port of a private server taken every time"]);
}
