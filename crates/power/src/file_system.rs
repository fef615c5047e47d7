//! The file system of one file: the disk.

use crate::disk::Disk;
use fuser::{
    FileAttr, FileType, Filesystem, KernelConfig, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, TimeOrNow,
};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The inode of the directory; that of a disk is its number and this.
const TOP: u64 = fuser::FUSE_ROOT_ID;

/// How long the system may believe what it was told: nothing changes but by what it does itself.
const FOR_LONG: Duration = Duration::from_secs(3600);

/// The most bytes of one write.
const MOST_BYTES: u32 = 1 << 20;

/// The disks, by number: the one that is mounted, and until it is swapped the one after it.
#[derive(Clone, Default)]
pub struct Disks(Arc<Mutex<BTreeMap<u64, Disk>>>);

impl Disks {
    /// Returns the disks, for this moment only one's own.
    pub fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Disk>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attributes(&self, inode: u64) -> Option<FileAttr> {
        let (kind, perm, nlink, size) = match inode {
            TOP => (FileType::Directory, 0o700, 2, 0),
            _ => (FileType::RegularFile, 0o600, 1, self.lock().get(&inode.checked_sub(TOP)?)?.bytes()),
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
        match self.lock().get(&(inode - TOP)) {
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
        match self.lock().get_mut(&(inode - TOP)) {
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
        match self.lock().get_mut(&(inode - TOP)) {
            Some(disk) => {
                disk.flush();
                reply.ok();
            }
            None => reply.error(GONE),
        }
    }
}
