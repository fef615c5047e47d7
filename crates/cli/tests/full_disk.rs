//! A real disk that is full, below servers and libraries: a file system of 64 MiB, seen by one `kvtrial` and what it starts. Needs root.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Desk, Ran};
use std::os::unix::process::CommandExt;

/// Mounts 64 MiB on `disk`, which nobody else sees: it is gone with the last process that does.
fn on_a_disk_of_64_mib(command: &mut std::process::Command) {
    // SAFETY: unshare and mount touch no memory of ours but the strings, and are safe between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let (tmpfs, none) = (c"tmpfs".as_ptr(), std::ptr::null());
            let private = libc::MS_REC | libc::MS_PRIVATE;
            if libc::unshare(libc::CLONE_NEWNS) != 0
                || libc::mount(none, c"/".as_ptr(), none, private, none.cast()) != 0
                || libc::mkdir(c"disk".as_ptr(), 0o755) != 0
                || libc::mount(tmpfs, c"disk".as_ptr(), tmpfs, 0, c"size=64m,mode=755".as_ptr().cast()) != 0
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

/// Writes up to 200 MB of values that do not repeat to a store on 64 MiB; what was said, and processes of its servers that are left.
fn filled(store: &str) -> Ran {
    let desk = Desk::new();
    let words = format!(
        "run grow -s {store} --set items=4000 --set value=50000 --clients 2 --no-baselines --repeats 1 --warmups 0 --deadline 10s --base disk --out out"
    );
    let mut command = desk.command(&words);
    on_a_disk_of_64_mib(&mut command);
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
fn is_void_for(store: &str, kinds: &[&str], words: &[&str]) {
    let ran = filled(store);
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
        is_void_for("redis-unix,durability=os", &["refused", "server_died"], &["MISCONF", "No space", "AOF"]);
    }
}

#[test]
fn postgres_on_a_full_disk_refuses_or_ends_and_loses_nothing_it_acknowledged() {
    if may_mount() {
        is_void_for(
            "postgres-unix,durability=os",
            &["refused", "server_died", "connection_lost"],
            &["o space left", "disk", "ended"],
        );
    }
}

#[test]
fn etcd_on_a_full_disk_ends_and_loses_nothing_it_acknowledged() {
    if may_mount() {
        is_void_for("etcd,durability=os", &["refused", "server_died", "unknown"], &["o space left", "ended", "full"]);
    }
}

#[test]
fn sqlite_on_a_full_disk_refuses_and_loses_nothing_it_acknowledged() {
    if may_mount() {
        is_void_for("sqlite", &["refused"], &["full"]);
    }
}

#[test]
fn mariadb_on_a_full_disk_is_not_run_or_refuses() {
    if may_mount() {
        let ran = filled("mysql-unix,durability=os");
        println!("{}", ran.said());
        assert_ne!(ran.status, 0, "{}", ran.said());
    }
}
