//! Whether this machine can have a disk of ours.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use study::DiskKind;

/// The usual size of a disk. What is not written takes no memory.
pub const DISK_BYTES: u64 = 2 << 30;

/// The smallest disk: most of a smaller one would be the journal of its file system.
pub const LEAST_DISK_BYTES: u64 = 64 << 20;

/// The programs it takes, each with the package that has it.
const PROGRAMS: [(&str, &str); 3] = [("mkfs.ext4", "e2fsprogs"), ("mount", "mount"), ("umount", "mount")];

/// Returns what the power cut of a disk of this size needs and this machine does not have; `None`: everything is here. The disk and what is kept of
/// it for a cut are in memory, of which as much as half of the disk must be free.
pub fn missing(kind: DiskKind, bytes: u64) -> Option<String> {
    if kind == DiskKind::Recorded {
        return no_reports();
    }
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        return Some("a power cut needs root, who may mount a disk; run it with sudo, or with --disk recorded, which needs none and shows less".into());
    }
    let devices = [("/dev/loop-control", "modprobe loop"), ("/dev/fuse", "modprobe fuse")];
    // The file system of one that halts lies on a file of the base.
    let needed = if kind == DiskKind::Halts { 1 } else { devices.len() };
    for (device, what) in &devices[..needed] {
        if let Err(error) = OpenOptions::new().read(true).write(true).open(device) {
            let error = error.to_string();
            let words = error.split(" (os error").next().unwrap_or_default();
            return Some(format!(
                "a power cut needs {device}: {words}; {what}, or give the container this device{}",
                instead(device)
            ));
        }
    }
    let places = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin"];
    let is_here = |program: &str| places.iter().any(|place| Path::new(place).join(program).exists());
    if let Some((program, package)) = PROGRAMS.iter().find(|(program, _)| !is_here(program)) {
        return Some(format!("a power cut needs {program}; apt-get install {package}"));
    }
    let (free, needed) = (free_bytes(), bytes / 2);
    if kind != DiskKind::Halts && free.is_some_and(|free| free < needed) {
        let (needed, free) = (needed >> 20, free.unwrap_or_default() >> 20);
        return Some(format!(
            "a power cut needs {needed} MiB of free memory, as its disk is in memory, and {free} MiB are free; --disk-size makes it smaller"
        ));
    }
    None
}

/// What can be had without a device.
fn instead(device: &str) -> &'static str {
    if device == "/dev/fuse" {
        "; --disk halts needs none, and shows less"
    } else {
        "; --disk recorded needs none, and shows less"
    }
}

/// The first kernel that carries a call out when it was reported.
const REPORTS_SINCE: (u32, u32) = (5, 5);

/// Why the kernel cannot report file calls; `None`: it can.
fn no_reports() -> Option<String> {
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
    let release = read("osrelease");
    let mut numbers = release.split(|it: char| !it.is_ascii_digit()).map(|digits| digits.parse().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let can_report = read("seccomp/actions_avail").split_whitespace().any(|action| action == "user_notif");
    let is_known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    (!can_report || version < REPORTS_SINCE || !is_known).then(|| {
        "--disk recorded needs a kernel that reports file calls (Linux 5.5 with seccomp, on x86-64 or ARM64); run it on a newer one".into()
    })
}

/// Memory that is free, as the system reports it.
fn free_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}
