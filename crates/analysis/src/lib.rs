//! What a study says: pure functions from a [`study::Study`] to typed findings.
//!
//! Here lives everything that follows from the numbers of a study and from nothing else: a cell's summary, the ranking of cells
//! that may be ranked, their cost over the baselines. A finding is a value with named fields; how figures are drawn, printed or written
//! belongs to `words`, `terminal` and `report`. What never lives here: I/O, a clock, layout of text, knowledge of a particular store or job.
//!
//! | question | function |
//! |---|---|
//! | what are a cell's figures and its verdict? | [`summarise`] |
//! | which trial stands for a cell? | [`median_trial`] |
//! | which cells may be compared at all? | [`parts`], then [`groups`]; [`ranking`] of a whole study |
//! | which is best, and which cannot be separated? | [`Group::cells`] |
//! | is one cell shown to be better than another? | [`separate`], the one rule for all of these |
//! | what does it cost over doing nothing, or over RAM? | [`baseline`], [`cost`] |
//! | what did an operation's time go into? | [`budget`] |
//! | what did a node's failure cost? | [`fault_figures`] |
//! | was the machine quiet? | [`disturbances`] |
//! | did the store stall? | [`stalls()`] |
//! | what does a store's growth come to? | [`growth_facts`] |
//! | which cells of two studies belong together, and in what else do they differ? | [`same_cells`], [`within`], [`differences`] |
//! | how many times better is one cell than another, and is that chance? | [`compare`] |
//! | which promise was kept before and is broken now? | [`match_crashes`], [`compare_crashes`] |
//! | would another store be taken than before? | [`compare_decisions`] |
//! | is a cell shown to meet what the user needs? | [`Need`], [`fill_needs`] |
//! | is a condition of `--fail-if` broken? | [`Gate`] |
//! | what is a figure called, in which unit, and which way is better? | [`Metric`] |

mod amount;
mod budget;
mod comparison;
mod conditions;
mod cost;
mod crashes;
mod decisions;
mod disturbances;
mod faults;
mod gate;
mod growth;
mod latencies;
mod metric;
mod need;
mod pairing;
mod phases;
mod ranking;
mod separation;
mod stalls;
mod summary;

pub use budget::{budget, fill_budgets};
pub use comparison::{
    Across, Allowed, Alone, Candidates, Compared, ComparedCell, Comparison, Contrast, Obstacle, Pair, Source, Unlike,
    VoidCell, compare, ratio,
};
pub use conditions::{Condition, Difference, Weight, are_made_alike, differences};
pub use cost::{baseline, cost, spread};
pub use crashes::{
    ComparedCrashes, CrashComparison, CrashPair, CrashSide, CrashTest, MatchedCrashes, PromiseShift, compare_crashes,
    match_crashes, select_crashes,
};
pub use decisions::{
    ChangedStore, DECISION_GATE, DecisionPair, DecisionShift, UnlikeNeeds, compare_decisions, judge_decisions,
    unlike_needs,
};
pub use disturbances::disturbances;
pub use faults::{LOOK_S, TOGETHER_S, fault_figures};
pub use gate::{Fails, GATE_LEVEL, Gate, GateError, Judgement, Noisy, Ruling, Threshold, judge, judge_cells};
pub use growth::growth_facts;
pub use metric::{Better, Metric, Unit, quantity, records_per_operation};
pub use need::{DiskBound, NEED_ALPHA, Need, NeedError, NeedKind, fill_needs, meets_all, shown, shown_at};
pub use pairing::{CellNames, Matched, SelectError, by_parameters, cell_name, metrics_of, same_cells, select, within};
pub use ranking::{
    Group, MOST_RANKED, Part, Precision, Rank, RankedCell, Replication, common_parameters, groups, parts, ranking,
};
pub use separation::{ALPHA, Shown, separate};
pub use stalls::stalls;
pub use summary::{median_trial, settle_unrun, summarise};
