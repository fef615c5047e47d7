//! Rate and response time over the time of a trial.

pub(crate) mod chart;
pub(crate) mod curve;

use crate::block::Block;
use crate::chart::Sketch;
use crate::faults;
use crate::finding::{Arrangement, Finding};
use crate::view::{Grouped, View};

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    Some(Finding {
        id: "time",
        title: "Over time",
        intro: view.operation(),
        charts: Arrangement::Below,
        parts: view.by_part(|it| blocks(it, view)),
    })
}

/// Curves of faults stand with the faults.
fn blocks(it: &Grouped<'_>, view: &View<'_>) -> Vec<Block> {
    let curves = if faults::has_any(it) { Vec::new() } else { curve::curves(it.cells()) };
    let sketch = (!curves.is_empty()).then_some(Block::Sketch(Sketch::Curves(curves)));
    let charts = view.charts(|| chart::charts(it.cells(), view.batches, it.label(), &view.identities, view.points));
    sketch.into_iter().chain(charts).collect()
}
