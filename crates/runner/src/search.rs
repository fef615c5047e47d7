//! Searches: trials chosen by what the trials before them showed. The rules are pure and tested on known answers; [`Lab`] runs the
//! trials and hands them to the same books as a planned study's.

mod bound;
pub mod effects;
pub mod halving;
mod lab;
pub mod rate;
mod rate_judge;
mod rate_trials;
mod sample;
mod tune;

pub use bound::Bound;
pub use lab::{Lab, Tested};
pub use rate_trials::{RateOptions, find_rates, unsearched};
pub use tune::{Objective, TuneError, TuneOptions, tune};
