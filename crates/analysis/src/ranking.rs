//! Cells that may be ranked together, their places, and ties.

use crate::separation::{Shown, separate};
use crate::{Better, Metric};
use std::collections::{HashMap, HashSet};
use study::{Cell, Class, Durability, Study};

/// Most cells that are put in an order. Of more every pair would have to be judged, and each pair makes the proof of all others harder:
/// of two thousand cells there are two million pairs.
pub const MOST_RANKED: usize = 200;

/// Cells that had the same parameters.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The parameters that vary in the study and their values here, `clients=16 policy=cas`; empty when none vary.
    pub label: String,
    /// Its cells, in the order of the study.
    pub cells: Vec<&'a Cell>,
}

/// The replication of a distributed store: whether it has each pair on several servers. A store that has survives what another cannot, and
/// pays for that with every write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Replication {
    /// It has not: what is on a server that dies is gone with it.
    None,
    /// It has.
    Several,
}

impl Replication {
    /// Returns the replication of a distributed store that kvtrial started.
    pub fn of(cell: &Cell) -> Option<Replication> {
        let copies = cell.copies.filter(|_| cell.class == Class::Distributed)?;
        Some(if copies > 1 { Replication::Several } else { Replication::None })
    }
}

/// Cells of one part that share a ranking: one class, one durability level, one precision, one measure.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// Their class; `None` where all were asked to be ranked together.
    pub class: Option<Class>,
    /// The level all of them keep; `None` for baselines.
    pub durability: Option<Durability>,
    /// Whether they replicate, where they are distributed and it is known.
    pub replication: Option<Replication>,
    /// Whether they answer exactly: an estimate never competes with a count.
    pub precision: Precision,
    /// What they are ranked by.
    pub metric: Metric,
    /// Ranked cells, best first; then cells without figures and void ones.
    pub cells: Vec<RankedCell<'a>>,
    /// Cells that share a place although the first of the two is shown to be better: a third cannot be separated from either.
    pub within_ties: Vec<(&'a Cell, &'a Cell)>,
}

/// The precision of a cell: whether its answers are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// They are.
    Exact,
    /// They are estimates, right within the error that theory gives.
    Estimate,
}

impl Precision {
    /// Returns the precision of a cell, as its job says.
    pub fn of(cell: &Cell) -> Precision {
        match cell.answer.facts.get("exact") {
            Some(exact) if exact == false => Precision::Estimate,
            _ => Precision::Exact,
        }
    }
}

/// A cell and its rank within its group.
#[derive(Clone, Copy, Debug)]
pub struct RankedCell<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// Where it stands.
    pub rank: Rank,
}

/// The place of a cell in its ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// At this place alone, from 1: better than every cell behind it and worse than every cell before it.
    At(usize),
    /// One of several that share this place: the trials cannot separate them all.
    Tied(usize),
    /// It has figures, but the cells of its group have too few trials for any order ([`stats::FEWEST_TRIALS`]).
    TooFew,
    /// It has figures, but there are more cells in its group than are put in an order ([`MOST_RANKED`]).
    TooMany,
    /// It has figures, and nothing to be ranked with.
    Alone,
    /// Void, without a figure, or a baseline: not ranked.
    Unranked,
}

impl Rank {
    /// Returns `2`, `2=` where the place is shared, or nothing where there is no place.
    pub fn text(self) -> String {
        match self {
            Rank::At(place) => place.to_string(),
            Rank::Tied(place) => format!("{place}="),
            Rank::TooFew | Rank::TooMany | Rank::Alone | Rank::Unranked => String::new(),
        }
    }

    /// Returns whether the cell has figures to be believed: its place in the list says something, if only by the median.
    pub fn is_listed(self) -> bool {
        self != Rank::Unranked
    }

    /// Returns whether nothing is shown to be better.
    pub fn leads(self) -> bool {
        matches!(self, Rank::At(1) | Rank::Tied(1) | Rank::Alone)
    }
}

