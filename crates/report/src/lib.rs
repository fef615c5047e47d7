//! What a study looks like: the study directory on disk, tables on a terminal, CSV, progress.
//!
//! Everything here reads one [`study::Study`] value and turns it into text or files. What never lives here: running anything,
//! measuring anything (progress alone looks at the clock, to say how long is left), what follows from a study's numbers (that is
//! `analysis`), knowledge of a particular store or job.
//!
//! * [`StudyDir`] keeps a study on disk while it runs, so that nothing recorded is ever lost; [`read_study`] reads one.
//! * [`sweep_table`] shows a study of many combinations at a glance.
//! * [`study_table`] and [`stores_table`] draw tables that fit 80 columns; [`cells_csv`] writes one row a cell.
//! * [`comparison_text`], [`comparison_markdown`] and [`comparison_junit`] tell what `analysis::compare` found.
//! * [`study_openmetrics`], [`study_junit`] and [`write_trials_csv`] are for other programs.
//! * [`Progress`] shows the study while it runs: cells so far, the trial under way, the time left.

mod advice;
mod answers;
mod batches;
mod budget;
mod comparison;
mod csv;
mod curves;
mod directory;
mod figure;
mod files;
mod footnotes;
mod formats;
mod json;
mod layout;
mod left;
mod markdown;
mod order;
mod originals;
mod phases;
mod pivot;
mod plot;
mod progress;
mod promise;
mod rate_search;
mod reasons;
mod spark;
mod stores_table;
mod study_table;
mod tune;
pub mod units;

pub use advice::advice;
pub use batches::{Batches, shown_rate};
pub use budget::budget_sentence;
pub use comparison::{comparison_junit, comparison_markdown, comparison_sentences, comparison_text};
pub use csv::cells_csv;
pub use directory::{DirectoryError, MOST_WHOLE_TRIALS, StudyDir, read_figures, read_study, save_study, write_study};
pub use files::{replace_file, write_file};
pub use formats::{study_junit, study_markdown, study_openmetrics, write_trials_csv};
pub use json::{json, write_json};
pub use layout::{Colour, fit_terminal};
pub use left::left_sentences;
pub use order::unseen as order_unseen;
pub use pivot::sweep_table;
pub use progress::{Moment, Progress};
pub use promise::{level_in_words, promise};
pub use rate_search::rate_search;
pub use stores_table::{Presence, StoreRow, stores_json, stores_table};
pub use study_table::study_table;
pub use tune::{setting_changes, tune_text, tune_words};
pub use units::clock;
