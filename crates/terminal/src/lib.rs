//! What a study looks like on a terminal and to other programs: tables, progress, Markdown, JUnit XML, OpenMetrics.
//!
//! Everything here reads one [`study::Study`] value and turns it into text. What is said is taken from the crate `findings`; here it
//! gets its columns, its colours and the width of the terminal. What never lives here: running or measuring anything (progress alone looks
//! at the clock, to say how long is left), what follows from a study's numbers (crate `analysis`), the study directory (crate
//! `archive`), the page (crate `report`), knowledge of a particular store or job.
//!
//! * [`study_table`], [`stores_list`] and [`stores_table`] draw tables that fit 80 columns; [`crash_text`], [`tune_text`] and [`rate_search`] what a search found.
//! * [`comparison_text`], [`comparison_markdown`] and [`comparison_junit`] say what `analysis::compare` found.
//! * [`crash_comparison_text`], [`crash_comparison_markdown`] and [`crash_comparison_junit`]: the same of `analysis::compare_crashes`.
//! * [`study_markdown`], [`study_openmetrics`] and [`study_junit`] are for other programs.
//! * [`ProgressView`] shows the study while it runs: cells so far, the trial under way, the time left; [`CrashView`] the same of crashes.

mod answers;
mod blocks;
mod comparison;
mod crash;
mod formats;
mod headings;
mod layout;
mod markdown;
mod phases;
mod plot;
mod progress;
mod rate_search;
mod reasons;
mod sketch;
mod spark;
mod stores_list;
mod stores_table;
mod study_table;
mod tune;

pub use comparison::{
    comparison_junit, comparison_markdown, comparison_text, crash_comparison_junit, crash_comparison_markdown,
    crash_comparison_text,
};
pub use crash::crash_text;
pub use formats::{study_junit, study_markdown, study_openmetrics};
pub use layout::{Colour, fit_terminal, sentence};
pub use progress::{CrashView, Moment, ProgressView};
pub use rate_search::rate_search;
pub use stores_list::stores_list;
pub use stores_table::{LevelShown, Presence, StoreRow, stores_table};
pub use study_table::study_table;
pub use tune::tune_text;
