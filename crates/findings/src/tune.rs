//! The best setting of a store, as a search found it.

mod chart;
mod sentences;

use crate::block::Block;
use crate::finding::{Arrangement, Finding, FindingPart};
use crate::view::View;
pub use sentences::{best, changes, effort, gain, no_effect, sentences};

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    Some(Finding {
        id: "setting",
        title: "The best setting",
        intro: "A search by successive halving: all settings get a trial, the better half continues. The best is then compared with the default in \
                trials of their own."
            .into(),
        charts: Arrangement::Below,
        parts: FindingPart::whole(chart::charts(view.study).into_iter().map(Block::Chart).collect()),
    })
}
