//! The disk's process: it serves the file, and does what the handle asks.

use crate::disk::Disk;
use crate::draws::SectorDraws;
use crate::file_system::Disks;
use crate::halting::HaltingDisk;
use crate::image::Image;
use crate::message::{DiskAnswer, DiskRequest, TakenCut};
use crate::mounts;
use crate::recorded::RecordedFiles;
use fuser::{BackgroundSession, MountOption};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use study::DiskKind;

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

/// A disk that is mounted.
enum Laid {
    /// One of ours.
    Served(ServedDisk),
    /// A file of the base.
    Halting(HaltingDisk),
    /// None: what is done to files is recorded.
    Recorded(RecordedFiles),
}

/// A disk of ours that is mounted. Dropping it unmounts it.
struct ServedDisk {
    // The order is that of dropping.
    store: PathBuf,
    disk: PathBuf,
    kind: DiskKind,
    number: u64,
    disks: Disks,
    session: Option<BackgroundSession>,
}

impl Server {
    fn carry_out(&mut self, request: DiskRequest) -> DiskAnswer {
        match request {
            DiskRequest::Lay { disk, store, kind, bytes } => {
                // What it is laid on may be gone already.
                self.laid = None;
                self.cut = None;
                self.lay(disk, store, kind, bytes).map(|()| None)
            }
            DiskRequest::Look => match self.laid()? {
                Laid::Halting(disk) => Ok(Some(TakenCut::now(disk.look()))),
                Laid::Recorded(files) => files.look(),
                Laid::Served(disk) => Ok(disk.disks.cut(disk.number, 0).map(|(_, said)| said)),
            },
            DiskRequest::Cut { seed } => match self.laid()? {
                Laid::Halting(disk) => disk.halt().map(Some),
                Laid::Recorded(files) => files.cut(seed),
                Laid::Served(disk) => {
                    let (image, taken) = disk.cut(seed)?;
                    self.cut = Some(image);
                    Ok(Some(taken))
                }
            },
            DiskRequest::Swap => {
                let cut = self.cut.clone();
                match self.laid()? {
                    Laid::Halting(disk) => disk.swap()?,
                    Laid::Recorded(files) => files.swap()?,
                    Laid::Served(disk) => disk.swap(cut.ok_or("no cut was taken")?)?,
                }
                Ok(None)
            }
            DiskRequest::Save { path } => {
                match self.laid()? {
                    Laid::Halting(disk) => return disk.save(&path).map(|()| None),
                    Laid::Recorded(files) => return files.save(&path).map(|()| None),
                    Laid::Served(_) => {}
                }
                let cut = self.cut.as_ref().ok_or("no cut was taken")?;
                cut.save(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                Ok(None)
            }
        }
    }

    fn laid(&mut self) -> Result<&mut Laid, String> {
        self.laid.as_mut().ok_or_else(|| "there is no disk".into())
    }

    fn lay(&mut self, disk: PathBuf, store: PathBuf, kind: DiskKind, bytes: u64) -> Result<(), String> {
        match kind {
            DiskKind::Halts => {
                self.laid = Some(Laid::Halting(HaltingDisk::lay(&disk, store, bytes)?));
                return Ok(());
            }
            DiskKind::Recorded => {
                self.laid = Some(Laid::Recorded(RecordedFiles::lay(&disk, &store)?));
                return Ok(());
            }
            DiskKind::Honest | DiskKind::Lies | DiskKind::Tears => {}
        }
        let disks = Disks::default();
        let options = [MountOption::FSName("kvtrial-disk".into()), MountOption::NoAtime, MountOption::NoDev];
        let session = fuser::spawn_mount2(disks.clone(), &disk, &options)
            .map_err(|error| format!("a FUSE file system at {}: {error}", disk.display()))?;
        // From here on dropping it clears it away.
        let laid = ServedDisk { store, disk, kind, number: FIRST, disks, session: Some(session) };
        let known = self.made.as_ref().filter(|(size, _)| *size == bytes).map(|(_, image)| image.clone());
        let image = known.map_or_else(|| laid.empty(bytes), Ok)?;
        self.made = Some((bytes, image.clone()));
        laid.disks.insert(FIRST, Disk::new(kind, image));
        mounts::mount(&laid.file(FIRST), &laid.store)?;
        mounts::tidy(&laid.store)?;
        self.laid = Some(Laid::Served(laid));
        Ok(())
    }
}

impl ServedDisk {
    fn cut(&self, seed: u64) -> Result<(Image, TakenCut), String> {
        let cut = match SectorDraws::new(seed).below(2) {
            0 => self.disks.cut(self.number, seed),
            _ => self.disks.cut_before_flush(self.number, seed, LONGEST_WAIT),
        };
        cut.ok_or_else(|| "the disk is gone".into())
    }

    fn file(&self, number: u64) -> PathBuf {
        self.disk.join(number.to_string())
    }

    /// Makes an empty file system.
    fn empty(&self, bytes: u64) -> Result<Image, String> {
        self.disks.insert(MAKING, Disk::new(DiskKind::Honest, Image::new(bytes)));
        let made = mounts::make(&self.file(MAKING));
        let disk = self.disks.remove(MAKING);
        made?;
        disk.map(|disk| disk.image().clone()).ok_or_else(|| "the disk is gone".into())
    }

    /// Mounts another image instead of what is mounted.
    fn swap(&mut self, image: Image) -> Result<(), String> {
        mounts::unmount(&self.store)?;
        self.disks.remove(self.number);
        self.number += 1;
        self.disks.insert(self.number, Disk::new(self.kind, image));
        mounts::mount(&self.file(self.number), &self.store)
    }
}

/// The longest wait for the flush before which a cut is to be taken.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// The number of the first disk. With 0 it would have the inode of the directory.
const FIRST: u64 = 1;

/// The number of a disk that is only made.
const MAKING: u64 = 1 << 32;

impl Drop for ServedDisk {
    /// What somebody else has unmounted is no error.
    fn drop(&mut self) {
        mounts::unmount_all(&self.store);
        mounts::unmount_all(&self.disk);
        drop(self.session.take());
    }
}
