//! Results that may be compared, in order.

use crate::collection::{Collection, Published};
use crate::key::ComparisonKey;
use crate::work::WorkKind;
use analysis::{Metric, Rank, Replication};
use std::collections::BTreeMap;
use study::{Cell, Quantity};

/// Results that may be compared, the best first.
#[derive(Debug)]
pub struct Board<'c> {
    /// What all of them share.
    pub key: ComparisonKey,
    /// A short name, for the address of its page.
    pub id: String,
    /// What they are ranked by.
    pub metric: Metric,
    /// Whether they replicate, where they are distributed and it is known.
    pub replication: Option<Replication>,
    /// What their work is like.
    pub work: WorkKind,
    /// The results: those with a place, then others with figures, then void ones.
    pub entries: Vec<BoardEntry<'c>>,
}

/// The result of a store on a board.
#[derive(Clone, Debug)]
pub struct BoardEntry<'c> {
    /// The cell.
    pub cell: &'c Cell,
    /// The study it is of.
    pub published: &'c Published,
    /// Where it stands.
    pub rank: Rank,
    /// The figure it is ranked by.
    pub figure: Option<Quantity>,
    /// How many times worse it is than the first, with its interval; `None` of the first, and where a figure is missing.
    pub behind: Option<Quantity>,
}

impl<'c> Board<'c> {
    /// Returns the same board again.
    pub(crate) fn copy(&self) -> Board<'c> {
        Board { key: self.key.clone(), id: self.id.clone(), entries: self.entries.clone(), ..*self }
    }

    /// Returns the results that nothing is shown to be better than.
    pub fn leaders(&self) -> impl Iterator<Item = &BoardEntry<'c>> {
        self.entries.iter().filter(|entry| entry.rank.leads())
    }

    /// Returns the best result that is shown to be behind.
    pub fn next(&self) -> Option<&BoardEntry<'c>> {
        self.entries.iter().find(|entry| matches!(entry.rank, Rank::At(place) | Rank::Tied(place) if place > 1))
    }
}

/// Returns the boards of a collection, by job, parameters, machine, class and durability. Of several results of one store in one version the
/// newest stands on the board; baselines and cells of which nothing was run stand on none.
pub fn boards(collection: &Collection) -> Vec<Board<'_>> {
    let mut by_key: BTreeMap<ComparisonKey, BTreeMap<(String, String), (&Published, &Cell)>> = BTreeMap::new();
    // Oldest first, so that the newest stays.
    for published in &collection.studies {
        let cells = published.study.cells.iter();
        for cell in cells.filter(|cell| !cell.baseline && cell.was_run()) {
            let key = ComparisonKey::of(&published.study, cell);
            let store = (cell.store.clone(), cell.store_version.clone());
            by_key.entry(key).or_default().insert(store, (published, cell));
        }
    }
    by_key.into_iter().flat_map(|(key, cells)| of_key(&key, &cells.into_values().collect::<Vec<_>>())).collect()
}

/// The boards of one key: a store that replicates and one that does not, or an estimate and a count, have a board of their own.
fn of_key<'c>(key: &ComparisonKey, cells: &[(&'c Published, &'c Cell)]) -> Vec<Board<'c>> {
    let of = |cell: &Cell| cells.iter().find(|(_, known)| std::ptr::eq(*known, cell)).map(|(published, _)| *published);
    let groups = analysis::groups(&cells.iter().map(|(_, cell)| *cell).collect::<Vec<_>>());
    let several = groups.len() > 1;
    let board = |(at, group): (usize, analysis::Group<'c>)| {
        let first = group.cells.first().filter(|first| first.rank.is_listed()).map(|first| first.cell);
        let entry = |ranked: &analysis::RankedCell<'c>| {
            let behind = first.filter(|first| !std::ptr::eq(*first, ranked.cell) && ranked.rank.is_listed());
            Some(BoardEntry {
                cell: ranked.cell,
                published: of(ranked.cell)?,
                rank: ranked.rank,
                figure: group.metric.of_cell(ranked.cell).filter(|_| ranked.rank.is_listed()),
                behind: behind.and_then(|first| worse(first, ranked.cell, group.metric)),
            })
        };
        let entries: Vec<BoardEntry<'_>> = group.cells.iter().filter_map(entry).collect();
        let newest = entries.first()?;
        let id = if several { format!("{}-{at}", key.id()) } else { key.id() };
        let work = WorkKind::of(newest.cell, &newest.published.study.host);
        Some(Board { key: key.clone(), id, metric: group.metric, replication: group.replication, work, entries })
    };
    groups.into_iter().enumerate().filter_map(board).collect()
}

/// How many times worse the second is than the first.
fn worse(first: &Cell, second: &Cell, metric: Metric) -> Option<Quantity> {
    match metric.better() {
        analysis::Better::Lower => analysis::ratio(first, second, metric),
        analysis::Better::Higher => analysis::ratio(second, first, metric),
    }
}
