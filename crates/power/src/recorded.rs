//! No disk at all: the file calls of a store's processes are recorded, and what a power cut may leave is derived from the syncs that happened.
//!
//! It needs neither root nor a device, and shows less than a disk: there is no file system below the store that could be damaged, no flush of a device
//! that could be missing, and a name is durable with the next sync of any file, as in the journal of ext4. What a file held is durable where POSIX
//! says so: after its own sync.
//!
//! The kernel reports each call before it is carried out (`SECCOMP_RET_USER_NOTIF`, seccomp_unotify(2)); the thread that made it waits meanwhile, and
//! a cut keeps all of them waiting. A sync of the store's files returns as soon as it is recorded. Calls that would pass unseen, of `io_uring` and `io_submit`, are refused as on a system without them.

mod call;
mod contents;
mod filter;
mod left;
mod names;
mod record;
mod watch;

use crate::draws::SectorDraws;
use crate::message::{DiskAnswer, TakenCut};
use crate::server::LONGEST_WAIT;
use left::LeftFiles;
use record::FileRecord;
use std::fs;
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use filter::{enter, hold, is_recorded};

/// The name of the socket, in the directory of the disk, at which processes report for being recorded.
const SOCKET: &str = "recorder";

/// How often it is looked whether a cut was taken.
const LOOK: Duration = Duration::from_micros(200);

/// The files of a store whose calls are recorded. Dropping it ends that.
pub struct RecordedFiles {
    record: Arc<Mutex<FileRecord>>,
    left: Option<LeftFiles>,
    is_over: Arc<AtomicBool>,
    /// The listener once more, to wake who waits at it, and who waits.
    bell: UnixStream,
    reception: Option<JoinHandle<()>>,
}

fn lock(record: &Mutex<FileRecord>) -> MutexGuard<'_, FileRecord> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RecordedFiles {
    /// Records what is done to the files in the directory of a store; the other directory gets the socket.
    ///
    /// # Errors
    /// The system's, with the path.
    pub fn lay(directory: &Path, store: &Path) -> Result<RecordedFiles, String> {
        let socket = directory.join(SOCKET);
        let own = |error: io::Error| format!("{}: {error}", socket.display());
        let listener = UnixListener::bind(&socket).map_err(own)?;
        let bell = UnixStream::from(OwnedFd::from(listener.try_clone().map_err(own)?));
        let record = Arc::new(Mutex::new(FileRecord::of(store).map_err(own)?));
        let is_over = Arc::new(AtomicBool::new(false));
        let (recorded, over) = (Arc::clone(&record), Arc::clone(&is_over));
        let receive = move || {
            for reporting in listener.incoming() {
                if over.load(Ordering::Acquire) {
                    return;
                }
                let Some(calls) = reporting.ok().and_then(|process| watch::receive(&process).ok()) else { continue };
                let record = Arc::clone(&recorded);
                // It ends with the last process that it hears.
                thread::spawn(move || watch::hear(&calls, &mut |thread, call| lock(&record).note(thread, call)));
            }
        };
        let reception = Some(thread::spawn(receive));
        Ok(RecordedFiles { record, left: None, is_over, bell, reception })
    }

    /// Returns what was written so far.
    pub fn look(&self) -> DiskAnswer {
        Ok(Some(TakenCut::now(lock(&self.record).look())))
    }

    /// Takes a cut; the store continues.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn cut(&mut self, seed: u64) -> DiskAnswer {
        let awaited = match SectorDraws::new(seed).below(2) {
            0 => None,
            _ => self.cut_before_sync(seed),
        };
        let taken = awaited.unwrap_or_else(|| lock(&self.record).cut(seed));
        let (left, taken) = taken.map_err(|error| format!("the files of the store: {error}"))?;
        self.left = Some(left);
        Ok(Some(taken))
    }

    /// Takes a cut just before the next sync, when most is at stake; `None`: none comes in time.
    fn cut_before_sync(&self, seed: u64) -> Option<io::Result<(LeftFiles, TakenCut)>> {
        lock(&self.record).cut_before_sync(seed);
        let begun = Instant::now();
        while begun.elapsed() < LONGEST_WAIT {
            thread::sleep(LOOK);
            let taken = lock(&self.record).taken();
            if taken.is_some() {
                return taken;
            }
        }
        lock(&self.record).give_up()
    }

    /// Puts what the last cut has left in the place of the store's files. Nobody may have a file open there.
    ///
    /// # Errors
    /// The system's.
    pub fn swap(&mut self) -> Result<(), String> {
        let left = self.left.clone().ok_or("no cut was taken")?;
        lock(&self.record).begin_with(left).map_err(|error| format!("the files of the store: {error}"))
    }

    /// Writes what the last cut has left to a new directory.
    ///
    /// # Errors
    /// The system's.
    pub fn save(&self, path: &Path) -> Result<(), String> {
        let left = self.left.as_ref().ok_or("no cut was taken")?;
        fs::create_dir(path).and_then(|()| left.write(path)).map_err(|error| format!("{}: {error}", path.display()))
    }
}

impl Drop for RecordedFiles {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // The socket itself goes with the directory, and may be gone.
        let _ = self.bell.shutdown(Shutdown::Both);
        if let Some(reception) = self.reception.take() {
            let _ = reception.join();
        }
    }
}
