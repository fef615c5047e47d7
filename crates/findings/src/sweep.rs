//! What changes with the parameters a study varied.

mod chart;
mod curves;
mod pivot;
mod sentences;

use crate::block::{Block, Tone};
use crate::chart::Sketch;
use crate::finding::{Arrangement, Finding, FindingPart};
use crate::view::View;
use analysis::{Better, MOST_RANKED, Metric, Shown, separate};
use std::collections::HashSet;
use study::Cell;

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    Some(Finding {
        id: "sweep",
        title: "What varied",
        intro: "The same figures against the parameters this study varied. Trials of all cells ran in one balanced random order, so a drift \
                of the machine does not look like an effect."
            .into(),
        charts: Arrangement::Below,
        parts: FindingPart::whole(blocks(view)),
    })
}

fn blocks(view: &View<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !view.is_search() {
        let sentences = if view.parts.len() > 1 { sentences::sentences(view) } else { Vec::new() };
        let tone = |at| if at == 0 { Tone::Strong } else { Tone::Plain };
        blocks.extend(sentences.into_iter().enumerate().map(|(at, sentence)| Block::headline(sentence, tone(at))));
        let plots = curves::curves(view.study);
        blocks.extend((!plots.is_empty()).then_some(Block::Sketch(Sketch::Plots(plots))));
        blocks.extend(pivot::blocks(view.study));
    }
    // The settings of a search for the best have charts of their own.
    if view.study.tune.is_none() {
        blocks.extend(view.charts(|| chart::charts(view.study, &view.identities)));
    }
    blocks
}

/// Returns a store's spec without an option that varies. `redis.connections` is varied as that, and is `connections` in the spec; a version stands
/// behind the name.
fn without(spec: &str, key: &str, value: &str) -> String {
    let name = key.rsplit('.').next().unwrap_or(key);
    if name == study::VERSION {
        return spec.replacen(&format!("@{value}"), "", 1);
    }
    let written = format!("{name}={value}");
    spec.split(',').filter(|option| *option != written).collect::<Vec<_>>().join(",")
}

/// Cells that are behind the best of their row.
type Behind = HashSet<*const Cell>;

/// Returns the cells shown to be worse than the best of their row, by the rule of every ranking over all pairs of all rows. Each row is
/// best first; of too many cells none is proved to be the best.
fn behind(rows: &[Vec<&Cell>], metric: Metric) -> Behind {
    let judged = rows.iter().filter(|row| row.len() <= MOST_RANKED);
    let pairs = judged.flat_map(|row| (0..row.len()).flat_map(move |a| row[a + 1..].iter().map(move |b| (row[a], *b))));
    let pairs: Vec<(&Cell, &Cell)> = pairs.collect();
    let worse = match metric.better() {
        Better::Lower => Shown::Larger,
        Better::Higher => Shown::Smaller,
    };
    let best: Behind = rows.iter().filter_map(|row| row.first()).map(|cell| std::ptr::from_ref(*cell)).collect();
    let found = pairs.iter().zip(separate(&pairs, metric));
    let shown = found.filter(|((a, _), found)| *found == worse && best.contains(&std::ptr::from_ref(*a)));
    shown.map(|((_, b), _)| std::ptr::from_ref(*b)).collect()
}
