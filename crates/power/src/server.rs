//! The disk's process: it serves the file, and does what the handle asks.

use crate::disk::Disk;
use crate::file_system::Disks;
use crate::image::Image;
use crate::message::{Answer, Request};
use crate::mounts;
use fuser::{BackgroundSession, MountOption};
use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use study::{DiskKind, PowerCut};

/// Serves disks until the one who started this process is gone; then nothing is mounted any more. Standard input is the channel to its handle.
pub fn serve() {
    let channel = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    let Ok(channel) = channel else { return };
    let mut server = Server { made: None, laid: None, cut: None };
    for line in BufReader::new(&channel).lines() {
        let Ok(line) = line else { return };
        let answer = match serde_json::from_str(&line) {
            Ok(request) => server.carry_out(request),
            Err(error) => Err(format!("'{line}' is no request: {error}")),
        };
        let Ok(answer) = serde_json::to_string(&answer) else { return };
        if (&channel).write_all(format!("{answer}\n").as_bytes()).is_err() {
            return;
        }
    }
}

struct Server {
    /// An empty file system of this size: making one takes longer than all the rest.
    made: Option<(u64, Image)>,
    laid: Option<Laid>,
    cut: Option<Image>,
}

/// A disk that is mounted. Dropping it unmounts it.
struct Laid {
    // The order is that of dropping.
    store: PathBuf,
    disk: PathBuf,
    kind: DiskKind,
    number: u64,
    disks: Disks,
    session: Option<BackgroundSession>,
}

impl Server {
    fn carry_out(&mut self, request: Request) -> Answer {
        match request {
            Request::Lay { disk, store, kind, bytes } => {
                // What it is laid on may be gone already.
                self.laid = None;
                self.cut = None;
                self.lay(disk, store, kind, bytes).map(|()| None)
            }
            Request::Cut { seed } => {
                let laid = self.laid.as_ref().ok_or("there is no disk to cut")?;
                let (image, made): (Image, PowerCut) =
                    laid.disks.lock().get(&laid.number).map(|disk| disk.cut(seed)).ok_or("the disk is gone")?;
                self.cut = Some(image);
                Ok(Some(made))
            }
            Request::Swap => {
                let laid = self.laid.as_mut().ok_or("there is no disk to replace")?;
                let cut = self.cut.clone().ok_or("no cut was taken")?;
                laid.swap(cut).map(|()| None)
            }
            Request::Save { path } => {
                let cut = self.cut.as_ref().ok_or("no cut was taken")?;
                cut.save(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                Ok(None)
            }
        }
    }

    fn lay(&mut self, disk: PathBuf, store: PathBuf, kind: DiskKind, bytes: u64) -> Result<(), String> {
        let disks = Disks::default();
        let options = [MountOption::FSName("kvtrial-disk".into()), MountOption::NoAtime, MountOption::NoDev];
        let session = fuser::spawn_mount2(disks.clone(), &disk, &options)
            .map_err(|error| format!("a FUSE file system at {}: {error}", disk.display()))?;
        // From here on dropping it clears it away.
        let laid = Laid { store, disk, kind, number: FIRST, disks, session: Some(session) };
        let known = self.made.as_ref().filter(|(size, _)| *size == bytes).map(|(_, image)| image.clone());
        let image = known.map_or_else(|| laid.empty(bytes), Ok)?;
        self.made = Some((bytes, image.clone()));
        laid.disks.lock().insert(FIRST, Disk::new(kind, image));
        mounts::mount(&laid.file(FIRST), &laid.store)?;
        let own = |error: io::Error| format!("{}: {error}", laid.store.display());
        fs::remove_dir(laid.store.join("lost+found")).map_err(own)?;
        fs::set_permissions(&laid.store, Permissions::from_mode(0o700)).map_err(own)?;
        self.laid = Some(laid);
        Ok(())
    }
}

impl Laid {
    fn file(&self, number: u64) -> PathBuf {
        self.disk.join(number.to_string())
    }

    /// Makes an empty file system.
    fn empty(&self, bytes: u64) -> Result<Image, String> {
        self.disks.lock().insert(MAKING, Disk::new(DiskKind::Honest, Image::new(bytes)));
        let made = mounts::make(&self.file(MAKING));
        let disk = self.disks.lock().remove(&MAKING);
        made?;
        disk.map(|disk| disk.image().clone()).ok_or_else(|| "the disk is gone".into())
    }

    /// Mounts another image instead of what is mounted.
    fn swap(&mut self, image: Image) -> Result<(), String> {
        mounts::unmount(&self.store)?;
        self.disks.lock().remove(&self.number);
        self.number += 1;
        self.disks.lock().insert(self.number, Disk::new(self.kind, image));
        mounts::mount(&self.file(self.number), &self.store)
    }
}

/// The number of the first disk. With 0 it would have the inode of the directory.
const FIRST: u64 = 1;

/// The number of a disk that is only made.
const MAKING: u64 = 1 << 32;

impl Drop for Laid {
    /// What somebody else has unmounted is no error.
    fn drop(&mut self) {
        unmount_all(&self.store);
        unmount_all(&self.disk);
        drop(self.session.take());
    }
}

fn unmount_all(place: &Path) {
    while is_mounted(place) && mounts::unmount(place).is_ok() {}
}

/// Whether something is mounted at a place, as the system lists it.
fn is_mounted(place: &Path) -> bool {
    let Ok(mounts) = fs::read_to_string("/proc/self/mountinfo") else { return false };
    let name = place.to_string_lossy().replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011");
    mounts.lines().any(|line| line.split(' ').nth(4) == Some(&name))
}
