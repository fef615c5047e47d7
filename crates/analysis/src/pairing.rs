//! Which cells are compared with which.

use crate::ranking::{Kinds, listed, parts};
use crate::{Across, Metric};
use study::{Cell, Study};

/// Cells of two studies that stand for the same thing.
#[derive(Clone, Debug, Default)]
pub struct Matched<'a> {
    /// A cell of the first study and the one of the second.
    pub pairs: Vec<(&'a Cell, &'a Cell)>,
    /// Cells only the first study has.
    pub only_a: Vec<&'a Cell>,
    /// Cells only the second study has.
    pub only_b: Vec<&'a Cell>,
}

/// Pairs the cells of two studies, baselines left out: first those equal in job, store and parameters, then those equal in job,
/// store and the parameters that vary within their study (so that a parameter changed for a whole study counts as a difference).
pub fn same_cells<'a>(a: &'a Study, b: &'a Study) -> Matched<'a> {
    let mut only_a: Vec<&Cell> = a.cells.iter().filter(|cell| !cell.baseline).collect();
    let mut only_b: Vec<&Cell> = b.cells.iter().filter(|cell| !cell.baseline).collect();
    let mut pairs = Vec::new();
    let mut pair_up = |same: &dyn Fn(&Cell, &Cell) -> bool| {
        only_a.retain(|first| match only_b.iter().position(|second| same(first, second)) {
            Some(at) => {
                pairs.push((*first, only_b.remove(at)));
                false
            }
            None => true,
        });
    };
    pair_up(&|first, second| first.key() == second.key());
    let (varied_a, varied_b) = (varied(a), varied(b));
    pair_up(&|first, second| {
        first.job == second.job && first.store == second.store && label(first, &varied_a) == label(second, &varied_b)
    });
    Matched { pairs, only_a, only_b }
}

/// Returns every two cells of a study that may be ranked together, the better one second; void cells and baselines are left out. Pairs
/// cells across classes and durability levels only when asked.
pub fn within(study: &Study, across: Across) -> Vec<(&Cell, &Cell)> {
    let mut pairs = Vec::new();
    for part in parts(study) {
        let measured: Vec<&Cell> = part.cells.iter().copied().filter(|cell| !cell.baseline).collect();
        let kinds = match across {
            Across::Refuse => Kinds::Apart,
            Across::Compare => Kinds::Together,
        };
        for list in listed(&measured, kinds) {
            for (at, better) in list.ranked.iter().enumerate() {
                pairs.extend(list.ranked[at + 1..].iter().map(|worse| (*worse, *better)));
            }
        }
    }
    pairs
}

/// Returns a cell in words: its store, and the parameters that vary in its study, `redis clients=16`. For many cells: [`CellNames`].
pub fn cell_name(study: &Study, cell: &Cell) -> String {
    CellNames::of(study).of_cell(cell)
}

/// The parameters and jobs that tell the cells of a study from each other, looked for once.
pub struct CellNames {
    varied: Vec<String>,
    several_jobs: bool,
}

impl CellNames {
    /// Makes the names for the cells of this study.
    pub fn of(study: &Study) -> CellNames {
        let several_jobs = study.cells.first().is_some_and(|first| study.cells.iter().any(|it| it.job != first.job));
        CellNames { varied: varied(study), several_jobs }
    }

    /// Returns the same name as [`cell_name`].
    pub fn of_cell(&self, cell: &Cell) -> String {
        let label = label(cell, &self.varied);
        let job = if self.several_jobs { format!("{} on ", cell.job) } else { String::new() };
        if label.is_empty() { format!("{job}{}", cell.store) } else { format!("{job}{} {label}", cell.store) }
    }
}

/// Names of the parameters that differ between cells.
fn varied(study: &Study) -> Vec<String> {
    let all: std::collections::BTreeSet<&String> = study.cells.iter().flat_map(|cell| cell.params.keys()).collect();
    let differs = |key: &&String| {
        let mut values = study.cells.iter().filter(|cell| !cell.baseline).map(|cell| cell.params.get(*key));
        values.next().is_some_and(|first| values.any(|value| value != first))
    };
    all.into_iter().filter(differs).cloned().collect()
}

fn label(cell: &Cell, varied: &[String]) -> String {
    let values = varied.iter().filter_map(|key| cell.params.get(key).map(|value| format!("{key}={value}")));
    values.collect::<Vec<_>>().join(" ")
}

/// Why a selector names no cell, or too many.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// No such cell.
    #[error("there is no cell '{selector}'; there are: {}", known.join("; "))]
    Unknown {
        /// As it was written.
        selector: String,
        /// Every cell's name.
        known: Vec<String>,
    },
}

/// Returns the cells a selector names: a store's spec, then as many parameters as it takes to name one cell, all separated by commas:
/// `redis`, `redis,durability=commit`, `redis,durability=commit,clients=16`.
///
/// # Errors
/// It names none; the message lists those there are.
pub fn select<'a>(study: &'a Study, selector: &str) -> Result<Vec<&'a Cell>, SelectError> {
    let wanted: Vec<&str> = selector.split(',').map(str::trim).collect();
    let names = |cell: &&Cell| {
        let spec: Vec<&str> = cell.store.split(',').collect();
        let rest: Vec<&&str> = wanted.iter().filter(|word| !spec.contains(*word)).collect();
        let of_params = |word: &&&str| {
            word.split_once('=').is_some_and(|(key, value)| cell.params.get(key).is_some_and(|known| known == value))
        };
        spec.iter().all(|part| wanted.contains(part)) && rest.iter().all(of_params)
    };
    let found: Vec<&Cell> = study.cells.iter().filter(names).collect();
    if found.is_empty() {
        let known = study.cells.iter().map(|cell| cell_name(study, cell)).collect();
        return Err(SelectError::Unknown { selector: selector.into(), known });
    }
    Ok(found)
}

/// Pairs two selections by their parameters: one cell each, or a sweep of one against the same sweep of the other. What one has
/// and the other lacks is left over.
pub fn by_parameters<'a>(a: Vec<&'a Cell>, b: Vec<&'a Cell>) -> Matched<'a> {
    if let ([first], [second]) = (a.as_slice(), b.as_slice()) {
        return Matched { pairs: vec![(*first, *second)], ..Matched::default() };
    }
    let mut matched = Matched { only_b: b, ..Matched::default() };
    for first in a {
        match matched.only_b.iter().position(|second| first.job == second.job && first.params == second.params) {
            Some(at) => matched.pairs.push((first, matched.only_b.remove(at))),
            None => matched.only_a.push(first),
        }
    }
    matched
}

/// Metrics at least one of these cells has; how much failed only where something did.
pub fn metrics_of(cells: &[&Cell]) -> Vec<Metric> {
    let says = |metric: Metric, figure: f64| metric != Metric::Failed || figure > 0.0;
    let has =
        |metric: &Metric| cells.iter().any(|cell| metric.samples(cell).into_iter().any(|figure| says(*metric, figure)));
    Metric::ALL.into_iter().filter(has).collect()
}
