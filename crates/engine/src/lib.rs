//! The loop: slots, closed and open loop, deadlines, verification of replies.
//!
//! A [`Crew`] drives the phases of a [`Trial`](jobkit::Trial) on an opened store over any number of threads and connections, which it keeps
//! from phase to phase; each phase comes to an [`Outcome`].
//!
//! What never lives here: a particular store or job, starting processes, statistics over trials, printing.

mod crew;
mod dark;
mod growth;
mod lane;
mod outcome;
mod own_thread;
mod phase;
mod pulse;
mod schedule;
mod settings;
mod starting_line;

pub use crew::{Crew, run_phase};
pub use dark::Darkness;
pub use growth::Grown;
pub use outcome::{End, Offered, Outcome};
pub use settings::{Arrivals, Outages, Settings, Timing};
pub use starting_line::{Begin, Watcher};
