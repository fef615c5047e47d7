//! The job `replay` on stores that may drop values: their hits beside those of exact caches of the same size.

mod chart;

use crate::block::{Block, FigureTable};
use crate::finding::{Arrangement, Finding};
use crate::view::{Grouped, View};
use serde_json::Value;
use study::Cell;
use words::units;

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    Some(Finding {
        id: "hits",
        title: "Hits and answers",
        intro:
            "What a store that drops values still had, beside exact caches of the size it was found to have at the end."
                .into(),
        charts: Arrangement::Below,
        parts: view.by_part(|it| blocks(it, view)),
    })
}

/// The figures of a cell whose store might drop values; medians over its trials.
pub(crate) struct HitFigures<'a> {
    pub(crate) cell: &'a Cell,
    /// Gets.
    gets: f64,
    /// Hits, as shares of the gets.
    pub(crate) store: f64,
    pub(crate) lru: f64,
    pub(crate) fifo: f64,
    pub(crate) all_kept: f64,
    /// Keys that were there at the end, and bytes of them and their values.
    keys: f64,
    bytes: f64,
}

impl HitFigures<'_> {
    /// Returns the figures as texts: the store's hits, those of LRU, FIFO and of all kept, keys and bytes.
    pub(crate) fn texts(&self) -> [String; 6] {
        let shares = [self.store, self.lru, self.fifo, self.all_kept].map(|share| format!("{:.1} %", 100.0 * share));
        let [store, lru, fifo, all_kept] = shares;
        [store, lru, fifo, all_kept, study::whole(self.keys as u64), units::bytes(self.bytes as u64)]
    }
}

fn figures<'a>(cells: &[&'a Cell]) -> Vec<HitFigures<'a>> {
    let of = |cell: &'a Cell| {
        let fact = |name: &str| {
            let found: Vec<f64> =
                cell.counted().filter_map(|trial| trial.answer.facts.get(name).and_then(Value::as_f64)).collect();
            stats::median(&found)
        };
        let (hits, lru, fifo) = (fact("get_hits")?, fact("hits_of_exact_lru")?, fact("hits_of_exact_fifo")?);
        let gets = (hits + fact("get_misses")?).max(1.0);
        let (keys, bytes) = (fact("keys_at_end")?, fact("bytes_at_end")?);
        let all_kept = fact("hits_of_all_kept")? / gets;
        Some(HitFigures { cell, gets, store: hits / gets, lru: lru / gets, fifo: fifo / gets, all_kept, keys, bytes })
    };
    let replayed = cells.iter().filter(|cell| cell.job == "replay" && cell.verdict.is_ranked() && !cell.baseline);
    replayed.filter_map(|cell| of(cell)).collect()
}

fn blocks(it: &Grouped<'_>, view: &View<'_>) -> Vec<Block> {
    let found = figures(it.cells());
    let answers: Vec<Block> = answers(it.cells()).map(Block::plain).collect();
    let charts = view.charts(|| chart::chart(&found, it.label(), &view.identities));
    answers
        .into_iter()
        .chain(table(&found).map(Block::Table))
        .chain(sentences(&found).map(Block::plain))
        .chain(charts)
        .collect()
}

fn table(found: &[HitFigures<'_>]) -> Option<FigureTable> {
    let title = "Hits: share of the gets, beside exact caches of the size found at the end";
    let columns = ["STORE", "HITS", "EXACT LRU", "EXACT FIFO", "ALL KEPT", "KEYS", "BYTES"];
    let row = |it: &HitFigures<'_>| {
        let [hits, lru, fifo, kept, keys, bytes] = it.texts();
        [it.cell.store.clone(), hits, lru, fifo, kept, keys, bytes]
    };
    let mut table = FigureTable::of_figures(title, columns, found.iter().map(row))?;
    table.columns[6].spare = 1;
    Some(table)
}

/// A sentence per store whose replies were held against recorded ones, and the first that differ.
fn answers<'a>(cells: &'a [&'a Cell]) -> impl Iterator<Item = String> + 'a {
    let replayed = cells.iter().filter(|cell| cell.job == "replay" && cell.verdict.is_ranked() && !cell.baseline);
    replayed.filter_map(|cell| {
        let fact = |name: &str| cell.answer.facts.get(name);
        let (differ, same) = (fact("replies_differ")?.as_u64()?, fact("replies_same")?.as_u64()?);
        let (store, compared) = (&cell.store, study::whole(differ + same));
        if differ == 0 {
            return Some(format!("All of {compared} replies are as the recorded ones on {store}."));
        }
        let first = fact("first_differences").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let first: Vec<&str> = first.collect();
        let differ = study::whole(differ);
        Some(format!("{differ} of {compared} replies differ from the recorded ones on {store}: {}.", first.join("; ")))
    })
}

/// A sentence per store that is not as good as the exact LRU, or better, by more than one get in a hundred.
fn sentences<'a>(found: &'a [HitFigures<'_>]) -> impl Iterator<Item = String> + 'a {
    found.iter().filter_map(|it| {
        let more = it.store - it.lru;
        let (word, by) = if more < 0.0 { ("fewer", -more) } else { ("more", more) };
        (by > 0.01).then(|| {
            let (store, gets) = (&it.cell.store, study::whole(it.gets as u64));
            format!("{store} had {:.1} of 100 gets {word} than an exact LRU of its size ({gets} gets).", 100.0 * by)
        })
    })
}
