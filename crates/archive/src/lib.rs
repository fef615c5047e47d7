//! The directory of a study: `study.json`, its journal, and the tables beside it.
//!
//! * [`StudyDir`] keeps a study on disk while it runs, so that nothing recorded is ever lost, and continues one.
//! * [`read_study`] reads a study, finished or not; [`read_figures`] only what a report shows of a large one.
//! * [`save_packed_study`] keeps one in a directory where there are many; it is read like any other.
//! * [`cells_csv`] and [`write_trials_csv`] are a study as tables, for spreadsheets and statistics programs.
//! * [`replace_file`] and [`write_file`] write any file whole or not at all, and never where a link leads; [`json`] and
//!   [`write_json`] write JSON that is safe to show on a terminal.
//!
//! What never lives here: running or measuring anything, what follows from a study's numbers (crate `analysis`), sentences about them
//! (crate `words`), tables for a terminal (crate `terminal`), pages (crate `report`).

mod cells_csv;
mod difference;
mod document;
mod error;
mod files;
mod journal;
mod json;
mod packed;
mod reading;
mod study_dir;
mod trials_csv;

pub use cells_csv::cells_csv;
pub use document::{save_study, write_study};
pub use error::DirectoryError;
pub use files::{replace_file, write_file};
pub use json::{json, write_json};
pub use packed::{pack_study, save_packed_study};
pub use reading::{MOST_WHOLE_TRIALS, read_figures, read_study, studies_below, written_schema};
pub use study_dir::StudyDir;
pub use trials_csv::write_trials_csv;

/// The study as one document.
const STUDY: &str = "study.json";
/// The same, packed by xz: as studies are kept where there are many.
pub const PACKED: &str = "study.json.xz";
/// The journal of a study that is not closed.
const JOURNAL: &str = "trials.jsonl";
