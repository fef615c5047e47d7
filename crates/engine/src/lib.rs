//! The loop: slots, closed and open loop, clock, histograms, deadlines, verification of replies, counters.
//!
//! What never lives here: a particular store or job, starting processes, statistics over trials, printing.

mod job;
mod offence;

pub use job::{
    Job, JobError, JobInfo, JobRequest, ParamInfo, Params, Phase, QueryInfo, Step, Think, Trial, TrialSetup, Worker,
};
pub use offence::{Offence, Offences, printable};
