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
pub type DiskAnswer = Result<Option<PowerCut>, String>;
