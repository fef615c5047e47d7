//! A real disk that is full, below servers and libraries: a file system of 64 MiB, seen by one `kvtrial` and what it starts. Needs root.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Desk, Ran};
use std::ffi::CStr;
use std::os::unix::process::CommandExt;

/// The options of a file system of 64 MiB.
const SMALL: &CStr = c"size=64m,mode=755";

/// Mounts a file system on `disk`, which nobody else sees: it is gone with the last process that does.
fn on_a_disk(command: &mut std::process::Command, size: &'static CStr) {
    // SAFETY: unshare and mount touch no memory of ours but the strings, and are safe between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let (tmpfs, none) = (c"tmpfs".as_ptr(), std::ptr::null());
            let private = libc::MS_REC | libc::MS_PRIVATE;
            if libc::unshare(libc::CLONE_NEWNS) != 0
                || libc::mount(none, c"/".as_ptr(), none, private, none.cast()) != 0
                || libc::mkdir(c"disk".as_ptr(), 0o755) != 0
                || libc::mount(tmpfs, c"disk".as_ptr(), tmpfs, 0, size.as_ptr().cast()) != 0
            {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        })
    };
}

fn may_mount() -> bool {
    // SAFETY: geteuid touches no memory.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        println!("not tried: only root can mount a file system that is full");
    }
    is_root
}

/// Keys that are overwritten until logs, histories and old rows fill what is left: the job itself would fit.
const OVERWRITES: &str =
    "ycsb --set records=200 --set value=20000 --set read=0.2 --set update=0.8 --set operations=20000";

/// Values that would just fit, were it not for what lies around them.
const TIGHT: &str = "grow --set items=1335 --set value=50000";

/// Runs a job on a store on such a disk; nothing of its servers may be left.
fn filled(job: &str, store: &str, size: &'static CStr) -> Ran {
    let desk = Desk::new();
    let words = format!(
        "run {job} -s {store} --clients 2 --no-baselines --repeats 1 --warmups 0 --deadline 10s --base disk --out out"
    );
    let mut command = desk.command(&words);
    on_a_disk(&mut command, size);
    let ran = desk.finished(command.output().unwrap());
    // The mount is in no name space but theirs, so a process that is left would be seen by its directory.
    let place = desk.path().join("disk");
    let left: Vec<String> = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|words| String::from_utf8_lossy(&words).replace('\0', " "))
        .filter(|words| words.contains(place.to_str().unwrap()))
        .collect();
    assert_eq!(left, [""; 0], "{store}");
    assert_eq!(
        std::fs::read_dir(&place).unwrap().count(),
        0,
        "{store}: the disk was not unmounted, or it was not used"
    );
    ran
}

/// The run is void, for a reason of these, in words that say what is wrong; and it is not said that anything was lost.
fn is_void_for(job: &str, store: &str, kinds: &[&str], words: &[&str]) {
    void_for(&filled(job, store, SMALL), store, kinds, words);
}

fn void_for(ran: &Ran, store: &str, kinds: &[&str], words: &[&str]) {
    assert_eq!((ran.status, ran.verdict()), (1, "void"), "{store}: {}", ran.said());
    let why = kinds.iter().find_map(|kind| ran.why(kind));
    let (_, why) = why.unwrap_or_else(|| panic!("{store}: none of {kinds:?}\n{}", ran.said()));
    assert!(words.iter().any(|word| why.contains(word)), "{store}: {why}");
    for lie in ["lost_updates", "wrong_value", "foreign_data", "stale_value"] {
        assert!(ran.why(lie).is_none(), "{store}: {}", ran.said());
    }
}

#[test]
fn redis_on_a_full_disk_refuses_and_loses_nothing_it_acknowledged() {
    if may_mount() {
        is_void_for(
            OVERWRITES,
            "redis-unix,durability=os",
            &["refused", "server_died"],
            &["MISCONF", "No space", "AOF"],
        );
    }
}

#[test]
fn postgres_on_a_full_disk_refuses_or_ends_and_loses_nothing_it_acknowledged() {
    if may_mount() {
        is_void_for(
            OVERWRITES,
            "postgres-unix,durability=none",
            &["refused", "server_died", "connection_lost"],
            // 53100 is PostgreSQL's number for a full disk: where half a page found room, it says only that.
            &["o space left", "disk", "ended", "53100"],
        );
    }
}

#[test]
fn etcd_on_a_full_disk_ends_or_refuses_and_loses_nothing_it_acknowledged() {
    // It reserves 64 MiB for each piece of its log.
    if may_mount() {
        let ran = filled(OVERWRITES, "etcd,durability=os", c"size=160m,mode=755");
        void_for(&ran, "etcd", &["refused", "server_died", "unknown"], &["o space left", "ended", "full"]);
    }
}

#[test]
fn sqlite_on_a_full_disk_refuses_and_loses_nothing_it_acknowledged() {
    if may_mount() {
        is_void_for(TIGHT, "sqlite", &["refused"], &["full"]);
    }
}

/// MariaDB's own files need more than 64 MiB: the same on 160.
#[test]
fn mariadb_on_a_full_disk_refuses_and_loses_nothing_it_acknowledged() {
    if may_mount() {
        let ran = filled(OVERWRITES, "mysql-unix,durability=none", c"size=160m,mode=755");
        void_for(&ran, "mysql-unix", &["refused"], &["is full"]);
    }
}

#[test]
fn mariadb_that_has_no_room_for_its_own_files_is_not_started_and_leaves_nothing() {
    if may_mount() {
        let ran = filled(OVERWRITES, "mysql-unix,durability=none", SMALL);
        assert!(ran.status == 2 && ran.stderr.contains("mysql-unix did not start"), "{}", ran.said());
    }
}

#[test]
fn a_disk_too_small_for_a_crash_is_said_in_the_words_of_the_store() {
    if !may_mount() {
        return;
    }
    for spec in ["sqlite,durability=commit", "redis-unix,durability=os"] {
        let desk = Desk::new();
        let words = format!("crash {spec} --base disk --within 60s --cuts 1 --clients 2 --out out");
        let mut command = desk.command(&words);
        on_a_disk(&mut command, c"size=4m,mode=755");
        let ran = desk.finished(command.output().unwrap());
        let case = &ran.study.as_ref().unwrap()["crash"]["cases"][0];
        let problem = case["problem"].as_str().unwrap().to_lowercase();
        assert!(ran.status == 1 && case["promise"] == "not_shown", "{}", ran.said());
        assert!(["full", "no space left", "misconf"].iter().any(|words| problem.contains(words)), "{problem}");
    }
}
