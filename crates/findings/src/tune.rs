//! The best setting of a store, as a search found it.

mod chart;
mod sentences;
mod table;

use crate::block::{Block, Tone};
use crate::finding::{Arrangement, Finding, FindingPart};
use crate::view::View;
use study::Tune;

/// Says what a search for the best setting found.
pub fn find(view: &View<'_>) -> Option<Finding> {
    let tune = view.study.tune.as_ref()?;
    Some(Finding {
        id: "setting",
        title: "The best setting",
        intro: "A search by successive halving: all settings get a trial, the better half continues. The best is then compared with the default in \
                trials of their own."
            .into(),
        charts: Arrangement::Below,
        parts: FindingPart::whole(blocks(view, tune)),
    })
}

fn blocks(view: &View<'_>, tune: &Tune) -> Vec<Block> {
    let mut blocks = vec![
        Block::headline(sentences::best(view.study, tune), Tone::Strong),
        Block::headline(sentences::gain(tune), Tone::Plain),
        Block::headline(sentences::effort(tune), Tone::Faint),
    ];
    blocks.extend(table::front(tune, view.batches).map(Block::Table));
    if tune.effects.iter().all(|effect| effect.ratio.is_none()) {
        blocks.push(Block::plain(sentences::NO_EFFECT_KNOWN));
    }
    blocks.extend(table::effects(tune).map(Block::Table));
    blocks.extend(sentences::no_effect(tune).map(|sentence| Block::headline(sentence, Tone::Plain)));
    blocks.extend(view.charts(|| chart::charts(view.study)));
    blocks
}
