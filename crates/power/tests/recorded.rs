//! Power cuts derived from recorded file calls. They need neither root nor a device.
#![allow(clippy::unwrap_used, clippy::panic)]

use kvtrial_power::{DISK_BYTES, PowerDisk, hold, missing, serve};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use study::{DiskKind, KeptSectors};

/// The process of the disks of the other tests is this program once more.
#[test]
#[ignore = "the process of the other tests' disks"]
fn serves() {
    serve();
}

fn this(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command
}

/// A store that does what its line says to files in its directory.
#[test]
#[ignore = "the store of the other tests"]
fn writes() {
    let at = |name: &str| PathBuf::from(std::env::var("STORE").unwrap()).join(name);
    let synced = |name: &str, bytes: &[u8]| {
        let file = File::create(at(name)).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        file.sync_all().unwrap();
        file
    };
    for line in std::io::stdin().lines() {
        match line.unwrap().as_str() {
            "first" => {
                synced("synced", &[7; 100_000]);
                fs::create_dir(at("directory")).unwrap();
                let half = synced("directory/half", &[7; 4096]);
                half.write_all_at(&[8; 4096], 4096).unwrap();
                half.write_all_at(&[8; 512], 0).unwrap();
                let mut appended = OpenOptions::new().create(true).append(true).open(at("appended")).unwrap();
                appended.write_all(&[1; 700]).unwrap();
                appended.sync_data().unwrap();
                appended.write_all(&[2; 700]).unwrap();
                let through = OpenOptions::new()
                    .create(true)
                    .write(true)
                    .truncate(true)
                    .custom_flags(libc::O_DSYNC)
                    .open(at("through"));
                through.unwrap().write_all(&[3; 5000]).unwrap();
                let shortened = synced("shortened", &[4; 9000]);
                shortened.set_len(100).unwrap();
                fs::write(at("unsynced"), [5; 3000]).unwrap();
                fs::rename(at("synced"), at("renamed")).unwrap();
            }
            "mapped" => {
                let file =
                    OpenOptions::new().create(true).truncate(true).read(true).write(true).open(at("mapped")).unwrap();
                file.set_len(8192).unwrap();
                // SAFETY: the mapping is ours, as long as the file, and nobody else has it.
                unsafe {
                    let (flags, both) = (libc::MAP_SHARED, libc::PROT_READ | libc::PROT_WRITE);
                    let memory = libc::mmap(std::ptr::null_mut(), 8192, both, flags, file.as_raw_fd(), 0).cast::<u8>();
                    memory.write_bytes(6, 4096);
                    assert_eq!(libc::msync(memory.cast(), 8192, libc::MS_SYNC), 0);
                    memory.add(4096).write_bytes(9, 4096);
                }
            }
            other => panic!("{other}"),
        }
        println!("\ndone");
    }
}

/// A store whose calls are recorded.
struct Recorded {
    place: tempfile::TempDir,
    disk: PowerDisk,
    store: Child,
}

impl Recorded {
    fn new() -> Option<Recorded> {
        if let Some(missing) = missing(DiskKind::Recorded, DISK_BYTES) {
            println!("not tried: {missing}");
            return None;
        }
        let place = tempfile::tempdir().unwrap();
        let (directory, files) = (place.path().join("disk"), place.path().join("store"));
        fs::create_dir(&files).unwrap();
        let disk = PowerDisk::start(this("serves")).unwrap();
        disk.lay(&directory, &files, DiskKind::Recorded, DISK_BYTES).unwrap();
        let mut command = this("writes");
        command.env("STORE", &files).stdin(Stdio::piped()).stdout(Stdio::piped());
        hold(&mut command, &directory).unwrap();
        Some(Recorded { place, disk, store: command.spawn().unwrap() })
    }

