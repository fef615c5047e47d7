//! What the handle of a disk and its process say to each other, a line each.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use study::{DiskKind, PowerCut};

/// A request to the disk's process.
#[derive(Debug, Serialize, Deserialize)]
pub enum DiskRequest {
    /// To make an empty disk in a directory, with a file system mounted on another; any disk there was is gone.
    Lay {
        /// Where the disk's file is to be.
        disk: PathBuf,
        /// Where its file system is to be.
        store: PathBuf,
        /// Its conduct.
        kind: DiskKind,
        /// Its size.
        bytes: u64,
    },
    /// To say what was written so far.
    Look,
    /// To take a cut of the disk, which continues, unless it halts.
    Cut {
        /// The seed of what is left.
        seed: u64,
    },
    /// To mount the last cut instead of the disk it was taken of.
    Swap,
    /// To write the last cut to a file.
    Save {
        /// The file.
        path: PathBuf,
    },
}

/// An answer of the disk's process: what a cut did; nothing where there was none; or the problem.
pub type DiskAnswer = Result<Option<TakenCut>, String>;

/// What a cut did, and when it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenCut {
    /// What it did; where none was taken, what was written so far.
    pub made: PowerCut,
    /// The moment on the system's monotonic clock: what a sync that returned before it made durable is left.
    pub at_ns: u64,
}

impl TakenCut {
    /// Returns what is said now.
    pub fn now(made: PowerCut) -> TakenCut {
        TakenCut { made, at_ns: monotonic_ns() }
    }
}

/// Returns the system's monotonic clock, the same in all processes.
pub(crate) fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it only writes into `now`.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
