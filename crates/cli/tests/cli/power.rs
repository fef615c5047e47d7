//! `kvtrial crash --how power`: proof stores with a known fault are found out in power cuts, an honest one loses nothing, and nothing stays mounted.
//! It takes root and /dev/fuse; elsewhere each test says so and passes, but the one of what is said then.

#![allow(clippy::unwrap_used)]

use crate::common::Desk;
use crash::proof::{POWER_FAULTS, POWER_NAME, Shows, find};
use runner::{Blow, BrokenFiles, CrashRequest, Crashed, Execution, crash};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::CommandLine;
use study::{CrashCut, CrashMoment, DiskKind, Durability, Spec};

/// Cuts within which each fault must be found.
const MOST_CUTS: u32 = 20;

fn kvtrial(command: &str) -> CommandLine {
    CommandLine::new(env!("CARGO_BIN_EXE_kvtrial")).arg(command)
}

/// Whether power can be cut here; said where not.
fn is_possible() -> bool {
    match runner::missing_for_power(DiskKind::Honest, runner::DISK_BYTES) {
        None => true,
        Some(missing) => {
            println!("not tried: {missing}");
            false
        }
    }
}

/// Cuts the power of a proof store until `is_enough`; the cuts.
fn cuts(fault: &str, disk: DiskKind, cuts: u32, is_enough: &dyn Fn(&CrashCut) -> bool) -> Vec<CrashCut> {
    let desk = Desk::new();
    let spec = Spec { options: [("fault".to_owned(), fault.to_owned())].into(), ..Spec::private(POWER_NAME) };
    let request = CrashRequest {
        info: find(POWER_NAME).unwrap(),
        spec: spec.with_durability(Durability::Commit),
        base: desk.path().to_owned(),
        clients: 2,
        seed: 42,
        // Of many sectors, so that some are torn; where there are many cuts, the log that is read again after each must not get long.
        value_bytes: if cuts > 100 { 256 } else { 16 << 10 },
        done: 0,
        cuts,
        blow: Blow::Power { disk, bytes: runner::DISK_BYTES, server: kvtrial("disk-server") },
        during: CrashMoment::Write,
        earliest: Duration::ZERO,
        longest: Duration::from_millis(40),
        deadline: Duration::from_secs(10),
        broken: BrokenFiles::Removed,
    };
    let mut made = Vec::new();
    let enough = AtomicBool::new(false);
    crash(&request, &Execution::workers(kvtrial("fork-server")), &enough, &mut |heard| {
        if let Crashed::Cut(cut) = heard {
            enough.store(is_enough(cut), Ordering::Relaxed);
            made.push(cut.clone());
        }
    })
    .unwrap();
    assert!(mounts_below(desk.path()).is_empty());
    made
}

fn is_wrong(cut: &CrashCut) -> bool {
    cut.not_started.is_some() || !cut.found.examples.is_empty()
}

#[test]
fn each_fault_that_a_kill_does_not_show_is_found_in_power_cuts() {
    if !is_possible() {
        return;
    }
    for (fault, shows) in POWER_FAULTS {
        let made = cuts(fault, DiskKind::Honest, MOST_CUTS, &|cut| shows.is_in(&cut.found));
        let last = made.last().unwrap();
        assert!(shows.is_in(&last.found) && last.breaks(Durability::Commit), "{fault}: {made:#?}");
        println!("{fault}: found in cut {}", last.cut);
    }
}

#[test]
fn a_disk_that_lies_is_found_out_below_an_honest_store() {
    if !is_possible() {
        return;
    }
    let made = cuts("none", DiskKind::Lies, MOST_CUTS, &|cut| Shows::Lost.is_in(&cut.found));
    let last = made.last().unwrap();
    assert!(Shows::Lost.is_in(&last.found), "{made:#?}");
    assert_eq!(last.power.unwrap().disk, DiskKind::Lies);
}

#[test]
fn a_file_system_that_is_shut_down_shows_what_was_never_synced() {
    if !is_possible() {
        return;
    }
    let made = cuts("never-syncs", DiskKind::Halts, MOST_CUTS, &|cut| Shows::Lost.is_in(&cut.found));
    assert!(Shows::Lost.is_in(&made.last().unwrap().found), "{made:#?}");
    let made = cuts("none", DiskKind::Halts, 5, &is_wrong);
    assert!(made.len() == 5 && !made.iter().any(is_wrong), "{made:#?}");
}

#[test]
fn each_fault_is_found_where_file_calls_are_recorded_and_an_honest_store_is_not_accused() {
    if let Some(missing) = runner::missing_for_power(DiskKind::Recorded, runner::DISK_BYTES) {
        println!("not tried: {missing}");
        return;
    }
    for (fault, shows) in POWER_FAULTS {
        let made = cuts(fault, DiskKind::Recorded, MOST_CUTS, &|cut| shows.is_in(&cut.found));
        let last = made.last().unwrap();
        assert!(shows.is_in(&last.found) && last.breaks(Durability::Commit), "{fault}: {made:#?}");
    }
    let made = cuts("none", DiskKind::Recorded, 40, &is_wrong);
    assert!(made.len() == 40 && !made.iter().any(is_wrong), "{:#?}", made.last());
    assert!(made.iter().any(|cut| cut.power.unwrap().unflushed_sectors > 0));
}

