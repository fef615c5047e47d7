//! The life of a study: trials in balanced random order, each on a fresh store, verified, judged and handed on.
//!
//! plan → for each trial: open the store → phases (timed ones under the clock) → flush → answer → verdict → close.
//!
//! What never lives here: the operation loop (engine), starting processes (host), files and tables (report), exiting (cli).

mod judge;
mod order;
mod plan;
mod run;
mod sweep;
mod trial;
mod trust;

pub use order::{Turn, balanced};
pub use plan::{KeysFound, Plan, PlannedStore};
pub use run::{Ending, Observer, RunError, run};
pub use trial::About;
