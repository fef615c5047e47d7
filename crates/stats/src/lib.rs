//! Statistics for benchmark studies: pure functions over slices of numbers.
//!
//! Here live medians and quantiles, bootstrap intervals, ratios with intervals, permutation tests, the correction for many
//! comparisons, detectable differences, outlier scores, autocorrelation and change points. What never lives here: a study, a store, a unit, a clock, I/O, or a random source that is
//! not seeded by the caller. The crate depends on nothing; equal arguments give equal results on every machine.
//!
//! **The unit of replication is the trial.** Every slice holds one number per independent trial. Operations within a trial are
//! not independent and their spread must never stand in for the spread between trials.
//!
//! | question | function |
//! |---|---|
//! | what is the typical value, and how sure is that? | [`median_interval`] |
//! | how many times slower is A than B, and how sure is that? | [`median_ratio`] |
//! | which of several groups differ, and could that be chance? | [`separations`] |
//! | could the difference of two groups be chance, whatever the noise? | [`permutation_test`], then [`holm`] over all comparisons made |
//! | does a group lie on one side of a bound, or could that be chance? | [`side()`] |
//! | how small a difference would have been found? how many repeats find 5 %? | [`Detection::smallest`], [`Detection::repeats_needed`] |
//! | how often does it happen, and how sure is that? | [`proportion`] |
//! | does it happen more often here than there, or could that be chance? | [`fisher_exact`] |
//! | which trials are unlike the others? | [`modified_z_scores`] |
//! | does a trial depend on the one before? what are n of them worth? | [`autocorrelation`], [`effective_sample_size`] |
//! | where does a curve change its level? | [`change_points`] |
//!
//! Functions take samples in any order. NaN and infinities are the caller's to remove: functions that could be misled by them
//! return `None`.

mod autocorrelation;
mod bootstrap;
mod bound;
mod change;
mod detect;
mod distribution;
mod interval;
mod medians;
mod multiple;
mod normal;
mod order;
mod outlier;
mod permutation;
mod proportion;
mod random;
mod ratio;
mod separation;
mod student;

pub use autocorrelation::{autocorrelation, effective_sample_size};
pub use bootstrap::Bootstrap;
pub use bound::{BoundSide, side};
pub use change::{ChangePlan, ChangePoint, change_points};
pub use detect::{Detectable, Detection, MOST_REPEATS, least_repeats};
pub use interval::{Estimate, median_interval};
pub use multiple::holm;
pub use order::{median, quantile};
pub use outlier::{OUTLIER_SCORE, modified_z_scores};
pub use permutation::{Permutations, Statistic, permutation_test, rank_test_above, sign_test_above};
pub use proportion::{fisher_exact, proportion};
pub use ratio::{median_ratio, rank_ratio};
pub use separation::{FEWEST_TRIALS, Separation, TrialFigures, separations};
