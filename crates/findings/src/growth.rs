//! What a store does as it fills.

mod chart;
mod sentences;

use crate::block::Block;
use crate::finding::{Arrangement, Finding};
use crate::view::View;
pub use sentences::sentences;

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    Some(Finding {
        id: "growth",
        title: "Growth",
        intro: "What a store does as it fills.".into(),
        charts: Arrangement::Below,
        parts: view.by_part(|it| {
            let charts = view.charts(|| chart::charts(it.cells(), it.label(), &view.identities, view.points));
            sentences(it.cells()).map(Block::plain).chain(charts).collect()
        }),
    })
}
