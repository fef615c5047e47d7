//! The handle of a disk whose process is another one.

use crate::message::{DiskAnswer, DiskRequest, TakenCut};
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use study::{DiskKind, PowerCut};

/// How long the process may take to unmount everything when nobody needs it any more.
const FAREWELL: Duration = Duration::from_secs(10);

/// A disk whose power can be cut. Dropping it unmounts it.
pub struct PowerDisk {
    process: Child,
    channel: Mutex<BufReader<UnixStream>>,
}

impl PowerDisk {
    /// Starts the disk's process with a command that leads to [`serve`](crate::serve).
    ///
    /// # Errors
    /// The system's.
    pub fn start(mut command: Command) -> io::Result<PowerDisk> {
        let (ours, theirs) = UnixStream::pair()?;
        // What is typed at the terminal does not reach it: it ends with its handle.
        command.process_group(0).stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn()?;
        Ok(PowerDisk { process, channel: Mutex::new(BufReader::new(ours)) })
    }

    /// Makes an empty disk of this conduct and size below a directory, and mounts its file system at the place of a store.
    ///
    /// # Errors
    /// What is missing, in words.
    pub fn lay(&self, directory: &Path, store: &Path, kind: DiskKind, bytes: u64) -> Result<(), String> {
        fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let (disk, store) = (directory.to_owned(), store.to_owned());
        self.ask(&DiskRequest::Lay { disk, store, kind, bytes }).map(drop)
    }

    /// Returns what was written so far.
    ///
    /// # Errors
    /// There is no disk.
    pub fn look(&self) -> Result<PowerCut, String> {
        self.ask(&DiskRequest::Look)?.map(|said| said.made).ok_or_else(|| "it did not say what was written".into())
    }

    /// Takes a cut: what would be left if the power failed now, or a little later, where more is at stake. The disk continues, unless it halts.
    ///
    /// # Errors
    /// There is no disk.
    pub fn cut(&self, seed: u64) -> Result<TakenCut, String> {
        self.ask(&DiskRequest::Cut { seed })?.ok_or_else(|| "it did not say what the cut did".into())
    }

    /// Mounts what the last cut has left where the disk was mounted. Nobody may have a file open there.
    ///
    /// # Errors
    /// The file system cannot be mounted.
    pub fn swap(&self) -> Result<(), String> {
        self.ask(&DiskRequest::Swap).map(drop)
    }

    /// Writes what the last cut has left to a new file.
    ///
    /// # Errors
    /// The system's, with the file.
    pub fn save(&self, path: &Path) -> Result<(), String> {
        self.ask(&DiskRequest::Save { path: path.to_owned() }).map(drop)
    }

    fn ask(&self, request: &DiskRequest) -> DiskAnswer {
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        let line = serde_json::to_string(request).map_err(|error| error.to_string())?;
        let gone = |error: io::Error| format!("the process of the disk is gone: {error}");
        channel.get_mut().write_all(format!("{line}\n").as_bytes()).map_err(gone)?;
        let mut answer = String::new();
        channel.read_line(&mut answer).map_err(gone)?;
        serde_json::from_str(&answer).map_err(|_| "the process of the disk is gone".to_owned())?
    }
}

impl Drop for PowerDisk {
    /// The end of the channel is its sign to end.
    fn drop(&mut self) {
        let channel = self.channel.get_mut().unwrap_or_else(PoisonError::into_inner);
        // One that is gone already has nothing to hear.
        let _ = channel.get_ref().shutdown(Shutdown::Both);
        let begun = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) {
            if begun.elapsed() > FAREWELL {
                let _ = self.process.kill();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
