//! The disk below a store whose power is cut, and what it is cut to.

use super::Blow;
use host::Ground;
use power::{PowerDisk, TakenCut};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::StoreError;
use study::{DiskKind, PowerCut};

/// The name of the file that a kept disk is written to, beside the store's directory.
const KEPT: &str = "disk.image";

/// The same of files that were on no disk of ours.
const KEPT_FILES: &str = "left";

/// A disk, laid below each private directory in turn.
pub(super) struct Supply {
    disk: Arc<PowerDisk>,
    kind: DiskKind,
    bytes: u64,
    /// The directory of the store that lies on it.
    store: Arc<Mutex<PathBuf>>,
    /// What was written before clients began.
    before: Mutex<PowerCut>,
    taken: Mutex<Option<PowerCut>>,
    is_mounted: AtomicBool,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn no_disk(words: String) -> StoreError {
    StoreError::open("a disk whose power can be cut", format!("{words}; --how kill shows what a kill loses"))
}

impl Supply {
    /// Starts the disk that a blow needs; `None`: it needs none.
    pub(super) fn of(blow: &Blow) -> Result<Option<Supply>, StoreError> {
        let Blow::Power { disk: kind, bytes, server } = blow else { return Ok(None) };
        if let Some(missing) = power::missing(*kind, *bytes) {
            return Err(no_disk(missing));
        }
        let mut command = Command::new(&server.program);
        command.args(&server.args);
        let disk = PowerDisk::start(command).map_err(|error| no_disk(error.to_string()))?;
        Ok(Some(Supply {
            disk: Arc::new(disk),
            kind: *kind,
            bytes: *bytes,
            store: Arc::default(),
            before: Mutex::default(),
            taken: Mutex::default(),
            is_mounted: AtomicBool::new(true),
        }))
    }

    /// Returns what private directories are laid on.
    pub(super) fn ground(&self) -> Ground {
        let (disk, kind, bytes, place) = (Arc::clone(&self.disk), self.kind, self.bytes, Arc::clone(&self.store));
        Ground::new(move |directory, store| {
            store.clone_into(&mut lock(&place));
            disk.lay(directory, store, kind, bytes)
        })
    }

    /// Notes what was written before the clients began.
    pub(super) fn begin(&self) -> Result<(), StoreError> {
        *lock(&self.before) = self.disk.look().map_err(no_disk)?;
        Ok(())
    }

    /// Takes a cut; what it leaves is chosen by the seed. Returns its moment on the system's monotonic clock.
    pub(super) fn cut(&self, seed: u64) -> Result<u64, StoreError> {
        let TakenCut { made: cut, at_ns } = self.disk.cut(seed).map_err(no_disk)?;
        let before = lock(&self.before);
        *lock(&self.taken) = Some(PowerCut {
            written_sectors: cut.written_sectors.saturating_sub(before.written_sectors),
            flushes: cut.flushes.saturating_sub(before.flushes),
            ..cut
        });
        Ok(at_ns)
    }

    /// Returns what the cut did, once.
    pub(super) fn taken(&self) -> Option<PowerCut> {
        lock(&self.taken).take()
    }

    /// Mounts what the cut has left; nobody has a file open there any more.
    pub(super) fn swap(&self) -> Result<(), String> {
        let swapped = self.disk.swap();
        self.is_mounted.store(swapped.is_ok(), Ordering::Relaxed);
        swapped
    }

    /// Returns whether the last cut could be mounted.
    pub(super) fn is_mounted(&self) -> bool {
        self.is_mounted.load(Ordering::Relaxed)
    }

    /// Writes what the last cut has left beside the store's directory; the line that mounts it there.
    pub(super) fn keep(&self) -> Result<String, StoreError> {
        let store = lock(&self.store).clone();
        if self.kind == DiskKind::Recorded {
            let files = store.with_file_name(KEPT_FILES);
            self.disk.save(&files).map_err(no_disk)?;
            return Ok(format!(
                "rm -r {store}; cp -a {files} {store}\n",
                files = files.display(),
                store = store.display()
            ));
        }
        let file = store.with_file_name(KEPT);
        self.disk.save(&file).map_err(no_disk)?;
        Ok(format!("mount -o loop {} {}\n", file.display(), store.display()))
    }
}
