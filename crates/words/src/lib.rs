//! The vocabulary of kvtrial: how figures, stores, promises and reasons are called, the same on the terminal, on the page and in files
//! for other programs.
//!
//! * [`units`]: figures as people read them; [`Batches`] and [`shown_rate`]: what a rate counts.
//! * [`advice`]: what each kind of reason means, and what to do about it; [`meaning`] and [`remedy`]: the same of one reason of a cell.
//! * [`group_heading`], [`class_heading`] and [`group_noun`]: the stores that share a ranking.
//! * [`promise`], [`level_in_words`] and [`shown_sentences`]: what stores promise to keep, and who says so; [`cuts`]: how they were killed.
//! * [`distinct`], [`joined`], [`counted`] and [`with_reason`]: lists, counts, and what is beside a name.
//! * [`parameters`]: what all cells share; [`left_sentences`]: what a run left behind.
//!
//! What never lives here: what a study shows (crate `findings`), columns, colours and the width of a terminal (crate `terminal`), markup
//! (crate `report`), files (crate `archive`), what follows from a study's numbers (crate `analysis`).

mod advice;
mod batches;
mod groups;
mod left;
mod lists;
pub mod parameters;
mod promise;
mod remedy;
pub mod units;

pub use advice::advice;
pub use batches::{Batches, shown_rate};
pub use groups::{class_heading, group_heading, group_noun};
pub use left::left_sentences;
pub use lists::{counted, distinct, joined};
pub use promise::{cuts, level_in_words, promise, shown_in_words, shown_sentences, whose_word};
pub use remedy::{meaning, remedy, with_reason};
