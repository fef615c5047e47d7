//! Cells that may be ranked together, their places, and ties.

use crate::{Better, Metric};
use stats::{Bootstrap, Estimate};
use study::{Cell, Durability, Study};

/// Cells that had the same parameters.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The parameters that vary in the study and their values here, `clients=16 policy=cas`; empty when none vary.
    pub label: String,
    /// Its cells, in the order of the study.
    pub cells: Vec<&'a Cell>,
}

/// Cells of one part that share a ranking: one class, one durability level, one measure.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// `baseline`, `embedded`, `network` or `distributed`.
    pub class: &'a str,
    /// The level all of them keep; `None` for baselines.
    pub durability: Option<Durability>,
    /// What they are ranked by.
    pub metric: Metric,
    /// Ranked cells, best first; then cells without figures and void ones.
    pub places: Vec<Place<'a>>,
}

/// A cell and its rank within its group.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// Where it stands.
    pub rank: Rank,
}

/// Where a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// First of this place, from 1.
    At(usize),
    /// Not told apart from the first cell of this place.
    Tied(usize),
    /// Void, without a figure, or a baseline: not ranked.
    Unranked,
}

/// Parts a study by the parameters that vary in it, in the order they first appear.
pub fn parts(study: &Study) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
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
        match parts.iter_mut().find(|part| part.label == label) {
            Some(part) => part.cells.push(cell),
            None => parts.push(Part { label, cells: vec![cell] }),
        }
    }
    parts
}

/// Parameters all cells share, `key=value`.
pub fn common_parameters(study: &Study) -> Vec<String> {
    let Some(first) = study.cells.first() else { return Vec::new() };
    let shared = |key: &String, value: &String| study.cells.iter().all(|cell| cell.params.get(key) == Some(value));
    first.params.iter().filter(|(key, value)| shared(key, value)).map(|(key, value)| format!("{key}={value}")).collect()
}

/// The groups of one part: baselines first, then by class and durability level, weakest promise first.
pub fn groups<'a>(cells: &[&'a Cell]) -> Vec<Group<'a>> {
    let key = |cell: &'a Cell| {
        let class = if cell.baseline { "baseline" } else { cell.class.as_str() };
        let order = ["baseline", "embedded", "network", "distributed"].iter().position(|it| *it == class);
        let durability = cell.durability.filter(|_| class != "baseline");
        (order.unwrap_or(usize::MAX), class, durability, Metric::ranking(cell))
    };
    let mut keys: Vec<_> = cells.iter().map(|cell| key(cell)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.into_iter()
        .map(|group| {
            let (_, class, durability, metric) = group;
            let members = cells.iter().copied().filter(|cell| key(cell) == group).collect();
            Group { class, durability, metric, places: places(members, class, metric) }
        })
        .collect()
}

/// All cells in one group, whatever their class and durability: for those who ask for it.
pub(crate) fn group_all<'a>(cells: &[&'a Cell]) -> Vec<Group<'a>> {
    let mut metrics: Vec<Metric> = cells.iter().map(|cell| Metric::ranking(cell)).collect();
    metrics.sort_unstable();
    metrics.dedup();
    let of = |metric| cells.iter().copied().filter(|cell| Metric::ranking(cell) == metric).collect();
    let group = |metric| Group { class: "all", durability: None, metric, places: places(of(metric), "all", metric) };
    metrics.into_iter().map(group).collect()
}

fn places<'a>(mut cells: Vec<&'a Cell>, class: &str, metric: Metric) -> Vec<Place<'a>> {
    // The larger, the worse.
    let badness = |cell: &Cell| match (metric.of_cell(cell), metric.better()) {
        (None, _) => f64::INFINITY,
        (Some(figure), Better::Lower) => figure.value,
        (Some(figure), Better::Higher) => -figure.value,
    };
    let ranked = |cell: &Cell| cell.verdict.is_ranked() && metric.of_cell(cell).is_some();
    cells.sort_by(|a, b| (!ranked(a)).cmp(&!ranked(b)).then(badness(a).total_cmp(&badness(b))));
    // The cell every one after it is compared with, and its place.
    let mut leader: Option<(&Cell, usize)> = None;
    let mut places: Vec<Place<'a>> = Vec::new();
    for (at, cell) in cells.into_iter().enumerate() {
        let rank = match leader {
            _ if class == "baseline" || !ranked(cell) => Rank::Unranked,
            Some((first, place)) if !told_apart(cell, first, metric) => Rank::Tied(place),
            _ => {
                leader = Some((cell, at + 1));
                Rank::At(at + 1)
            }
        };
        places.push(Place { cell, rank });
    }
    places
}

/// Whether two cells' figures differ by more than chance would explain: 1 lies outside the interval of their ratio. Single trials
/// have no interval; they are taken at face value and the table says so.
fn told_apart(worse: &Cell, better: &Cell, metric: Metric) -> bool {
    match ratio(worse, better, metric) {
        Some(ratio) if ratio.level > 0.0 => ratio.low > 1.0 || ratio.high < 1.0,
        _ => true,
    }
}

fn ratio(a: &Cell, b: &Cell, metric: Metric) -> Option<Estimate> {
    stats::median_ratio(&metric.samples(a), &metric.samples(b), Bootstrap::default())
}
