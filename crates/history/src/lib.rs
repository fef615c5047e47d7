//! Whether what clients were answered can be explained by one order of their operations.
//!
//! A history has the operations of all clients: what each asked, what it was answered, when it was sent and when it was answered. A key is
//! *linearizable* if its operations can be put into one order that explains every answer and in which whatever was answered before another was sent
//! comes before it. Keys are independent of one another, so each is judged on its own (Herlihy and Wing 1990).
//!
//! | what | how |
//! |---|---|
//! | put and get of unique versions | zones of each version, n log n ([`judge`]; Gibbons and Korach 1997) |
//! | additions and reads of a counter | bounds of each read by sums, then the search |
//! | deletions, compare-and-set, append, versions written twice | a search with bounds ([`Bounds`]); where it hits one, [`KeyOutcome::Undecided`] says so |
//! | weaker guarantees and the age of stale reads | [`weaker()`] |
//! | the smallest contradiction, and how it looks | [`Contradiction`], [`draw`] |
//! | a history as JSON lines, as other checkers read it | [`write_lines`], [`read_lines`] |
//! | more operations than fit into memory | [`Spill`] |
//!
//! What never lives here: a clock, a store, a client, a random source.

mod act;
mod bounds;
mod contradiction;
mod drawing;
mod history;
mod lines;
mod method;
mod model;
mod packed;
mod part;
mod search;
mod smallest;
mod spill;
mod sums;
mod weaker;
mod zones;

pub use act::{Act, ActEnd, ActKind, SwapAnswer};
pub use bounds::Bounds;
pub use contradiction::{BoundHit, Contradiction, Impossibility, KeyOutcome};
pub use drawing::{FaultMark, draw};
pub use history::{History, HistoryOutcome};
pub use lines::{LineError, read_lines, write_lines};
pub use method::judge;
pub use spill::Spill;
pub use weaker::{Weaker, weaker};
