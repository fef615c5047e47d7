//! The file system of one file: the disk.

use crate::disk::Disk;
use crate::image::Image;
use crate::message::{TakenCut, monotonic_ns};
use fuser::{
    FileAttr, FileType, Filesystem, KernelConfig, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, TimeOrNow,
};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The inode of the directory; that of a disk is its number and this.
const TOP: u64 = fuser::FUSE_ROOT_ID;

/// How long the system may believe what it was told: nothing changes but by what it does itself.
const FOR_LONG: Duration = Duration::from_secs(3600);

/// The most bytes of one write.
const MOST_BYTES: u32 = 1 << 20;

/// The disks that are served.
#[derive(Clone, Default)]
pub struct Disks(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    taken: Condvar,
}

/// The disks, and the cut that is to be taken.
#[derive(Default)]
struct State {
    /// By number: the one that is mounted, and until it is swapped the one after it.
    disks: BTreeMap<u64, Disk>,
    /// The disk and the seed of a cut that is to be taken before the next flush is carried out.
    asked: Option<(u64, u64)>,
    cut: Option<(Image, TakenCut)>,
}

/// Takes a cut of a disk; who has it locks it.
fn cut(disk: &Disk, seed: u64) -> (Image, TakenCut) {
    let at_ns = monotonic_ns();
    let (image, made) = disk.cut(seed);
    (image, TakenCut { made, at_ns })
}

impl Disks {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a disk.
    pub fn insert(&self, number: u64, disk: Disk) {
        self.lock().disks.insert(number, disk);
    }

    /// Takes a disk away.
    pub fn remove(&self, number: u64) -> Option<Disk> {
        self.lock().disks.remove(&number)
    }

    /// Takes a cut now.
    pub fn cut(&self, number: u64, seed: u64) -> Option<(Image, TakenCut)> {
        self.lock().disks.get(&number).map(|disk| cut(disk, seed))
    }

    /// Takes a cut when the next flush was asked for and is not carried out yet: then most is on its way. Where none comes in this time, it is
    /// taken after that.
    pub fn cut_before_flush(&self, number: u64, seed: u64, longest: Duration) -> Option<(Image, TakenCut)> {
        let mut state = self.lock();
        state.cut = None;
        state.asked = Some((number, seed));
        let waited = self.0.taken.wait_timeout_while(state, longest, |state| state.cut.is_none());
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.asked = None;
        state.cut.take().or_else(|| state.disks.get(&number).map(|disk| cut(disk, seed)))
    }

    fn attributes(&self, inode: u64) -> Option<FileAttr> {
        let (kind, perm, nlink, size) = match inode {
            TOP => (FileType::Directory, 0o700, 2, 0),
            _ => (FileType::RegularFile, 0o600, 1, self.lock().disks.get(&inode.checked_sub(TOP)?)?.bytes()),
        };
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

/// No such file; and: the disk is gone.
const ABSENT: i32 = 2;
const GONE: i32 = 5;

impl Filesystem for Disks {
    fn init(&mut self, _: &Request<'_>, config: &mut KernelConfig) -> Result<(), i32> {
        // What is larger than the system likes it makes smaller.
        let _ = config.set_max_write(MOST_BYTES);
        Ok(())
    }

    fn lookup(&mut self, _: &Request<'_>, _: u64, name: &OsStr, reply: ReplyEntry) {
        let number = name.to_str().and_then(|name| name.parse::<u64>().ok());
        match number.and_then(|number| self.attributes(number + TOP)) {
            Some(attributes) => reply.entry(&FOR_LONG, &attributes, 0),
            None => reply.error(ABSENT),
        }
    }

    fn getattr(&mut self, _: &Request<'_>, inode: u64, _: Option<u64>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&FOR_LONG, &attributes),
            None => reply.error(ABSENT),
        }
    }

    /// Times and rights stay as they are; so does the size.
    #[allow(clippy::too_many_arguments)]
    fn setattr(
        &mut self,
        _: &Request<'_>,
        inode: u64,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<u64>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<u32>,
        reply: ReplyAttr,
    ) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&FOR_LONG, &attributes),
            None => reply.error(ABSENT),
        }
    }

    /// The disks are found by their names only.
    fn readdir(&mut self, _: &Request<'_>, _: u64, _: u64, _: i64, reply: ReplyDirectory) {
        reply.ok();
    }

    fn open(&mut self, _: &Request<'_>, _: u64, _: i32, reply: ReplyOpen) {
        reply.opened(0, fuser::consts::FOPEN_DIRECT_IO);
    }

    #[allow(clippy::too_many_arguments)]
    fn read(
        &mut self,
        _: &Request<'_>,
        inode: u64,
        _: u64,
        offset: i64,
        size: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        match self.lock().disks.get(&(inode - TOP)) {
            Some(disk) => reply.data(&disk.image().read(offset as u64, size as usize)),
            None => reply.error(GONE),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn write(
        &mut self,
        _: &Request<'_>,
        inode: u64,
        _: u64,
        offset: i64,
        data: &[u8],
        _: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyWrite,
    ) {
        match self.lock().disks.get_mut(&(inode - TOP)) {
            Some(disk) => {
                disk.write(offset as u64, data);
                reply.written(data.len() as u32);
            }
            None => reply.error(GONE),
        }
    }

    /// A file that is closed is not flushed.
    fn flush(&mut self, _: &Request<'_>, _: u64, _: u64, _: u64, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&mut self, _: &Request<'_>, inode: u64, _: u64, _: bool, reply: ReplyEmpty) {
        let number = inode - TOP;
        let mut state = self.lock();
        let State { disks, asked, cut: taken } = &mut *state;
        let Some(disk) = disks.get_mut(&number) else { return reply.error(GONE) };
        if let Some((_, seed)) = asked.take_if(|(of, _)| *of == number) {
            *taken = Some(cut(disk, seed));
            self.0.taken.notify_all();
        }
        disk.flush();
        reply.ok();
    }
}
