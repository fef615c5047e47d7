//! The life of a study: trials in balanced random order, each on a fresh store, verified, judged and handed on.
//!
//! plan → for each trial: make its place → in a worker: open the store → phases (timed ones under the clock) → flush → answer →
//! verdict → clear the place away.
//!
//! A trial has two sides that speak by messages of plain data: this side (`trial`) makes the place, watches worker and server, judges;
//! the other (`work`) opens the store and runs the phases. The other side is a process of its own, forked from a *nursery*
//! ([`serve_nursery`]) that has read the input, so that a store that kills its process voids one trial. For stores that only the caller
//! knows it is the caller's own thread ([`Execution`]). Whatever else opens a store (`errand`: a check, a question, clearing) works the
//! same way.
//!
//! What never lives here: the operation loop (engine), starting processes (host), files (archive) and tables (report), exiting (cli).

mod ask;
mod attendant;
mod bench;
mod clean;
mod clear;
mod errand;
mod error;
mod execution;
mod faults;
pub mod grid;
mod growth;
mod holding;
mod judge;
mod measured;
mod message;
mod nursery;
mod observer;
mod order;
mod phases;
mod plan;
mod put_off;
mod request;
mod run;
pub mod search;
mod shelf;
mod silence;
mod trial;
mod trust;
mod users;
mod vary;
mod witness;
mod work;

pub use clear::{Cleared, clear};
pub use errand::{CheckRequest, Checking, ask, check};
pub use error::RunError;
pub use execution::{Execution, Workers};
pub use faults::{AskedFault, Faults, PlannedFault, USUAL_SECONDS, USUAL_TIMEOUT, UsualFault};
pub use message::{Question, UnderWay};
pub use nursery::serve_nursery;
pub use observer::{About, Observer};
pub use order::{ScheduledTrial, balanced, rising};
pub use plan::{Asked, KeysFound, Plan, PlannedCell, PlannedStore, seconds};
pub use request::{Request, RequestError, Room, Rounds};
pub use run::{Ending, Trials, run};
pub use shelf::{InputFacts, Shelf};
pub use trial::{Finished, Position};
pub use users::place_of;
pub use vary::{Axis, Variation, VaryError, axes};
