//! What stores did when nodes were made to fail.

mod chart;
mod lives;
mod outages;
mod sentences;

use crate::block::Block;
use crate::chart::Sketch;
use crate::finding::{Arrangement, Finding};
use crate::time::curve;
use crate::view::{Grouped, View};
pub use outages::{act, headlines, lines, was_done};
pub use sentences::sentences;

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    Some(Finding {
        id: "faults",
        title: "Faults",
        intro: "What each store did when nodes were made to fail, all on one time axis.".into(),
        charts: Arrangement::Below,
        parts: view.by_part(|it| blocks(it, view)),
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
