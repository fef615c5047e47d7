//! What makes figures doubtful: stalls, trials unlike the others, servers that did not answer.

mod sentences;

use crate::block::Block;
use crate::finding::{Arrangement, Finding};
use crate::view::View;
use study::{Status, Study};
use words::units;

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    Some(Finding {
        id: "caution",
        title: "To keep in mind",
        intro: String::new(),
        charts: Arrangement::Below,
        parts: view.by_part(|it| sentences::of(it.cells()).into_iter().map(Block::warning).collect()),
    })
}

/// Says how many trials of an interrupted study are still to be run. A cell that is void without a trial will have none, so it is not missing any.
pub fn unfinished(study: &Study) -> Option<String> {
    let wanted = study.repeats as usize;
    let cells = study.cells.iter().filter(|cell| cell.verdict.status != Status::Void || cell.was_run());
    let (planned, missing) = cells.fold((0, 0), |(planned, missing), cell| {
        (planned + wanted, missing + wanted.saturating_sub(cell.counted().count()))
    });
    (missing > 0).then(|| {
        format!(
            "Unfinished: {} of {} trials are missing. Continue with --resume.",
            units::whole(missing as u64),
            units::whole(planned as u64)
        )
    })
}
