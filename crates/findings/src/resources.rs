//! What clients and servers used, and what it took when nodes came or went.

mod chart;
mod moves;
mod nodes;
mod reduction;
mod workers;

use crate::block::Block;
use crate::finding::{Arrangement, Finding};
use crate::view::{Grouped, View};

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    Some(Finding {
        id: "resources",
        title: "Resources",
        intro: view
            .batches
            .map_or("Medians over trials.".into(), |it| format!("Medians over trials. {}", it.operation())),
        charts: Arrangement::Beside,
        parts: view.by_part(|it| blocks(it, view)),
    })
}

fn blocks(it: &Grouped<'_>, view: &View<'_>) -> Vec<Block> {
    let sentences = nodes::sentences(it.cells());
    let sentences = sentences.chain(moves::sentences(it.cells()));
    let sentences = sentences.chain(reduction::sentence(it.cells())).map(Block::plain);
    let charts = view.charts(|| chart::charts(it.cells(), it.label(), &view.identities, view.batches));
    workers::blocks(it.cells()).chain(sentences).chain(charts).collect()
}
