//! What clients saw while servers failed, or not: whether one copy of the data could have answered so.

mod chart;
mod sentences;

use crate::block::{Block, Tone};
use crate::finding::{Arrangement, Finding};
use crate::identity::label;
use crate::view::{Grouped, View};
use sentences::{HistoryVerdict, outcome, sentence, steps};
use study::{Cell, History, TrialRecord};

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    view.study.cells.iter().find(|cell| seen(cell).is_some())?;
    Some(Finding {
        id: "histories",
        title: "Histories",
        intro: "What every client sent and saw was recorded, and checked key by key: could a single copy of the data have answered so, one \
                operation after the other (linearizable)?"
            .into(),
        charts: Arrangement::Below,
        parts: view.by_part(|it| blocks(it, view)),
    })
}

/// The trial of a cell that says most: one that contradicts itself with the fewest operations, else the first that was recorded.
fn seen(cell: &Cell) -> Option<(&TrialRecord, &History)> {
    let recorded = cell.trials.iter().filter_map(|trial| Some((trial, trial.history.as_ref()?)));
    recorded.min_by_key(|(_, it)| match it.contradicted_keys {
        0 => usize::MAX,
        _ => it.smallest.len(),
    })
}

fn blocks(it: &Grouped<'_>, view: &View<'_>) -> Vec<Block> {
    let seen: Vec<(&Cell, &TrialRecord, &History)> =
        it.cells().iter().filter_map(|cell| seen(cell).map(|(trial, history)| (*cell, trial, history))).collect();
    let mut blocks = Vec::new();
    for (cell, trial, history) in &seen {
        let text = sentence(&label(cell), &trial.faults, history);
        blocks.push(match outcome(history) {
            HistoryVerdict::Contradicted => Block::headline(text, Tone::Bad),
            HistoryVerdict::Linearizable => Block::plain(text),
            HistoryVerdict::NotChecked => Block::faint(text),
        });
        blocks.extend(steps(history).map(Block::plain));
    }
    if !seen.is_empty() {
        blocks.push(Block::Table(chart::table(it.cells())));
    }
    blocks.extend(view.charts(|| chart::charts(&seen, it.label())));
    blocks
}

#[cfg(test)]
mod tests;
