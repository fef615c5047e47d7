//! Statistics for benchmark studies: pure functions over slices of numbers.
//!
//! Here live medians and quantiles, bootstrap intervals, ratios with intervals, permutation tests, the correction for many
//! comparisons, and outlier scores. What never lives here: a study, a store, a unit, a clock, I/O, or a random source that is
//! not seeded by the caller. The crate depends on nothing; equal arguments give equal results on every machine.
//!
//! **The unit of replication is the trial.** Every slice holds one number per independent trial. Operations within a trial are
//! not independent and their spread must never stand in for the spread between trials.
//!
//! | question | function |
//! |---|---|
//! | what is the typical value, and how sure is that? | [`median_interval`] |
//! | how many times slower is A than B, and how sure is that? | [`median_ratio`] |
//! | could the difference be chance? | [`permutation_test`], then [`holm`] over all comparisons made |
//! | which trials are unlike the others? | [`modified_z_scores`] |
//!
//! Functions take samples in any order. NaN and infinities are the caller's to remove: functions that could be misled by them
//! return `None`.

mod bootstrap;
mod distribution;
mod interval;
mod multiple;
mod normal;
mod order;
mod outlier;
mod permutation;
mod random;
mod ratio;

pub use bootstrap::Bootstrap;
pub use interval::{Estimate, median_interval};
pub use multiple::holm;
pub use order::{median, quantile};
pub use outlier::{OUTLIER_SCORE, modified_z_scores};
pub use permutation::{Permutations, Statistic, permutation_test};
pub use ratio::median_ratio;
