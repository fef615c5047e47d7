//! The life of a study: trials in balanced random order, each on a fresh store, verified, judged and handed on.
//!
//! plan → for each trial: make its place → in a worker: open the store → phases (timed ones under the clock) → flush → answer →
//! verdict → clear the place away.
//!
//! A trial has two sides that speak by messages of plain data: this side (`trial`) makes the place, watches worker and server, judges;
//! the other (`worker`) opens the store and runs the phases. The other side is a process of its own, forked from a *fork server*
//! ([`serve_fork_server`]) that has read the input, so that a store that kills its process voids one trial. For stores that only the caller
//! knows it is the caller's own thread ([`Execution`]). Whatever else opens a store (`task`: a check, a question, clearing) works the
//! same way.
//!
//! What never lives here: the operation loop (engine), starting processes (host), files (archive) and tables (terminal), exiting (cli).

mod assignment;
mod changes;
mod clear;
mod crash;
mod error;
mod execution;
mod faults;
mod fleet;
pub mod grid;
mod job_cache;
mod measured;
mod message;
mod monitor;
mod observer;
mod order;
mod plan;
mod planned_cell;
mod put_off;
mod relay;
mod request;
mod run;
mod shares;
mod silence;
mod stroke;
mod supervisor;
mod task;
mod trial;
mod trial_verdict;
mod trust;
mod units;
mod users;
mod vary;
mod worker;

pub use self::crash::{Blow, BrokenFiles, CrashRequest, Crashed, crash};
pub use clear::{Cleared, clear};
pub use error::RunError;
pub use execution::{Execution, Workers};
pub use faults::{AskedFault, Faults, PlannedFault, USUAL_SECONDS, USUAL_TIMEOUT, UsualFault};
pub use fleet::{
    ClockReading, FilesSeen, Fleet, FleetAccount, FleetEvent, FleetLink, FleetWorker, LocalFleet, WorkerPlace,
};
pub use job_cache::{InputFacts, JobCache};
pub use message::{Question, UnderWay};
pub use observer::{About, Observer};
pub use order::{ScheduledTrial, balanced, rising};
pub use plan::{Asked, Histories, KeysFound, MOST_SENT_BYTES, Plan, PlannedStore};
pub use planned_cell::{PlannedCell, seconds};
pub use power::{DISK_BYTES, LEAST_DISK_BYTES, missing as missing_for_power, serve as serve_disk};
pub use relay::{Relay, Relayed};
pub use request::{Request, RequestError, Room, Rounds, Shortage};
pub use run::{Ending, Trials, run};
pub use task::{CheckRequest, Checking, ask, check};
pub use trial::{Finished, Position};
pub use users::place_of;
pub use vary::{Axis, Variation, VaryError, axes, other_settings};
pub use worker::fork_server::serve_fork_server;
