//! What makes figures doubtful: stalls, trials unlike the others, servers that did not answer.

mod sentences;

use crate::block::Block;
use crate::finding::{Arrangement, Finding};
use crate::view::View;

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    Some(Finding {
        id: "caution",
        title: "To keep in mind",
        intro: String::new(),
        charts: Arrangement::Below,
        parts: view.by_part(|it| sentences::of(it.cells()).into_iter().map(Block::warning).collect()),
    })
}
