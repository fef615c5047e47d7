//! The findings of a sweep in sentences: which store leads in how many combinations, and where each store is at its best.

use super::{Behind, behind};
use crate::figures;
use crate::identity::label;
use crate::ranking::verdict;
use crate::view::{Grouped, View};
use analysis::{Better, Group, MOST_RANKED, Metric, Rank};
use study::{BudgetLayer, Cell, Class, Study};
use words::group_noun;
use words::units::whole;

/// Stores whose best is named.
const STORES: usize = 4;
/// Combinations named in a sentence; of more their number.
const NAMED: usize = 3;

/// Says what the combinations show: first of stores against each other, then of each store against itself.
pub(super) fn sentences(view: &View<'_>) -> Vec<String> {
    [leaders(view.study, &view.parts), best_values(view.study, &view.parts)].concat()
}

/// A class, in how many combinations it has several stores, the most of them, how often each store is shown to lead, and how often it is ahead by
/// the median.
struct Tally<'a> {
    class: String,
    group: &'a Group<'a>,
    combinations: usize,
    stores: usize,
    leaders: Vec<(String, usize)>,
    ahead: Vec<(String, usize)>,
    /// The fewest trials of a store, where they are too few for any order.
    too_few: Option<usize>,
}

fn count(known: &mut Vec<(String, usize)>, name: String) {
    match known.iter_mut().find(|(other, _)| *other == name) {
        Some((_, times)) => *times += 1,
        None => known.push((name, 1)),
    }
}

