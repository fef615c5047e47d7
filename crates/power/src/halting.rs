//! A disk that is a file of the base, whose file system can be shut down at once: what ext4 had not handed to the disk is gone. It needs no FUSE, and
//! shows less: no sector is torn, and a flush that is missing between two writes to the disk does not show.

use crate::message::{TakenCut, monotonic_ns};
use crate::mounts;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use study::{DiskKind, KeptSectors, PowerCut};

/// `EXT4_IOC_SHUTDOWN`, and what it is to do: nothing more, not even to write its journal.
const SHUTDOWN: libc::Ioctl = 0x8004_587d;
const NOTHING_MORE: u32 = 2;

/// Such a disk, mounted. Dropping it unmounts it.
pub struct HaltingDisk {
    file: PathBuf,
    store: PathBuf,
}

impl HaltingDisk {
    /// Makes one of this size in a directory, and mounts its file system.
    ///
    /// # Errors
    /// What is missing, in words.
    pub fn lay(directory: &Path, store: PathBuf, bytes: u64) -> Result<HaltingDisk, String> {
        let disk = HaltingDisk { file: directory.join("file"), store };
        let made = File::create_new(&disk.file).and_then(|file| file.set_len(bytes));
        made.map_err(|error| format!("{}: {error}", disk.file.display()))?;
        mounts::make(&disk.file)?;
        disk.mount()?;
        mounts::tidy(&disk.store)?;
        Ok(disk)
    }

    /// Returns what was written so far, as the system counts it.
    pub fn look(&self) -> PowerCut {
        let numbers = mounts::device(&self.store)
            .and_then(|device| fs::read_to_string(format!("/sys/dev/block/{device}/stat")).ok())
            .unwrap_or_default();
        let number = |at: usize| numbers.split_whitespace().nth(at).and_then(|it| it.parse().ok()).unwrap_or(0);
        PowerCut {
            disk: DiskKind::Halts,
            kept: KeptSectors::All,
            written_sectors: number(6),
            flushes: number(15),
            ..PowerCut::default()
        }
    }

    /// Shuts its file system down: from now on nothing reaches the disk.
    ///
    /// # Errors
    /// The system's.
    pub fn halt(&self) -> Result<TakenCut, String> {
        let at_ns = monotonic_ns();
        let shut = |directory: File| {
            // SAFETY: the call reads one number, which outlives it, and touches no other memory of ours.
            match unsafe { libc::ioctl(directory.as_raw_fd(), SHUTDOWN, &NOTHING_MORE) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        let own = |error: io::Error| format!("{}: its file system cannot be shut down: {error}", self.store.display());
        File::open(&self.store).and_then(shut).map_err(own)?;
        Ok(TakenCut { made: self.look(), at_ns })
    }

    /// Mounts it again.
    ///
    /// # Errors
    /// The program's words.
    pub fn swap(&self) -> Result<(), String> {
        mounts::unmount(&self.store)?;
        self.mount()
    }

    /// Copies it to a new file, as it is by now.
    ///
    /// # Errors
    /// The system's, with the file.
    pub fn save(&self, path: &Path) -> Result<(), String> {
        fs::copy(&self.file, path).map(drop).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn mount(&self) -> Result<(), String> {
        mounts::mount(&self.file, &self.store)
    }
}

impl Drop for HaltingDisk {
    /// What somebody else has unmounted is no error.
    fn drop(&mut self) {
        mounts::unmount_all(&self.store);
    }
}
