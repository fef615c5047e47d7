//! Which store is best, within a class and a level of durability.

mod chart;
mod footnotes;
mod headline;
pub mod order;
mod table;
pub mod verdict;

use crate::block::{Block, Tone};
use crate::finding::{Arrangement, Finding};
use crate::needs;
use crate::view::{Grouped, View};
use analysis::Group;
pub use footnotes::{footnotes, read_back};
use study::Class;
pub use table::table;

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    Some(Finding {
        id: "ranking",
        title: "Ranking",
        intro: "Stores are compared within one class and one durability level only: a library in the client's process and a server behind a \
                socket do not do the same work, nor do stores that promise different things."
            .into(),
        charts: Arrangement::Below,
        parts: view.by_part(|it| blocks(it, view)),
    })
}

/// Baselines come last: they are what the others are compared with. Of one part the headlines say who is first; of several the sweep does,
/// and of a choice what was chosen.
fn blocks(it: &Grouped<'_>, view: &View<'_>) -> Vec<Block> {
    let is_head = view.parts.len() == 1 && !view.is_search() && view.study.choice.is_none();
    let headlines = if is_head { headline::sentences(it) } else { Vec::new() };
    let headlines = headlines.into_iter().map(|sentence| Block::headline(sentence, Tone::Detail));
    let is_baseline = |group: &&Group<'_>| group.class == Some(Class::Baseline);
    let (baselines, stores): (Vec<_>, Vec<_>) = it.groups.iter().partition(is_baseline);
    // A bar alone is compared with nothing; where needs are, it stands among all stores in the picture of margins.
    let is_alone = |group: &Group<'_>| group.cells.iter().filter(|it| it.cell.verdict.is_ranked()).count() < 2;
    let are_apart = needs::are_drawn(it.cells()) && it.groups.len() > 1;
    let groups = stores.into_iter().chain(baselines).filter(|group| !are_apart || !is_alone(group));
    let charts = view.charts(|| groups.filter_map(|group| chart::chart(group, it.label(), &view.identities)));
    headlines.chain(charts).collect()
}
