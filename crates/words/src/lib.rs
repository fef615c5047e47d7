//! What kvtrial says of a study, the same on the terminal, on the page and in files for other programs.
//!
//! * [`units`]: figures as people read them; [`Batches`] and [`shown_rate`]: what a rate counts.
//! * [`advice`]: what each kind of reason means, and what to do about it.
//! * [`promise`] and [`level_in_words`]: what stores promise to keep, and who says so.
//! * [`order`], [`budget`], [`tune`], [`rate_search`], [`comparison`]: what was found, in sentences; [`nodes`]: what each of several servers used; [`moves`]: what it took when one came or went; [`sets`]: what sets of ids took; [`events`]: who waited for whom in a pipeline; [`faults`] and [`outages`]: what failing nodes cost; [`left_sentences`]: what a run left behind.
//!
//! What never lives here: columns, colours and the width of a terminal (crate `report`), charts and markup (crate `page`), files (crate
//! `archive`), what follows from a study's numbers (crate `analysis`).

mod advice;
mod batches;
pub mod budget;
pub mod comparison;
pub mod events;
pub mod faults;
pub mod growth;
mod left;
pub mod moves;
pub mod nodes;
pub mod order;
pub mod outages;
mod promise;
pub mod rate_search;
pub mod sets;
pub mod tune;
pub mod units;

pub use advice::advice;
pub use batches::{Batches, shown_rate};
pub use left::left_sentences;
pub use promise::{level_in_words, promise};
