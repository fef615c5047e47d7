//! Workers that share the clients of a trial among themselves, on this machine or on others.
//!
//! Each gets the trial with its share of the clients, and reports as if it were alone; here the reports become one, so that nobody who hears them
//! knows how many workers there are. All begin each phase together. One that is lost voids the trial: a result of fewer workers is none.
//!
//! What never lives here: how messages reach another machine (the crate `fleet`).

pub(crate) mod account;
mod attend;
mod input;
mod local;
mod meet;
pub(crate) mod tick;
mod writers;

pub use account::FleetAccount;
pub use local::LocalFleet;

use crate::assignment::Assignment;
use crate::execution::{Departure, Hearing, Wish, Workers};
use crate::message::{CrashTask, CrashTurn, FromWorker, Refusal, Task};
use data::sent::FileToSend;
use input::SharedInput;
use jobkit::{Job, JobError, Params};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{CommandLine, StoreInfo};

/// The way to the workers of a fleet, wherever they are.
pub trait FleetLink: Send {
    /// Returns how many workers there have to be.
    fn size(&self) -> u32;

    /// Sees to it that every worker is there for one more trial of the plan with this digest, and returns them: the same number each time. Waits for
    /// workers that are not there, while `goes_on`.
    ///
    /// # Errors
    /// Workers are missing; in words that say which, and what to do.
    fn gather(&mut self, plan: &str, goes_on: &mut dyn FnMut() -> bool) -> Result<Vec<FleetWorker>, String>;

    /// Sends a message to a worker.
    fn send(&mut self, worker: usize, message: &[u8]);

    /// Returns what came next, and waits for it for so long.
    fn receive(&mut self, patience: Duration) -> FleetEvent;

    /// Kills the process in which a worker carries out the trial; the worker itself stays.
    fn kill(&mut self, worker: usize);

    /// Returns whether workers see the files of this machine.
    fn files_seen(&self) -> FilesSeen {
        FilesSeen::OfHere
    }

    /// The trial is over: returns the clocks of those that are still there, measured once more.
    fn part(&mut self) -> Vec<Option<ClockReading>>;
}

/// A worker of a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetWorker {
    /// Its name; no two have the same.
    pub name: String,
    /// Processors it may use.
    pub cpus: u32,
    /// Where it is.
    pub whereabouts: WorkerPlace,
    /// Its clock.
    pub clock: ClockReading,
}

/// Where a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerPlace {
    /// On this machine: it uses the same processors.
    Here,
    /// On another.
    Elsewhere,
}

/// The files that workers see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesSeen {
    /// Those of this machine.
    OfHere,
    /// Those of other machines.
    OfTheirs,
}

/// How a worker's monotonic clock differs from the one here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReading {
    /// What it shows more than ours.
    pub offset_ns: i64,
    /// The most by which that may be wrong.
    pub error_ns: u64,
}

impl ClockReading {
    /// Returns what the worker's clock shows when ours shows this.
    pub fn theirs(&self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.offset_ns)
    }

    /// Returns what our clock shows when the worker's shows this.
    pub fn ours(&self, theirs_ns: u64) -> u64 {
        theirs_ns.saturating_add_signed(self.offset_ns.saturating_neg())
    }
}

/// What came from the workers of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetEvent {
    /// A message of a worker.
    Message {
        /// Its place in the fleet.
        worker: usize,
        /// The message.
        message: Vec<u8>,
    },
    /// A worker is lost.
    Lost {
        /// Its place in the fleet.
        worker: usize,
        /// How that is known.
        how: String,
        /// The time since its last sign of life.
        silent: Duration,
    },
    /// Nothing came.
    Nothing,
}

/// Workers that share trials. Clones are the same fleet.
#[derive(Clone)]
pub struct Fleet {
    link: Arc<Mutex<Box<dyn FleetLink>>>,
    size: u32,
    /// The file of input that is sent to those that do not see it.
    file: Option<FileToSend>,
    /// Carries out what is no trial: one process does it.
    here: Workers,
}

impl Fleet {
    /// Makes a fleet of the workers behind a link. What is no trial is carried out in workers of this machine, which `line` makes.
    pub fn new(link: Box<dyn FleetLink>, line: CommandLine) -> Fleet {
        let size = link.size();
        Fleet { link: Arc::new(Mutex::new(link)), size, file: None, here: Workers::new(line) }
    }

    /// Sends this file of input to workers that do not see the files of this machine.
    #[must_use]
    pub fn sending(self, file: Option<FileToSend>) -> Fleet {
        Fleet { file, ..self }
    }

    /// Returns how many workers share a trial.
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    pub(crate) fn carry_out(
        &self,
        task: &Task,
        info: &'static StoreInfo,
        job: &dyn Fn(&Params) -> Result<Arc<dyn Job>, JobError>,
        hearing: &mut dyn Hearing,
    ) -> Departure {
        let shared = match task {
            Task::Trial(assignment) => SharedTask::Trial(assignment),
            Task::Crash(crash) if matches!(crash.turn, CrashTurn::Write { .. }) => SharedTask::Writing(crash),
            other => return self.here.carry_out(other, hearing),
        };
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        let gathered = link.gather(&digest(task), &mut || hearing.wish() == Wish::GoOn);
        match (gathered, shared) {
            (Ok(workers), SharedTask::Writing(crash)) => writers::attend(link.as_mut(), workers, crash, hearing),
            (Ok(workers), SharedTask::Trial(assignment)) => {
                let declared = layers::declared(info, &assignment.spec);
                let (file, files_seen) = (self.file.as_ref(), link.files_seen());
                let input = SharedInput { declared, job, file, files_seen };
                attend::attend(link.as_mut(), workers, assignment, input, hearing)
            }
            (Err(_), _) if hearing.wish() != Wish::GoOn => Departure::Done,
            (Err(words), SharedTask::Trial(_)) => Departure::Lost(words),
            // The crashes behind this one would wait for them again.
            (Err(words), SharedTask::Writing(_)) => {
                hearing.hear(FromWorker::Refused(Refusal::Unsuited(words)));
                Departure::Done
            }
        }
    }
}

/// The tasks that workers share; what is none of them one process does.
enum SharedTask<'a> {
    Trial(&'a Assignment),
    /// Writing until a crash.
    Writing(&'a CrashTask),
}

/// Returns the digest of what is to be done, by which all workers of a trial know that they mean the same.
fn digest(task: &Task) -> String {
    use sha2::Digest;
    let text = serde_json::to_vec(task).unwrap_or_default();
    sha2::Sha256::digest(text).iter().take(8).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // into memory: it cannot fail
        text
    })
}
