//! Cells against each other: groups that may be ranked, ties, and the cost over the baselines.

use stats::{Bootstrap, Estimate};
use study::{Cell, Quantity, Study};

/// Cells that share a ranking: one combination of parameters, one class, one durability level.
pub(crate) struct Group<'a> {
    pub class: &'a str,
    pub durability: Option<study::Durability>,
    /// Ranked cells, fastest first, then cells without figures, then void ones.
    pub places: Vec<Place<'a>>,
}

/// A cell and its rank within its group.
pub(crate) struct Place<'a> {
    pub cell: &'a Cell,
    pub rank: Rank,
}

/// Where a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Alone at this place.
    At(usize),
    /// Not told apart from the first cell of this place.
    Tied(usize),
    /// Void, without a time, or a baseline: not ranked.
    Unranked,
}

/// Parts a study by the parameters that vary in it; each part is drawn as a table of its own.
pub(crate) fn by_parameters(study: &Study) -> Vec<(String, Vec<&Cell>)> {
    let mut parts: Vec<(String, Vec<&Cell>)> = Vec::new();
    for cell in &study.cells {
        let mut label: Vec<String> = cell
            .params
            .iter()
            .filter(|(key, value)| study.cells.iter().any(|other| other.params.get(*key) != Some(value)))
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        if study.cells.iter().any(|other| other.job != cell.job) {
            label.insert(0, cell.job.clone());
        }
        let label = label.join(" ");
        match parts.iter_mut().find(|part| part.0 == label) {
            Some(part) => part.1.push(cell),
            None => parts.push((label, vec![cell])),
        }
    }
    parts
}

/// Parameters all cells share, `key=value`.
pub(crate) fn common_parameters(study: &Study) -> Vec<String> {
    let Some(first) = study.cells.first() else { return Vec::new() };
    let shared = |key: &String, value: &String| study.cells.iter().all(|cell| cell.params.get(key) == Some(value));
    first.params.iter().filter(|(key, value)| shared(key, value)).map(|(key, value)| format!("{key}={value}")).collect()
}

/// The groups of one part: baselines first, then by class and durability level, weakest promise first.
pub(crate) fn groups<'a>(cells: &[&'a Cell]) -> Vec<Group<'a>> {
    let class = |cell: &'a Cell| if cell.baseline { "baseline" } else { cell.class.as_str() };
    let class_order = |name: &str| ["baseline", "embedded", "network", "distributed"].iter().position(|it| *it == name);
    let mut keys: Vec<_> = cells
        .iter()
        .map(|cell| {
            let class = class(cell);
            (class_order(class).unwrap_or(usize::MAX), class, cell.durability.filter(|_| class != "baseline"))
        })
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter()
        .map(|(_, name, durability)| {
            let of_group =
                |cell: &&&'a Cell| class(cell) == name && (name == "baseline" || cell.durability == durability);
            let members: Vec<&'a Cell> = cells.iter().filter(of_group).copied().collect();
            Group { class: name, durability, places: places(members, name) }
        })
        .collect()
}

fn places<'a>(mut cells: Vec<&'a Cell>, class: &str) -> Vec<Place<'a>> {
    let time = |cell: &Cell| cell.makespan_s.map_or(f64::INFINITY, |makespan| makespan.value);
    let ranked = |cell: &Cell| cell.verdict.is_ranked() && cell.makespan_s.is_some();
    cells.sort_by(|a, b| (!ranked(a)).cmp(&!ranked(b)).then(time(a).total_cmp(&time(b))));
    // The cell every one after it is compared with, and its place.
    let mut leader: Option<(&Cell, usize)> = None;
    let mut places: Vec<Place<'a>> = Vec::new();
    for (at, cell) in cells.into_iter().enumerate() {
        let rank = match leader {
            _ if class == "baseline" || !ranked(cell) => Rank::Unranked,
            Some((first, place)) if !told_apart(cell, first) => Rank::Tied(place),
            _ => {
                leader = Some((cell, at + 1));
                Rank::At(at + 1)
            }
        };
        places.push(Place { cell, rank });
    }
    places
}

/// Whether two cells' times differ by more than chance would explain: 1 lies outside the interval of their ratio. Single trials have
/// no interval; they are taken at face value and the table says so.
fn told_apart(slower: &Cell, faster: &Cell) -> bool {
    match time_ratio(slower, faster) {
        Some(ratio) if ratio.level > 0.0 => ratio.low > 1.0,
        _ => true,
    }
}

fn time_ratio(a: &Cell, b: &Cell) -> Option<Estimate> {
    let times = |cell: &Cell| -> Vec<f64> {
        cell.counted().map(|trial| trial.makespan_s).filter(|time| time.is_finite() && *time > 0.0).collect()
    };
    stats::median_ratio(&times(a), &times(b), Bootstrap::default())
}

/// The baseline cell of a name (`null`, `ram`) for cells of this part, if it can be compared with.
pub(crate) fn baseline<'a>(cells: &[&'a Cell], name: &str) -> Option<&'a Cell> {
    let of_name = |cell: &&&Cell| cell.baseline && cell.store.split([',', ':']).next() == Some(name);
    cells.iter().find(of_name).copied().filter(|cell| cell.verdict.is_ranked() && cell.makespan_s.is_some())
}

/// How many times the baseline's time a cell took.
pub(crate) fn cost(cell: &Cell, baseline: Option<&Cell>) -> Option<f64> {
    let time = |cell: &Cell| cell.makespan_s.map(|makespan| makespan.value).filter(|time| *time > 0.0);
    Some(time(cell).filter(|_| cell.verdict.is_ranked())? / time(baseline?)?)
}

/// The larger arm of an interval as a share of the value; `None` without an interval.
pub(crate) fn spread(quantity: &Quantity) -> Option<f64> {
    let arm = (quantity.high - quantity.value).max(quantity.value - quantity.low);
    (quantity.level > 0.0 && quantity.value > 0.0).then(|| arm / quantity.value)
}

/// Wall time an operation, seconds, with the number of operations; both medians over counted trials.
pub(crate) fn time_per_operation(cell: &Cell) -> Option<(f64, f64)> {
    let counted: Vec<f64> = cell.counted().map(|trial| trial.operations as f64).collect();
    let operations = stats::median(&counted).filter(|operations| *operations > 0.0)?;
    Some((cell.makespan_s?.value / operations, operations))
}
