//! What a study shows, subject by subject. A [`Finding`] says one thing of a study in [`Block`]s: sentences, tables, charts.
//!
//! Each subject is one folder here and one line of the list in `finding.rs`: `find(&View) -> Option<Finding>`. The media (crates
//! `terminal` and `report`) draw blocks and know no subject, so what they say of one thing is the same.
//!
//! * [`all`]: the findings of a study, in the order readers meet them. [`View`] is what they look at. [`take`] parts what a medium draws
//!   at its head from the rest.
//! * The modules of subjects have sentences that stand elsewhere, too: a verdict, a line of progress.
//!
//! What never lives here: the figures of a cell and the tests behind them (crate `analysis`), the vocabulary all share (crate `words`),
//! columns, colours, markup.

mod block;
pub mod budget;
mod caution;
mod chart;
mod choice;
pub mod comparison;
pub mod crash;
mod draw;
pub mod faults;
pub mod figures;
mod finding;
pub mod fit;
pub mod growth;
mod history;
mod hits;
mod identity;
pub mod latency;
pub mod needs;
mod originals;
pub mod pipeline;
pub mod ranking;
pub mod rate;
pub mod resources;
pub mod sets;
pub mod sweep;
pub mod time;
pub mod tune;
mod view;

pub use block::{Block, Breadth, ColumnRole, FigureColumn, FigureTable, FigureText, Sentence, Tone};
pub use caution::unfinished;
pub use chart::{BarPart, Bars, Chart, Curve, DataTable, LinePlot, PlotLine, Sketch, slug};
pub use finding::{Arrangement, Finding, FindingPart, all, take};
pub use identity::{Identities, label, study_label};
pub use view::{Grouped, Pictures, STUDY, View};