/// Returns the cells that are compared: all but the one of a choice whose trial had more data.
fn compared(study: &Study) -> impl Iterator<Item = &Cell> {
    study.cells.iter().filter(|cell| study.choice.is_none() || cell.varied.is_empty())
}

/// Parts a study by the parameters that vary in it, in the order they first appear.
pub fn parts(study: &Study) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    // What one cell has otherwise than the first varies for all.
    let Some(first) = compared(study).next() else { return parts };
    let mut varied: HashSet<&str> = HashSet::new();
    for cell in compared(study) {
        let differs = |(key, value): &(&String, &String)| first.params.get(*key) != Some(*value);
        varied.extend(cell.params.iter().filter(differs).map(|(key, _)| key.as_str()));
        varied.extend(first.params.keys().filter(|key| !cell.params.contains_key(*key)).map(String::as_str));
    }
    let several_jobs = compared(study).any(|cell| cell.job != first.job);
    for cell in compared(study) {
        let shown = cell.params.iter().filter(|(key, _)| varied.contains(key.as_str()));
        let shown = shown.map(|(key, value)| format!("{key}={value}"));
        let label: Vec<String> = several_jobs.then(|| cell.job.clone()).into_iter().chain(shown).collect();
        let label = label.join(" ");
        match known.get(&label) {
            Some(&part) => parts[part].cells.push(cell),
            None => {
                known.insert(label.clone(), parts.len());
                parts.push(Part { label, cells: vec![cell] });
            }
        }
    }
    parts
}

/// Parameters all cells share, `key=value`.
pub fn common_parameters(study: &Study) -> Vec<String> {
    let Some(first) = compared(study).next() else { return Vec::new() };
    let shared = |key: &String, value: &String| compared(study).all(|cell| cell.params.get(key) == Some(value));
    first.params.iter().filter(|(key, value)| shared(key, value)).map(|(key, value)| format!("{key}={value}")).collect()
}

/// Returns every part of a study with its groups. Judges all pairs of cells that share a ranking anywhere in the study together: the chance
/// that equal ones among them are put in order is at most [`ALPHA`](crate::ALPHA), however many there are.
pub fn ranking(study: &Study) -> Vec<(Part<'_>, Vec<Group<'_>>)> {
    let parts = parts(study);
    let mut listed: Vec<Vec<Listed<'_>>> = parts.iter().map(|part| listed(&part.cells, Kinds::Apart)).collect();
    let order = Order::of(listed.iter().flatten());
    let ranked = listed.iter_mut().map(|lists| lists.drain(..).map(|list| list.ranked(&order)).collect::<Vec<_>>());
    let ranked: Vec<Vec<Group<'_>>> = ranked.collect();
    parts.into_iter().zip(ranked).collect()
}

/// Returns the groups of these cells: baselines first, then by class and durability level, weakest promise first. Judges only these cells
/// together.
pub fn groups<'a>(cells: &[&'a Cell]) -> Vec<Group<'a>> {
    let listed = listed(cells, Kinds::Apart);
    let order = Order::of(&listed);
    listed.into_iter().map(|list| list.ranked(&order)).collect()
}

/// The kinds of cells that are listed together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kinds {
    /// Those of one class and durability level.
    Apart,
    /// All that have one measure, whatever their class and durability: for those who ask for it.
    Together,
}

/// Cells that share a ranking, best first, not yet given places.
pub(crate) struct Listed<'a> {
    class: Option<Class>,
    replication: Option<Replication>,
    durability: Option<Durability>,
    precision: Precision,
    metric: Metric,
    /// Those with figures to be believed.
    pub ranked: Vec<&'a Cell>,
    rest: Vec<&'a Cell>,
}