#[test]
fn stores_are_recorded_whether_they_are_libraries_or_servers() {
    let desk = Desk::new();
    let ran = desk.kvtrial(
        "crash sqlite,durability=commit redis-unix,durability=commit --how power --disk recorded --cuts 3 --within 100ms --out out",
    );
    assert_eq!(ran.status, 0, "{}", ran.said());
    let said = ran.said().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("derived from recorded file calls"), "{said}");
    let text = fs::read_to_string(desk.path().join("out/study.json")).unwrap();
    let study: serde_json::Value = serde_json::from_str(&text).unwrap();
    for case in study["crash"]["cases"].as_array().unwrap() {
        for cut in case["cuts"].as_array().unwrap() {
            assert!(
                cut["power"]["written_sectors"].as_u64() > Some(0) && cut["power"]["flushes"].as_u64() > Some(0),
                "{cut}"
            );
        }
    }
}

#[test]
fn an_honest_store_loses_nothing_in_60_power_cuts() {
    honest(60);
}

#[test]
#[ignore = "minutes: a thousand power cuts"]
fn an_honest_store_loses_nothing_in_1000_power_cuts() {
    honest(1000);
}

fn honest(count: u32) {
    if !is_possible() {
        return;
    }
    let made = cuts("none", DiskKind::Honest, count, &is_wrong);
    assert!(made.len() as u32 == count && !made.iter().any(is_wrong), "{:#?}", made.last());
    let measured = made.iter().filter(|cut| cut.not_measured.is_none()).count();
    assert!(measured as u32 > count / 2, "{measured} of {count} measured something");
    // Some of them came while sectors were on their way.
    assert!(made.iter().any(|cut| cut.power.unwrap().unflushed_sectors > 0));
}

/// Where something is mounted below a directory.
fn mounts_below(directory: &Path) -> Vec<String> {
    let of = directory.display().to_string();
    let list = fs::read_to_string("/proc/self/mountinfo").unwrap();
    list.lines().filter(|line| line.contains(&of)).map(str::to_owned).collect()
}

/// A `kvtrial` that cuts power for a long time, with its disk mounted.
fn at_work(desk: &Desk) -> Child {
    let mut command = desk.command("crash sqlite,durability=commit --how power --cuts 10000 --within 100ms --out out");
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while mounts_below(desk.path()).len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(20), "it mounts nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").arg(name).arg(child.id().to_string()).status().unwrap().success());
}

#[test]
fn nothing_stays_mounted_after_an_interruption_or_kill_9_of_kvtrial() {
    if !is_possible() {
        return;
    }
    for (name, pause_ms) in [("-INT", 300), ("-KILL", 300), ("-KILL", 20), ("-KILL", 410)] {
        let desk = Desk::new();
        let mut child = at_work(&desk);
        std::thread::sleep(Duration::from_millis(pause_ms));
        signal(&child, name);
        child.wait().unwrap();
        let begun = Instant::now();
        while !(mounts_below(desk.path()).is_empty() && desk.left_behind().is_empty()) {
            let left = (mounts_below(desk.path()), desk.left_behind());
            assert!(begun.elapsed() < Duration::from_secs(10), "after {name}: {left:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn the_means_is_said_in_the_table_and_in_the_study() {
    if !is_possible() {
        return;
    }
    let desk = Desk::new();
    let ran =
        desk.kvtrial("crash power-proof,fault=never-syncs --how power --disk-size 64MiB --cuts 2 --clients 2 --within 30ms --out out");
    let said = ran.said().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(ran.status, 1, "{said}");
    assert!(said.contains("broke its promise of durability commit: in 2 power cuts"), "{said}");
    assert!(said.contains("the power of the disk was cut while clients wrote"), "{said}");
    let text = fs::read_to_string(desk.path().join("out/study.json")).unwrap();
    let study: serde_json::Value = serde_json::from_str(&text).unwrap();
    let crash = &study["crash"];
    assert_eq!((&crash["means"], &crash["disk"]), (&"power".into(), &"honest".into()));
    assert!(crash["cases"][0]["cuts"][0]["power"]["kept"].is_string(), "{crash}");
}

#[test]
fn what_power_cuts_cannot_do_is_refused_with_what_can_be_done() {
    let desk = Desk::new();
    let ran = desk.kvtrial("crash sqlite --disk lies --out out");
    assert!(ran.status == 2 && ran.said().contains("--disk is for --how power"), "{}", ran.said());
    let ran = desk.kvtrial("crash sqlite --disk-size 512MiB --out out");
    assert!(ran.status == 2 && ran.said().contains("--disk-size is for --how power"), "{}", ran.said());
    let ran = desk.kvtrial("crash sqlite --how power --disk-size 1MiB --out out");
    assert!(ran.status == 2 && ran.said().contains("use a size from 64 MiB"), "{}", ran.said());
    let ran = desk.kvtrial("crash etcd,nodes=3 --how power --nodes 1 --out out");
    let words = ["a power cut takes all nodes", "needs root", "/dev/fuse"];
    assert!(ran.status == 2 && words.iter().any(|words| ran.said().contains(words)), "{}", ran.said());
}
