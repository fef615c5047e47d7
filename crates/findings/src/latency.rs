//! How long operations took, and what failed.

mod chart;
mod failed;
mod head_of_line;

use crate::block::Block;
use crate::finding::{Arrangement, Finding};
use crate::view::{Grouped, View};
pub use failed::{any, share};

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    Some(Finding {
        id: "latency",
        title: "Latency",
        intro: view.operation(),
        charts: Arrangement::Below,
        parts: view.by_part(|it| blocks(it, view)),
    })
}

fn blocks(it: &Grouped<'_>, view: &View<'_>) -> Vec<Block> {
    let sentences = failed::sentences(it.cells()).chain(head_of_line::sentences(it.cells())).map(Block::plain);
    let chart = view.charts(|| chart::chart(it.cells(), it.label(), &view.identities));
    sentences.chain(chart).collect()
}