/// Returns the lists of these cells.
pub(crate) fn listed<'a>(cells: &[&'a Cell], kinds: Kinds) -> Vec<Listed<'a>> {
    let key = |cell: &'a Cell| {
        let class = match kinds {
            Kinds::Together => None,
            Kinds::Apart if cell.baseline => Some(Class::Baseline),
            Kinds::Apart => Some(cell.class),
        };
        // What is in this process's memory is gone with it, and promises nothing else.
        let in_memory = matches!(class, Some(Class::Baseline | Class::Library));
        let durability = cell.durability.filter(|_| kinds == Kinds::Apart && !in_memory);
        let replication = Replication::of(cell).filter(|_| kinds == Kinds::Apart);
        (class, replication, durability, Precision::of(cell), Metric::ranking(cell))
    };
    let mut keys: Vec<_> = cells.iter().map(|cell| key(cell)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter()
        .map(|group| {
            let (class, replication, durability, precision, metric) = group;
            let believed = |cell: &&Cell| cell.verdict.is_ranked() && metric.of_cell(cell).is_some();
            let (mut ranked, rest): (Vec<&Cell>, Vec<&Cell>) =
                cells.iter().copied().filter(|cell| key(cell) == group).partition(believed);
            // The larger, the worse.
            let badness = |cell: &Cell| match (metric.of_cell(cell), metric.better()) {
                (None, _) => f64::INFINITY,
                (Some(figure), Better::Lower) => figure.value,
                (Some(figure), Better::Higher) => -figure.value,
            };
            ranked.sort_by(|a, b| badness(a).total_cmp(&badness(b)));
            Listed { class, replication, durability, precision, metric, ranked, rest }
        })
        .collect()
}

impl<'a> Listed<'a> {
    fn is_baseline(&self) -> bool {
        self.class == Some(Class::Baseline)
    }

    /// Whether there are more cells than are put in an order.
    fn is_too_many(&self) -> bool {
        self.ranked.len() > MOST_RANKED
    }

    /// Every two cells that are ranked against each other, the better one first.
    fn pairs(&self) -> impl Iterator<Item = (&'a Cell, &'a Cell)> {
        let ranked = if self.is_baseline() || self.is_too_many() { &[][..] } else { self.ranked.as_slice() };
        ranked
            .iter()
            .enumerate()
            .flat_map(move |(at, better)| ranked[at + 1..].iter().map(move |worse| (*better, *worse)))
    }

    /// Gives places: a place is left behind only where every cell before is shown to be better than every cell after.
    fn ranked(self, order: &Order) -> Group<'a> {
        let ranks = self.ranks(order);
        let rank: HashMap<*const Cell, Rank> =
            self.ranked.iter().map(|cell| std::ptr::from_ref(*cell)).zip(ranks.iter().copied()).collect();
        let of = |cell: &Cell| rank.get(&std::ptr::from_ref(cell)).copied();
        let tied = |(better, worse): &(&Cell, &Cell)| of(better) == of(worse) && order.is_shown(better, worse);
        let within_ties = self.pairs().filter(tied).collect();
        let unranked = self.rest.iter().map(|cell| RankedCell { cell, rank: Rank::Unranked });
        let cells =
            self.ranked.iter().zip(ranks).map(|(cell, rank)| RankedCell { cell, rank }).chain(unranked).collect();
        let Listed { class, replication, durability, precision, metric, .. } = self;
        Group { class, replication, durability, precision, metric, cells, within_ties }
    }

    fn ranks(&self, order: &Order) -> Vec<Rank> {
        let n = self.ranked.len();
        let enough = |cell: &&&Cell| self.metric.samples(cell).len() >= stats::FEWEST_TRIALS;
        match n {
            _ if self.is_baseline() => return vec![Rank::Unranked; n],
            1 => return vec![Rank::Alone],
            _ if self.is_too_many() => return vec![Rank::TooMany; n],
            _ if self.ranked.iter().filter(enough).count() < 2 => return vec![Rank::TooFew; n],
            _ => {}
        }
        // The last cell that a cell is not shown to be better than.
        let last_unshown = |at: usize| {
            let is_unshown = |behind: &usize| !order.is_shown(self.ranked[at], self.ranked[*behind]);
            (at + 1..n).rev().find(is_unshown).unwrap_or(at)
        };
        let mut ranks = Vec::with_capacity(n);
        let mut shared_to = 0;
        for end in 1..=n {
            shared_to = shared_to.max(last_unshown(end - 1));
            if shared_to < end {
                let first = ranks.len();
                let rank = if end - first == 1 { Rank::At(first + 1) } else { Rank::Tied(first + 1) };
                ranks.resize(end, rank);
            }
        }
        ranks
    }
}

