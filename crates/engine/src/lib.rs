//! The loop: slots, closed and open loop, clock, histograms, deadlines, verification of replies, counters.
//!
//! A [`Job`] is read and checked once, a [`Trial`] is one execution of it, a [`Crew`] drives its phases on an opened store over
//! any number of threads and connections, which it keeps from phase to phase; each phase comes to an [`Outcome`].
//!
//! What never lives here: a particular store or job, starting processes, statistics over trials, printing.

mod clock;
mod crew;
mod gate;
mod growth;
mod histogram;
mod job;
mod lane;
mod live;
mod offence;
mod outcome;
mod phase;
mod preset;
mod pulse;
mod schedule;
mod series;
mod settings;

pub use clock::{Clock, Ticks};
pub use crew::{Crew, run_phase};
pub use growth::Grown;
pub use histogram::Histogram;
pub use job::{
    Holds, Job, JobError, JobInfo, JobRequest, ParamInfo, Params, Phase, PlanFile, QueryInfo, Step, Think, Trial,
    TrialSetup, Worker,
};
pub use lane::{Turn, TurnEnd};
pub use live::Progress;
pub use offence::{Offence, Offences, printable};
pub use outcome::{Counts, End, Histograms, Outcome};
pub use preset::{Figure, FigureMeasure, Preset, Scale, Setting};
pub use series::Timeline;
pub use settings::{Arrivals, Settings, Timing};
