//! What a study looks like: the study directory on disk, tables on a terminal, CSV, progress.
//!
//! Everything here reads one [`study::Study`] value and turns it into text or files. What never lives here: running anything,
//! measuring anything (progress alone looks at the clock, to say how long is left), what follows from a study's numbers (that is
//! `analysis`), knowledge of a particular store or job.
//!
//! * [`StudyDir`] keeps a study on disk while it runs, so that nothing recorded is ever lost; [`read_study`] reads one.
//! * [`study_table`] and [`stores_table`] draw tables that fit 80 columns; [`cells_csv`] writes one row a cell.
//! * [`Progress`] shows one updating line with the time left while trials run.

mod advice;
mod answers;
mod budget;
mod csv;
mod directory;
mod footnotes;
mod layout;
mod progress;
mod reasons;
mod stores_table;
mod study_table;
mod units;

pub use csv::cells_csv;
pub use directory::{DirectoryError, StudyDir, read_study};
pub use layout::Colour;
pub use progress::Progress;
pub use stores_table::{Presence, StoreRow, stores_json, stores_table};
pub use study_table::study_table;
