//! The highest rate a store keeps up with.

mod chart;
mod sentences;
mod table;

use crate::block::{Block, Tone};
use crate::finding::{Arrangement, Finding, FindingPart};
use crate::view::View;
pub use sentences::sentence;
use study::RateSearch;

/// Says what a search for the highest rate found.
pub fn find(view: &View<'_>) -> Option<Finding> {
    let searches = &view.study.rate_search;
    let charts = view.charts(|| chart::charts(view.study));
    let arrangement = if charts.len() > 1 { Arrangement::Beside } else { Arrangement::Below };
    (!searches.is_empty()).then(|| Finding {
        id: "rate",
        title: "Highest rate",
        intro: String::new(),
        charts: arrangement,
        parts: FindingPart::whole([blocks(searches), charts].concat()),
    })
}

/// The best number of clients first, then each search with its curve.
fn blocks(searches: &[RateSearch]) -> Vec<Block> {
    let head = |sentence: String| Block::headline(sentence, Tone::Strong);
    let mut blocks: Vec<Block> = sentences::best(searches).map(head).collect();
    for search in searches {
        blocks.push(head(sentence(search)));
        blocks.extend(table::curve(search).map(Block::Table));
    }
    blocks.push(Block::faint(sentences::legend(searches)));
    blocks
}
