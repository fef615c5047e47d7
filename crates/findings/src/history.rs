//! What clients saw while servers failed, or not: whether one copy of the data could have answered so.

mod chart;
mod sentences;

use crate::block::{Block, Tone};
use crate::finding::{Arrangement, Finding};
use crate::identity::label;
use crate::view::{Grouped, View};
use sentences::{HistoryVerdict, outcome, steps};
use study::{Cell, FaultRecord, History, TrialRecord};

pub(crate) use chart::timeline;
pub(crate) use sentences::sentence;

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
    let tell = |(cell, trial, history): &(&Cell, &TrialRecord, &History)| {
        told(&label(cell), &trial.faults, history, Origin::FirstPhase)
    };
    let mut blocks: Vec<Block> = seen.iter().flat_map(tell).collect();
    if !seen.is_empty() {
        blocks.push(Block::Table(chart::table(it.cells())));
    }
    blocks.extend(view.charts(|| chart::charts(&seen, it.label())));
    blocks
}

/// The moment from which the times of a history are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The first timed phase of a trial began.
    FirstPhase,
    /// A crash. The client of this number is the one who read everything after it.
    Crash {
        /// Its number.
        reader: u32,
    },
}

impl Origin {
    /// Names a client.
    fn client(self, client: u32) -> String {
        match self {
            Origin::Crash { reader } if reader == client => "reader".into(),
            _ => format!("client {client}"),
        }
    }
}

/// Tells what clients saw of a store of this name: a sentence, and the smallest contradiction step by step.
pub(crate) fn told(name: &str, faults: &[FaultRecord], history: &History, origin: Origin) -> Vec<Block> {
    let text = sentence(name, faults, history);
    let first = match outcome(history) {
        HistoryVerdict::Contradicted => Block::headline(text, Tone::Bad),
        HistoryVerdict::Linearizable => Block::plain(text),
        HistoryVerdict::NotChecked => Block::faint(text),
    };
    std::iter::once(first).chain(steps(history, origin).map(Block::plain)).collect()
}

#[cfg(test)]
mod tests;
