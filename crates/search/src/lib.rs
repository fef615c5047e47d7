//! Searches: trials chosen by what the trials before them showed, for the highest rate a store keeps up with ([`find_rates`]), for the best
//! setting ([`tune`]) and for the store that fits ([`choose`]). The rules are pure and tested on known answers; [`Lab`] has the trials run and hands them to the same books as a planned
//! study's.
//!
//! What never lives here: running a trial (crate `runner`), what a search found in words (crate `findings`).

mod bound;
mod budget;
mod choose;
pub mod effects;
pub mod halving;
mod lab;
pub mod race;
pub mod rate;
mod rate_judge;
mod rate_trials;
mod sample;
mod tune;

pub use bound::Bound;
pub use budget::SearchTime;
pub use choose::{ChooseError, ChooseOptions, Kills, MoreWork, choose};
pub use lab::{Lab, Tested};
pub use rate_trials::{RateOptions, find_rates, unsearched};
pub use tune::{Objective, TuneError, TuneOptions, tune};
