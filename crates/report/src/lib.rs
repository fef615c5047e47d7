//! The report of a study as a page and as pictures: one HTML file that opens offline ten years from now, and plots as SVG and PNG.
//!
//! A [`Report`] is made from one study, or from several overlaid. It decides what is shown; [`Report::html`] and
//! [`Report::plots`] only draw it; a [`FindingsPage`] has findings that are of no study. Every chart is described once, as plain JSON ([`findings::Chart`]); one piece of JavaScript
//! (`assets/chart.js` with Apache ECharts) draws it in the reader's browser and, run by an interpreter inside kvtrial, in the files.
//! Behind every chart is a table with the same figures.
//!
//! What never lives here: statistics, rankings and verdicts (crate `analysis`), what a study shows and the charts of it (crate `findings`),
//! reading and writing of study directories (crate `archive`), anything of a terminal, knowledge of a particular store or job.

mod downloads;
mod headline;
mod html;
mod notices;
#[cfg(feature = "plots")]
mod plots;
mod reproduce;
mod view;

pub use html::bare::FindingsPage;
pub use html::{THEME, head};
#[cfg(feature = "plots")]
pub use plots::{Plot, PlotError};
pub use view::{Named, Report};
