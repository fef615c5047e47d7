//! The life of a study: trials in balanced random order, each on a fresh store, verified, judged and handed on.
//!
//! plan → for each trial: open the store → phases (timed ones under the clock) → flush → answer → verdict → close.
//!
//! What never lives here: the operation loop (engine), starting processes (host), files and tables (report), exiting (cli).

mod clean;
pub mod grid;
mod growth;
mod judge;
mod order;
mod plan;
mod run;
pub mod search;
mod shelf;
mod trial;
mod trust;
mod vary;

pub use order::{Turn, balanced, rising};
pub use plan::{KeysFound, Plan, PlannedCell, PlannedStore, seconds};
pub use run::{Ending, Observer, RunError, Trials, run};
pub use shelf::{Input, Shelf};
pub use trial::{About, Finished, Position};
pub use vary::{Axis, Variation, VaryError, axes};
