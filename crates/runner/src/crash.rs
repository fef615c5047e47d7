//! Crashes of a level of a store, from the side of kvtrial: a worker's clients write, everything is killed at a moment chosen by the seed, the
//! store is started on what is left, and another worker reads it all.

mod blow;
mod cutting;
mod events;
mod lines;
mod moment;
mod recovery;
mod renames;
mod supply;

use crate::error::RunError;
use crate::execution::Execution;
use cutting::{Cutting, void};
use host::{Installation, KeptDirectory, Opening};
use jobkit::Stroke;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::{CommandLine, Facts, StoreInfo};
use study::{CrashCut, CrashMoment, DiskKind, Durability, KeptFiles, Promise, Spec, StruckNodes};
use supply::Supply;

/// A level of a store that is to be crashed.
pub struct CrashRequest {
    /// The store's adapter.
    pub info: &'static StoreInfo,
    /// The store, with its level.
    pub spec: Spec,
    /// The directory below which private directories are made.
    pub base: PathBuf,
    /// Clients that write.
    pub clients: u32,
    /// Seed of what is written and when the crash comes.
    pub seed: u64,
    /// The longest value of one write.
    pub value_bytes: u32,
    /// Cuts that were made before.
    pub done: u32,
    /// Cuts that there are to be.
    pub cuts: u32,
    /// The blow that makes a crash.
    pub blow: Blow,
    /// The store's activity when the crash comes.
    pub during: CrashMoment,
    /// The shortest time from the first acknowledgements to the crash: before it nothing that the level promises is at stake.
    pub earliest: Duration,
    /// The longest.
    pub longest: Duration,
    /// Longest wait for any reply.
    pub deadline: Duration,
    /// The treatment of the files of a store that broke its promise.
    pub broken: BrokenFiles,
}

/// The blow that makes a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blow {
    /// Nodes are struck, or the process that holds an embedded engine is killed.
    Nodes {
        /// The nodes that are struck.
        which: StruckNodes,
        /// The way in which they are.
        stroke: Stroke,
        /// The time for which clients go on, where other nodes are left. Of nodes that are frozen: while they are.
        outage: Duration,
    },
    /// The power of the disk below the store's files is cut; all nodes are killed at once, and what is left of the disk is mounted.
    Power {
        /// The conduct of the disk.
        disk: DiskKind,
        /// The size of the disk.
        bytes: u64,
        /// The program that serves the disk: it leads to [`serve_disk`](crate::serve_disk).
        server: CommandLine,
    },
    /// Commands of the user, for a shell: one kills the store, and one starts it again.
    Commands {
        /// Kills it.
        kill: String,
        /// Starts it.
        start: String,
    },
}

/// The treatment of the files of a store that broke its promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenFiles {
    /// The files are removed, as all others.
    Removed,
    /// The files are left to the user.
    Kept,
}

/// The events while a level is crashed.
pub enum Crashed<'a> {
    /// The store is open, with this level in effect.
    Opened(&'a Facts, Durability),
    /// A cut was made, and what was left was read.
    Cut(&'a CrashCut),
}

/// Makes the cuts that are missing, and hands each on. `false`: it was stopped before the last.
///
/// # Errors
/// The store cannot be opened, or ends by itself before it is cut.
pub fn crash(
    request: &CrashRequest,
    execution: &Execution,
    stop: &AtomicBool,
    hear: &mut dyn FnMut(Crashed<'_>),
) -> Result<bool, RunError> {
    let supply = Supply::of(&request.blow).map_err(RunError::Store)?;
    let opening = Opening::new(&request.base);
    let opening = match &supply {
        Some(supply) => opening.on(supply.ground()),
        None => opening,
    };
    let mut kept: Option<Installation> = None;
    let mut recovery = None;
    for cut in request.done + 1..=request.cuts {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let installation = match kept.take() {
            Some(installation) => installation,
            None => opening.installation(request.info, &request.spec).map_err(RunError::Store)?,
        };
        let supply = supply.as_ref();
        let made = Cutting { request, execution, stop, installation: &installation, supply, cut, recovery }.make(hear);
        if let not_measured @ Some(_) = void(&made) {
            installation.abandon().map_err(RunError::Store)?;
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            hear(Crashed::Cut(&CrashCut { cut, seed: request.seed, not_measured, ..CrashCut::default() }));
            continue;
        }
        let Some(mut made) = made? else { return Ok(false) };
        recovery = made.recovery_s.map(Duration::from_secs_f64).or(recovery);
        // What was damaged is not written to again.
        let is_mounted = supply.is_none_or(Supply::is_mounted);
        if made.not_started.is_none() && made.found.examples.is_empty() && is_mounted {
            kept = Some(installation);
        } else if request.keeps(&made) {
            let first = supply.map_or(Ok(String::new()), Supply::keep).map_err(RunError::Store)?;
            made.kept = Some(left(installation.keep(&first).map_err(RunError::Store)?));
        } else {
            installation.abandon().map_err(RunError::Store)?;
        }
        hear(Crashed::Cut(&made));
    }
    kept.map_or(Ok(()), Installation::abandon).map_err(RunError::Store)?;
    Ok(true)
}

impl CrashRequest {
    /// Whether the files of this cut stay.
    fn keeps(&self, made: &CrashCut) -> bool {
        let level = self.spec.durability.unwrap_or(Durability::None);
        let is_broken = crash::promise(level, std::slice::from_ref(made)) == Promise::Broken;
        is_broken && self.broken == BrokenFiles::Kept
    }
}

fn left(kept: KeptDirectory) -> KeptFiles {
    KeptFiles { directory: kept.directory.display().to_string(), open: kept.open }
}
