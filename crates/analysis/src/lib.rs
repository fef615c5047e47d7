//! What a study says: pure functions from a [`study::Study`] to typed findings.
//!
//! Here lives everything that follows from the numbers of a study and from nothing else: a cell's summary, the ranking of cells
//! that may be ranked, their cost over the baselines. A finding is a value with named fields; how it is drawn, printed or written
//! is the affair of `report`. What never lives here: I/O, a clock, layout of text, knowledge of a particular store or job.
//!
//! | question | function |
//! |---|---|
//! | what are a cell's figures and its verdict? | [`summarise`] |
//! | which cells may be compared at all? | [`parts`], then [`groups`] |
//! | which is best, and which were not told apart? | [`Group::places`] |
//! | what does it cost over doing nothing, or over RAM? | [`baseline`], [`cost`] |
//! | what did an operation's time go into? | [`budget`] |
//! | did anything stand still? | [`stalls()`] |
//! | what is a figure called, in which unit, and which way is better? | [`Metric`] |

mod budget;
mod cost;
mod metric;
mod ranking;
mod stalls;
mod summary;

pub use budget::{budget, fill_budgets};
pub use cost::{baseline, cost, spread};
pub use metric::{Better, Metric, Unit};
pub use ranking::{Group, Part, Place, Rank, common_parameters, groups, parts};
pub use stalls::stalls;
pub use summary::summarise;