    fn does(&mut self, line: &str) {
        self.store.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut said = BufReader::new(self.store.stdout.as_mut().unwrap());
        let mut line = String::new();
        while line.trim() != "done" {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "the store has ended");
        }
    }

    fn kill(&mut self) {
        self.store.kill().unwrap();
        self.store.wait().unwrap();
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join("store").join(name)
    }

    /// What a cut with this seed leaves.
    fn left(&self, seed: u64) -> (KeptSectors, PathBuf) {
        let made = self.disk.cut(seed).unwrap().made;
        assert!(
            made.disk == DiskKind::Recorded && made.flushes >= 5 && made.kept_sectors <= made.unflushed_sectors,
            "{made:?}"
        );
        let left = self.place.path().join(format!("left-{seed}"));
        self.disk.save(&left).unwrap();
        (made.kept, left)
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let _ = self.store.kill();
        let _ = self.store.wait();
    }
}

fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn what_was_synced_is_left_by_every_cut_and_of_what_was_not_the_seed_chooses() {
    let Some(mut recorded) = Recorded::new() else { return };
    recorded.does("first");
    let mut kinds = BTreeSet::new();
    let (mut lengths, mut names) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..40 {
        let (kept, left) = recorded.left(seed);
        kinds.insert(format!("{kept:?}"));
        let half = read(&left.join("directory/half"));
        assert_eq!(half[512..4096], [7; 3584]);
        assert!(half[..512] == [7; 512] || half[..512] == [8; 512], "a sector is whole");
        assert!(half[4096..].iter().all(|byte| [0, 8].contains(byte)));
        lengths.insert(half.len());
        assert_eq!(read(&left.join("appended"))[..700], [1; 700]);
        assert_eq!(read(&left.join("through")), [3; 5000]);
        let name = if left.join("renamed").exists() { "renamed" } else { "synced" };
        assert_eq!(read(&left.join(name)), [7; 100_000]);
        names.insert(name);
        let shortened = read(&left.join("shortened"));
        assert!([100, 9000].contains(&shortened.len()) && shortened.iter().all(|byte| *byte == 4));
        match kept {
            KeptSectors::Nothing => {
                assert_eq!((half.len(), name, shortened.len()), (4096, "synced", 9000));
                assert!(!left.join("unsynced").exists());
            }
            KeptSectors::All => {
                assert_eq!((half.len(), name, shortened.len()), (8192, "renamed", 100));
                assert_eq!(read(&left.join("unsynced")), [5; 3000]);
            }
            KeptSectors::Some => {}
        }
    }
    assert!(kinds.len() == 3 && names.len() == 2 && lengths.len() > 3, "{kinds:?} {names:?} {lengths:?}");
    // The same seed leaves the same.
    fs::rename(recorded.place.path().join("left-7"), recorded.place.path().join("before")).unwrap();
    let (_, left) = recorded.left(7);
    let half = |of: &Path| read(&of.join("directory/half"));
    assert_eq!(half(&left), half(&recorded.place.path().join("before")));
}

#[test]
fn memory_that_is_a_file_is_durable_with_its_sync() {
    let Some(mut recorded) = Recorded::new() else { return };
    recorded.does("first");
    recorded.does("mapped");
    for seed in 0..10 {
        let (kept, left) = recorded.left(seed);
        let mapped = read(&left.join("mapped"));
        assert_eq!((mapped.len(), &mapped[..4096]), (8192, &[6; 4096][..]));
        let second = [mapped[4096], mapped[8191]];
        match kept {
            KeptSectors::Nothing => assert_eq!(second, [0, 0]),
            KeptSectors::All => assert_eq!(second, [9, 9]),
            KeptSectors::Some => {}
        }
    }
}

#[test]
fn a_store_goes_on_with_what_a_cut_has_left() {
    let Some(mut recorded) = Recorded::new() else { return };
    recorded.does("first");
    let seed = (0..40).find(|seed| recorded.left(*seed).0 == KeptSectors::Nothing).unwrap();
    recorded.kill();
    recorded.disk.cut(seed).unwrap();
    recorded.disk.swap().unwrap();
    assert!(!recorded.at("unsynced").exists() && !recorded.at("renamed").exists());
    assert_eq!(read(&recorded.at("directory/half")), [7; 4096]);
    // All of that is durable now.
    recorded.disk.cut(seed).unwrap();
    recorded.disk.swap().unwrap();
    assert_eq!(read(&recorded.at("synced")), [7; 100_000]);
}