/// Which of two cells is shown to be the better one, over all pairs that are ranked.
struct Order(HashSet<(*const Cell, *const Cell)>);

impl Order {
    fn of<'a, 'b: 'a>(lists: impl IntoIterator<Item = &'a Listed<'b>>) -> Order {
        let lists: Vec<&Listed<'_>> = lists.into_iter().collect();
        let mut shown = HashSet::new();
        let mut metrics: Vec<Metric> = lists.iter().map(|list| list.metric).collect();
        metrics.sort_unstable();
        metrics.dedup();
        for metric in metrics {
            let pairs: Vec<(&Cell, &Cell)> =
                lists.iter().filter(|list| list.metric == metric).flat_map(|list| list.pairs()).collect();
            let worse = match metric.better() {
                Better::Lower => Shown::Larger,
                Better::Higher => Shown::Smaller,
            };
            let found = separate(&pairs, metric);
            let clear = pairs.into_iter().zip(found).filter(|(_, found)| *found == worse);
            shown.extend(clear.map(|((better, worse), _)| (std::ptr::from_ref(better), std::ptr::from_ref(worse))));
        }
        Order(shown)
    }

    /// Whether the first is shown to be better than the second.
    fn is_shown(&self, better: &Cell, worse: &Cell) -> bool {
        self.0.contains(&(std::ptr::from_ref(better), std::ptr::from_ref(worse)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Kinds, MOST_RANKED, Rank, groups, listed};
    use study::{Cell, Class, TrialRecord};

    fn cells(count: usize) -> Vec<Cell> {
        let trial = |makespan_s: f64| TrialRecord { makespan_s, operations: 100, ..TrialRecord::default() };
        let cell = |at: usize| {
            let typical_s = 1.0 + at as f64;
            let mut cell = Cell {
                store: format!("redis://h{at}"),
                class: Class::Network,
                trials: [0.99, 1.0, 1.01].map(|share| trial(typical_s * share)).into(),
                ..Cell::default()
            };
            crate::summarise(&mut cell);
            cell
        };
        (0..count).map(cell).collect()
    }

    #[test]
    fn the_pairs_that_are_judged_do_not_grow_with_the_square_of_the_cells_of_a_study() {
        for (count, judged) in [(2, 1), (MOST_RANKED, MOST_RANKED * (MOST_RANKED - 1) / 2), (2_000, 0)] {
            let cells = cells(count);
            let all: Vec<&Cell> = cells.iter().collect();
            let pairs: usize = listed(&all, Kinds::Apart).iter().map(|list| list.pairs().count()).sum();
            assert_eq!(pairs, judged, "{count} cells");
        }
    }

    #[test]
    fn more_cells_than_are_ordered_are_listed_by_their_medians_and_have_no_place() {
        let cells = cells(MOST_RANKED + 1);
        let listed = groups(&cells.iter().rev().collect::<Vec<_>>()).remove(0).cells;
        assert!(listed.iter().all(|ranked| ranked.rank == Rank::TooMany && ranked.rank.is_listed()));
        assert!(listed.iter().map(|ranked| &ranked.cell.store).eq(cells.iter().map(|cell| &cell.store)));
    }
}
