//! What kvtrial says of a study, the same on the terminal, on the page and in files for other programs.
//!
//! * [`units`]: figures as people read them; [`Batches`] and [`shown_rate`]: what a rate counts.
//! * [`advice`]: what each kind of reason means, and what to do about it; [`meaning`] and [`remedy`]: the same of one reason of a cell.
//! * [`group_heading`], [`class_heading`] and [`group_noun`]: the stores that share a ranking.
//! * [`promise`], [`level_in_words`] and [`shown_sentences`]: what stores promise to keep, and who says so.
//! * [`verdict`], [`sweep`], [`order`], [`budget`], [`tune`], [`rate_search`], [`comparison`]: what was found, in sentences; [`parameters`]: what all cells share; [`nodes`]: what each of several servers used; [`failed`]: how many operations failed, and how long the others took; [`head_of_line`]: what replies wait behind where clients share connections; [`moves`]: what it took when one came or went; [`sets`]: what sets of ids took; [`events`]: who waited for whom in a pipeline; [`reduction`]: the groups that were counted; [`faults`] and [`outages`]: what failing nodes cost; [`crashes`]: what was left after crashes; [`crash_comparison`]: what changed since earlier ones; [`blows`]: how they were made; [`left_sentences`]: what a run left behind.
//!
//! What never lives here: columns, colours and the width of a terminal (crate `terminal`), charts and markup (crate `report`), files (crate
//! `archive`), what follows from a study's numbers (crate `analysis`).

mod advice;
mod batches;
pub mod blows;
pub mod budget;
pub mod comparison;
pub mod crash_comparison;
pub mod crashes;
pub mod events;
pub mod failed;
pub mod faults;
mod groups;
pub mod growth;
pub mod head_of_line;
mod left;
pub mod moves;
pub mod nodes;
pub mod order;
pub mod outages;
pub mod parameters;
mod promise;
pub mod rate_search;
pub mod reduction;
mod remedy;
pub mod sets;
pub mod sweep;
pub mod tune;
pub mod units;
pub mod verdict;

pub use advice::advice;
pub use batches::{Batches, shown_rate};
pub use groups::{class_heading, group_heading, group_noun};
pub use left::left_sentences;
pub use promise::{level_in_words, promise, shown_in_words, shown_sentences, whose_word};
pub use remedy::{meaning, remedy};
