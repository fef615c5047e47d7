//! What stores did when nodes were made to fail.

mod chart;
mod lives;
mod outages;
mod sentences;

use crate::block::{Block, Tone};
use crate::chart::Sketch;
use crate::finding::{Arrangement, Finding, FindingPart};
use crate::time::curve;
use crate::view::{Grouped, View};
pub use outages::was_done;
use outages::{headlines, lines};
pub(crate) use sentences::apart;
use sentences::sentences;
use study::Cell;

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    let cells: Vec<&Cell> = view.study.cells.iter().collect();
    let headlines = headlines(&cells).into_iter().map(|it| Block::headline(it, Tone::Strong));
    let whole = FindingPart::whole(headlines.collect()).into_iter();
    Some(Finding {
        id: "faults",
        title: "Faults",
        intro: "What each store did when nodes were made to fail, all on one time axis.".into(),
        charts: Arrangement::Below,
        parts: whole.chain(view.by_part(|it| blocks(it, view))).collect(),
    })
}

/// The curves first: of many faults they say more than the sentences.
fn blocks(it: &Grouped<'_>, view: &View<'_>) -> Vec<Block> {
    let curves = if has_any(it) { curve::curves(it.cells()) } else { Vec::new() };
    let sketch = (!curves.is_empty()).then_some(Block::Sketch(Sketch::Curves(curves)));
    let charts = view.charts(|| chart::charts(it.cells(), it.label(), &view.identities));
    let sentences = lines(it.cells()).chain(sentences(it.cells())).map(Block::plain);
    sketch.into_iter().chain(charts).chain(sentences).collect()
}

/// Whether a node of any of its stores was made to fail.
pub(crate) fn has_any(it: &Grouped<'_>) -> bool {
    it.cells().iter().any(|cell| was_done(cell))
}
