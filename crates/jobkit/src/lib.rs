//! What a job is, as the crate `store` says what a store is: the traits, what can be wrong with a reply, presets.
//!
//! A [`Job`] is read and checked once, a [`Trial`] is one execution of it, a [`Worker`] one thread's part of a phase. [`Doubts`] answers for
//! all jobs what failed writes may have left.
//!
//! What never lives here: a particular job, the loop that drives clients, stores.

mod books;
mod doubts;
mod info;
mod job;
mod node;
mod offence;
mod pace;
mod phase;
mod preset;
mod setup;
mod share;
mod turn;

pub use books::Books;
pub use doubts::{Doubt, Doubts, Effect, Replaces};
pub use info::{Holds, JobError, JobExtras, JobInfo, JobRequest, ParamInfo, Params, PlanFile, QueryInfo};
pub use job::{Job, Step, Trial, Worker};
pub use node::{NodeAct, NodeChange, Stroke, WhichNode};
pub use offence::{Offence, Offences, printable};
pub use pace::{Arriving, Think};
pub use phase::{Pace, Phase, Purpose};
pub use preset::{FigureMeasure, Preset, PublishedFigure, Scale, Setting};
pub use setup::TrialSetup;
pub use share::{Share, SharePart};
pub use turn::{TURN, Turn, TurnEnd};
