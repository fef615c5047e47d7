//! Histories: who asked what of which key, when, and what came back; and whether a single copy of the data could have answered so.
//!
//! Here live the operations, the checker, the weaker guarantees and the recorder. What never will: stores, jobs, sentences and charts.
//!
//! Every write has a version of its own within its key, so each read says which write it saw. That is what makes the check fast: the
//! operations that name one version form a cluster, and a key is linearizable exactly when its clusters can be put in a row
//! (Gibbons and Korach, "Testing shared memories", 1997). Keys are independent of each other (Herlihy and Wing, 1990).

mod absence;
mod checker;
mod cluster;
mod contradiction;
mod lines;
mod operation;
mod recorder;
mod structures;
mod weaker;

pub use checker::{Check, NotChecked, check, check_key};
pub use contradiction::{Conflict, Contradiction};
pub use lines::{LineError, read_lines, write_lines};
pub use operation::{Deed, Encounter};
pub use recorder::{Collected, Collector, Nanoseconds, Reel, Told};
pub use structures::{AppendSeen, Appended, CounterSeen, appends, counts};
pub use weaker::Weaker;
