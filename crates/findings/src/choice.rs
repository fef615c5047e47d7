//! Which store to take, and how to set it up.

mod sentences;

use crate::block::{Block, Tone};
use crate::finding::{Arrangement, Finding, FindingPart};
use crate::view::View;
use study::Decision;

/// What is said of a store that is out because of kills.
pub(crate) const LOST: &str = "killed, it lost what it had acknowledged";

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    let choice = view.study.choice.as_ref()?;
    // How each of several is set up stands where there is room.
    let set_up = if choice.decisions.len() == 1 { Tone::Plain } else { Tone::Detail };
    let decided = choice.decisions.iter().flat_map(|decision| decided(view, decision, set_up));
    let mut blocks: Vec<Block> = decided.collect();
    blocks.push(Block::headline(sentences::never_shown(view.study, choice), Tone::Plain));
    blocks.push(Block::headline(sentences::effort(choice), Tone::Faint));
    Some(Finding {
        id: "choice",
        title: "The choice",
        intro: "A race: every round gives each store still in it one trial. From the third round on a store is out when it is shown to miss a need, \
                or to be behind the best that meets them all. The best are then tried with other settings, killed while they write where data must be kept, \
                and given more data."
            .into(),
        charts: Arrangement::Below,
        parts: FindingPart::whole(blocks),
    })
}

fn decided(view: &View<'_>, decision: &Decision, set_up: Tone) -> Vec<Block> {
    let tone = if decision.take.is_empty() { Tone::Bad } else { Tone::Strong };
    let take = Block::headline(sentences::take(view.study, decision), tone);
    let others = [
        (sentences::set_up(decision), set_up),
        (sentences::settings(decision), Tone::Plain),
        (sentences::more_data(view.study, decision), Tone::Plain),
        (sentences::also(view.study, decision), Tone::Plain),
        (sentences::out(view.study, decision), Tone::Warning),
        (sentences::not_shown(view.study, decision), Tone::Plain),
    ];
    let others = others.into_iter().filter_map(|(text, tone)| Some(Block::headline(text?, tone)));
    std::iter::once(take).chain(others).collect()
}
