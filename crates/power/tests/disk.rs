//! The disk as files on it see it. Needs root and /dev/fuse; elsewhere the tests say so and pass.
#![allow(clippy::unwrap_used, clippy::panic)]

use kvtrial_power::{DISK_BYTES, PowerDisk, missing, serve};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use study::{DiskKind, KeptSectors};

const BYTES: u64 = 256 << 20;

/// The process of the disks of the other tests is this program once more.
#[test]
#[ignore = "the process of the other tests' disks"]
fn serves() {
    serve();
}

fn served() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "serves", "--ignored", "--nocapture"]);
    command
}

/// A directory with a disk; `None` where there can be none.
fn laid(kind: DiskKind) -> Option<(tempfile::TempDir, PowerDisk)> {
    if let Some(missing) = missing(kind, DISK_BYTES) {
        println!("not tried: {missing}");
        return None;
    }
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("store")).unwrap();
    let disk = PowerDisk::start(served()).unwrap();
    disk.lay(&place.path().join("disk"), &place.path().join("store"), kind, BYTES).unwrap();
    Some((place, disk))
}

fn mounts_below(place: &Path) -> usize {
    let of = place.display().to_string();
    fs::read_to_string("/proc/self/mountinfo").unwrap().lines().filter(|line| line.contains(&of)).count()
}

#[test]
fn what_was_synced_is_whole_after_a_cut_and_what_was_not_is_gone() {
    let Some((place, disk)) = laid(DiskKind::Honest) else { return };
    let at = |name: &str| place.path().join("store").join(name);
    let synced = File::create(at("synced")).unwrap();
    synced.write_all_at(&[7; 100_000], 0).unwrap();
    synced.sync_all().unwrap();
    let half = File::create(at("half")).unwrap();
    half.write_all_at(&[7; 4096], 0).unwrap();
    half.sync_all().unwrap();
    half.write_all_at(&[8; 4096], 4096).unwrap();
    fs::write(at("unsynced"), [7; 100_000]).unwrap();
    fs::rename(at("synced"), at("renamed")).unwrap();
    let made = disk.cut(1).unwrap().made;
    assert!(made.flushes > 0 && made.written_sectors > 200, "{made:?}");
    // What comes later is not in it.
    let later = File::create(at("later")).unwrap();
    later.sync_all().unwrap();
    drop((synced, half, later));
    disk.swap().unwrap();
    assert_eq!(fs::read(at("synced")).unwrap(), vec![7; 100_000]);
    assert_eq!(fs::read(at("half")).unwrap(), vec![7; 4096]);
    for name in ["unsynced", "renamed", "later"] {
        assert!(!at(name).exists(), "{name}");
    }
    // It is a disk again.
    fs::write(at("more"), [9; 10]).unwrap();
    File::open(at("more")).unwrap().sync_all().unwrap();
    disk.cut(2).unwrap();
    disk.swap().unwrap();
    assert_eq!(fs::read(at("more")).unwrap(), vec![9; 10]);
    disk.save(&place.path().join("saved")).unwrap();
    assert_eq!(place.path().join("saved").metadata().unwrap().len(), BYTES);
    drop(disk);
    assert_eq!(mounts_below(place.path()), 0);
}

#[test]
fn many_cuts_of_one_run_and_each_seed_leaves_its_own() {
    let Some((place, disk)) = laid(DiskKind::Honest) else { return };
    let file = File::create(place.path().join("store/log")).unwrap();
    let mut kept = Vec::new();
    for round in 0..40_u64 {
        file.write_all_at(&[round as u8; 4096], round * 4096).unwrap();
        if round % 4 == 3 {
            file.sync_all().unwrap();
        }
        let made = disk.cut(round).unwrap().made;
        assert_eq!(disk.cut(round).unwrap().made, made);
        kept.push(made.kept);
    }
    for of in [KeptSectors::Nothing, KeptSectors::All, KeptSectors::Some] {
        assert!(kept.contains(&of), "{of:?}");
    }
}

#[test]
fn a_file_system_that_is_shut_down_keeps_what_was_synced_and_no_more() {
    let Some((place, disk)) = laid(DiskKind::Halts) else { return };
    let at = |name: &str| place.path().join("store").join(name);
    let before = disk.look().unwrap();
    let synced = File::create(at("synced")).unwrap();
    synced.write_all_at(&[7; 100_000], 0).unwrap();
    synced.sync_all().unwrap();
    fs::write(at("unsynced"), [7; 100_000]).unwrap();
    let made = disk.cut(1).unwrap().made;
    assert!(
        made.written_sectors >= before.written_sectors + 195 && made.flushes > before.flushes,
        "{before:?} {made:?}"
    );
    assert!(fs::write(at("later"), [7; 10]).is_err());
    drop(synced);
    disk.swap().unwrap();
    assert_eq!(fs::read(at("synced")).unwrap(), vec![7; 100_000]);
    let unsynced = fs::read(at("unsynced")).unwrap_or_default();
    assert!(unsynced.is_empty() && !at("later").exists());
    drop(disk);
    assert_eq!(mounts_below(place.path()), 0);
}

#[test]
fn a_disk_that_lies_loses_what_was_synced() {
    let Some((place, disk)) = laid(DiskKind::Lies) else { return };
    let mut lost = 0;
    for round in 0..5 {
        let path = place.path().join(format!("store/{round}"));
        let mut file = File::create(&path).unwrap();
        file.write_all(&[1; 5000]).unwrap();
        file.sync_all().unwrap();
        drop(file);
        disk.cut(round).unwrap();
        disk.swap().unwrap();
        lost += usize::from(!path.exists() || fs::read(&path).unwrap() != [1; 5000]);
    }
    assert!(lost > 0);
}

#[test]
fn nothing_stays_mounted_when_the_handle_is_killed() {
    let Some((place, disk)) = laid(DiskKind::Honest) else { return };
    assert_eq!(mounts_below(place.path()), 2);
    // Its process learns of its handle's end by the channel only.
    std::mem::forget(fs::File::open(place.path().join("store")).unwrap());
    drop(disk);
    let begun = Instant::now();
    while mounts_below(place.path()) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The most that tests of a busy machine may believe: the figure is for a quiet one.
#[test]
#[ignore = "a figure: synced writes per second on this disk and on the one below"]
fn synced_writes_take_at_most_three_times_as_long_as_on_ext4() {
    let Some((place, disk)) = laid(DiskKind::Honest) else { return };
    let rate = |path: &Path| {
        let file = File::create(path).unwrap();
        file.write_all_at(&vec![0; 1 << 20], 0).unwrap();
        file.sync_all().unwrap();
        let begun = Instant::now();
        let mut writes = 0_u64;
        while begun.elapsed() < Duration::from_secs(2) {
            file.write_all_at(&[writes as u8; 4096], writes % 256 * 4096).unwrap();
            file.sync_data().unwrap();
            writes += 1;
        }
        writes as f64 / begun.elapsed().as_secs_f64()
    };
    let (ours, theirs) = (rate(&place.path().join("store/file")), rate(&place.path().join("file")));
    println!("{ours:.0} synced writes of 4 KiB per second on this disk, {theirs:.0} below: {:.2}", ours / theirs);
    assert!(ours > 0.3 * theirs);
    drop(disk);
}
