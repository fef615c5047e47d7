//! The bytes on disk, and the time the disk takes to be sure of them.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The unit of `st_blocks`, for any block size of the file system.
const BLOCK_BYTES: u64 = 512;

/// The number of writes whose median is taken as the latency.
const FSYNCS: usize = 15;

/// Returns the number of bytes allocated on disk for a file or for everything below a directory; hard links count once, holes not at all.
pub fn disk_bytes(path: &Path) -> u64 {
    allocated_bytes(path, &[])
}

/// Returns the same as [`disk_bytes`], without these files. Files that vanish meanwhile count as nothing.
pub(crate) fn allocated_bytes(path: &Path, except: &[PathBuf]) -> u64 {
    let mut seen = HashSet::new();
    let mut paths = vec![path.to_owned()];
    let mut bytes = 0;
    while let Some(path) = paths.pop() {
        let Ok(meta) = path.symlink_metadata() else { continue };
        if except.contains(&path) || !seen.insert((meta.dev(), meta.ino())) {
            continue;
        }
        bytes += meta.blocks() * BLOCK_BYTES;
        if meta.is_dir() {
            paths.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
    bytes
}

/// Returns the median time of writing 4 KiB to a new file under `base` and forcing the file to disk, µs; `None` when that is not possible.
pub fn fsync_us(base: &Path) -> Option<f64> {
    let mut file = tempfile::tempfile_in(base).ok()?;
    let block = [0x5a; 4096];
    let mut times_us = Vec::with_capacity(FSYNCS);
    for _ in 0..FSYNCS {
        let start = Instant::now();
        file.write_all(&block).ok()?;
        file.sync_data().ok()?;
        times_us.push(start.elapsed().as_secs_f64() * 1e6);
    }
    times_us.sort_by(f64::total_cmp);
    Some(times_us[FSYNCS / 2])
}

#[cfg(test)]
mod tests {
    use super::{allocated_bytes, disk_bytes, fsync_us};
    use std::fs::{self, File};
    use std::path::Path;

    #[test]
    fn allocated_blocks_are_counted_once_and_holes_and_excluded_files_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("below");
        fs::create_dir(&below).unwrap();
        let empty = disk_bytes(dir.path());
        let full = below.join("full");
        fs::write(&full, vec![1; 1 << 20]).unwrap();
        File::open(&full).unwrap().sync_all().unwrap();
        let with_file = disk_bytes(dir.path());
        assert!((1 << 20..2 << 20).contains(&(with_file - empty)), "{empty} {with_file}");
        fs::hard_link(&full, dir.path().join("link")).unwrap();
        File::create(dir.path().join("hole")).unwrap().set_len(1 << 30).unwrap();
        assert_eq!(disk_bytes(dir.path()), with_file);
        fs::remove_file(dir.path().join("link")).unwrap();
        assert_eq!(allocated_bytes(dir.path(), &[full]), empty);
    }

    #[test]
    fn a_disk_can_be_timed_and_what_is_no_directory_cannot() {
        assert!(fsync_us(&std::env::temp_dir()).unwrap() > 0.0);
        assert_eq!(fsync_us(Path::new("/no/such/directory")), None);
    }
}