/// In how many combinations which store is shown to be the best, for each class that has several.
fn leaders(study: &Study, parts: &[&Grouped<'_>]) -> Vec<String> {
    let mut tallies: Vec<Tally<'_>> = Vec::new();
    let groups = parts.iter().flat_map(|it| &it.groups);
    for group in groups.filter(|group| group.class != Some(Class::Baseline)) {
        let cells = verdict::listed(group);
        if cells.len() < 2 {
            continue;
        }
        let name = group_noun(group);
        let at = tallies.iter().position(|tally| tally.class == name).unwrap_or_else(|| {
            let (leaders, ahead) = (Vec::new(), Vec::new());
            tallies.push(Tally { class: name, group, combinations: 0, stores: 0, leaders, ahead, too_few: None });
            tallies.len() - 1
        });
        let tally = &mut tallies[at];
        tally.combinations += 1;
        tally.stores = tally.stores.max(cells.len());
        count(&mut tally.ahead, label(cells[0]));
        let mut first = group.cells.iter().filter(|ranked| ranked.rank.leads());
        if let (Some(winner), None) = (first.next(), first.next()) {
            count(&mut tally.leaders, label(winner.cell));
        }
        if group.cells.iter().any(|ranked| ranked.rank == Rank::TooFew) {
            let fewest = cells.iter().map(|cell| group.metric.samples(cell).len()).min();
            tally.too_few = tally.too_few.min(fewest).or(fewest);
        }
    }
    let where_ = match study.varied.as_slice() {
        [one] => format!("values of {}", one.key),
        _ => "combinations".into(),
    };
    tallies.into_iter().map(|tally| sentence(tally, &where_)).collect()
}

/// `a in 3, b in 1`: the most of them.
fn times_each(names: &[(String, usize)]) -> String {
    let each: Vec<String> = names.iter().take(NAMED).map(|(name, times)| format!("{name} in {times}")).collect();
    each.join(", ")
}

fn sentence(mut tally: Tally<'_>, where_: &str) -> String {
    tally.leaders.sort_by_key(|leader| std::cmp::Reverse(leader.1));
    tally.ahead.sort_by_key(|ahead| std::cmp::Reverse(ahead.1));
    let Tally { class, group, combinations, stores, leaders, ahead, too_few } = tally;
    let shown: usize = leaders.iter().map(|leader| leader.1).sum();
    let open = match combinations - shown {
        0 => String::new(),
        open => format!("; in {open} these trials show no leader"),
    };
    let Some(((first, times), others)) = leaders.split_first() else {
        let unproved = match too_few {
            Some(1) => format!("1 repeat cannot prove it, --repeats {} or more can", stats::FEWEST_TRIALS),
            Some(n) => format!("{n} repeats cannot prove it, --repeats {} or more can", stats::FEWEST_TRIALS),
            None => "these trials do not prove it".into(),
        };
        return match ahead.as_slice() {
            [(name, _)] => format!("{name} was ahead at all {combinations} {where_} ({stores} {class}); {unproved}."),
            [(name, times), rest @ ..] => {
                let rest = times_each(rest);
                format!(
                    "{name} was ahead in {times} of {combinations} {where_}, {rest} ({stores} {class}); {unproved}."
                )
            }
            [] => format!("No leader of {stores} {class} is shown in any of {combinations} {where_}."),
        };
    };
    let others = times_each(others);
    let others = if others.is_empty() { others } else { format!(", {others}") };
    format!(
        "{first} is {} of {stores} {class} in {times} of {combinations} {where_}{others}{open}.",
        verdict::best(group.metric)
    )
}

/// At which combination each store is at its best, where all of them are the same work.
fn best_values(study: &Study, parts: &[&Grouped<'_>]) -> Vec<String> {
    // Baselines are there to compare with, unless there is nothing else; one that keeps nothing never has a finding.
    let only_baselines = study.cells.iter().all(|cell| cell.baseline);
    let has_findings = |cell: &&Cell| !cell.baseline || only_baselines && cell.layer() != Some(BudgetLayer::Generator);
    let stores = words::distinct(study.cells.iter().filter(has_findings).map(|cell| cell.store.as_str()));
    let rows: Vec<Row<'_>> = stores.into_iter().filter_map(|store| Row::of(store, parts)).collect();
    if rows.len() > STORES {
        return Vec::new();
    }
    let Some(metric) = rows.first().map(|row| row.metric).filter(|metric| rows.iter().all(|row| row.metric == *metric))
    else {
        return Vec::new();
    };
    let cells: Vec<Vec<&Cell>> = rows.iter().map(|row| row.cells.iter().map(|it| it.1).collect()).collect();
    let behind = behind(&cells, metric);
    rows.iter().map(|row| row.sentence(&behind)).collect()
}

/// One store at several combinations, the best median first.
struct Row<'a> {
    store: &'a str,
    metric: Metric,
    cells: Vec<(&'a str, &'a Cell)>,
}

impl<'a> Row<'a> {
    fn of(store: &'a str, parts: &[&'a Grouped<'a>]) -> Option<Row<'a>> {
        let of_store = |it: &&'a Grouped<'a>| {
            let mut cells = it.cells().iter().filter(|cell| cell.store == store && cell.verdict.is_ranked());
            cells.next().map(|cell| (it.label(), *cell))
        };
        let mut cells: Vec<(&str, &Cell)> = parts.iter().filter_map(of_store).collect();
        let metric = Metric::ranking(cells.first()?.1);
        cells.retain(|(_, cell)| metric.of_cell(cell).is_some());
        let work = |cell: &Cell| {
            let phases = cell.by_phase.iter().filter(|phase| phase.timed);
            (cell.job.clone(), phases.map(|phase| phase.records.max(phase.operations)).sum::<u64>())
        };
        let alike = cells.iter().all(|(_, cell)| work(cell) == work(cells[0].1));
        if cells.len() < 2 || metric == Metric::P99 || metric == Metric::Makespan && !alike {
            return None;
        }
        let worth = |cell: &Cell| metric.of_cell(cell).map_or(0.0, |figure| figure.value);
        cells.sort_by(|(_, a), (_, b)| match metric.better() {
            Better::Lower => worth(a).total_cmp(&worth(b)),
            Better::Higher => worth(b).total_cmp(&worth(a)),
        });
        Some(Row { store, metric, cells })
    }

    fn sentence(&self, behind: &Behind) -> String {
        let (label, best) = self.cells[0];
        let figure =
            self.metric.of_cell(best).map(|it| figures::value(it.value, self.metric.unit())).unwrap_or_default();
        let rest = &self.cells[1..];
        let few =
            self.cells.iter().filter(|(_, cell)| self.metric.samples(cell).len() >= stats::FEWEST_TRIALS).count() < 2;
        let level: Vec<String> = rest
            .iter()
            .filter(|(_, cell)| !behind.contains(&std::ptr::from_ref(*cell)))
            .map(|it| it.0.to_owned())
            .collect();
        let store = self.store;
        if self.cells.len() > MOST_RANKED {
            let all = whole(self.cells.len() as u64);
            return format!(
                "{store} has its best median, {figure}, at {label}; of more than {MOST_RANKED} combinations, here {all}, none is proved to be the best."
            );
        }
        if few {
            let fewest = stats::FEWEST_TRIALS;
            return format!(
                "{store} has its best median, {figure}, at {label}; too few trials to show that it is the best; --repeats {fewest} or more can."
            );
        }
        match level.len() {
            0 if rest.len() == 1 => format!("{store} is at its best at {label}: {figure}, ahead of the other."),
            0 => format!("{store} is at its best at {label}: {figure}, ahead of all {} others.", rest.len()),
            1..=NAMED if level.len() < rest.len() => {
                format!(
                    "{store} is at its best at {label}: {figure}; {} cannot be separated from it.",
                    words::joined(&level)
                )
            }
            all if all == rest.len() => {
                format!(
                    "For {store} no combination is shown to be the best: {label} has the best median, {figure}, and none of the others can be separated from it."
                )
            }
            many => format!(
                "{store} is at its best at {label}: {figure}; {many} of {} others cannot be separated from it.",
                rest.len()
            ),
        }
    }
}
