//! What stores still held after crashes.

pub mod blows;
mod chart;
mod sentences;

use crate::block::Block;
use crate::finding::{Arrangement, Finding, FindingPart};
use crate::view::View;
pub use sentences::{beyond, headlines, notes, outcome, ruled_out};
use study::{Crash, CrashCase};

/// The word this finding is addressed by.
pub const ID: &str = "crashes";

/// The finding is there without charts, too: its table says why there are none.
pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    let crash = view.study.crash.as_ref()?;
    Some(Finding {
        id: ID,
        title: "Crashes",
        intro: format!(
            "Clients wrote while everything was killed at a moment chosen by the seed; then the store was started on what was left, and every key \
             was read. {}",
            beyond(crash.means)
        ),
        charts: Arrangement::Below,
        parts: FindingPart::whole(blocks(crash)),
    })
}

fn blocks(crash: &Crash) -> Vec<Block> {
    let notes = |case: &CrashCase| {
        let name = case.name();
        notes(case).into_iter().map(move |note| format!("{name}: {note}"))
    };
    let sentences = crash.cases.iter().flat_map(notes).chain(ruled_out(crash)).map(Block::plain);
    sentences.chain(chart::charts(crash).into_iter().map(Block::Chart)).collect()
}
