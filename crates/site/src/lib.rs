//! A static site over many studies: which stores are first for work like yours, on which machine, and by how much.
//!
//! * [`Collection::read`] finds the studies below some directories and reads them.
//! * [`boards`] puts cells together that may be compared: those with an equal [`ComparisonKey`], and no others.
//! * [`write`](fn@write) writes the pages. They need no server and no network, and work from a file. Each result has the mark of crate `publish`:
//!   whether somebody made it again.
//!
//! What never lives here: running or measuring anything, the test of whether two cells differ (crate `analysis`), how a single study is
//! shown (crate `report`).

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod board;
mod collection;
mod key;
mod page;
mod parallel;
mod versions;
mod work;
mod write;

pub use board::{Board, BoardEntry, boards};
pub use collection::{Collection, Published, SiteError};
pub use key::ComparisonKey;
pub use versions::{VersionChange, VersionHistory, histories};
pub use work::{ReadShare, WorkKind, WorkSize};
pub use write::write;
