//! The highest rate a store keeps up with.

mod chart;
mod sentences;

use crate::block::Block;
use crate::finding::{Arrangement, Finding, FindingPart};
use crate::view::View;
pub use sentences::{sentence, sentences};

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    let charts = chart::charts(view.study);
    let arrangement = if charts.len() > 1 { Arrangement::Beside } else { Arrangement::Below };
    Some(Finding {
        id: "rate",
        title: "Highest rate",
        intro: String::new(),
        charts: arrangement,
        parts: FindingPart::whole(charts.into_iter().map(Block::Chart).collect()),
    })
}
