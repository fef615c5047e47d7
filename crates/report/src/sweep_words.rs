//! The findings of a sweep in sentences: which store leads in how many combinations, and where each store is at its best.

use crate::figures;
use crate::headline::{best, listed, listed_names};
use crate::identity::label;
use crate::view::Grouped;
use analysis::{Better, Group, Metric, Shown, separate};
use study::{BudgetLayer, Cell, Class, Study};

/// Stores whose best is named.
const STORES: usize = 4;
/// Combinations named in a sentence; of more their number.
const NAMED: usize = 3;

/// What the combinations show: first of stores against each other, then of each store against itself.
pub(crate) fn sweep_sentences(study: &Study, parts: &[Grouped<'_>]) -> Vec<String> {
    let mut sentences = leaders(parts);
    sentences.extend(best_values(study, parts));
    sentences
}

/// A class, in how many combinations it has several stores, the most of them, and how often each store is shown to lead.
struct Tally<'a> {
    class: String,
    group: &'a Group<'a>,
    combinations: usize,
    stores: usize,
    leaders: Vec<(String, usize)>,
}

/// In how many combinations which store is shown to be the best, for each class that has several.
fn leaders(parts: &[Grouped<'_>]) -> Vec<String> {
    let mut tallies: Vec<Tally<'_>> = Vec::new();
    for group in parts.iter().flat_map(|part| &part.groups).filter(|group| group.class != Some(Class::Baseline)) {
        let cells = listed(group);
        if cells.len() < 2 {
            continue;
        }
        let name = words::group_noun(group);
        let at = tallies.iter().position(|tally| tally.class == name).unwrap_or_else(|| {
            tallies.push(Tally { class: name, group, combinations: 0, stores: 0, leaders: Vec::new() });
            tallies.len() - 1
        });
        let tally = &mut tallies[at];
        tally.combinations += 1;
        tally.stores = tally.stores.max(cells.len());
        let mut first = group.cells.iter().filter(|ranked| ranked.rank.leads());
        if let (Some(winner), None) = (first.next(), first.next()) {
            let winner = label(winner.cell);
            match tally.leaders.iter_mut().find(|known| known.0 == winner) {
                Some(known) => known.1 += 1,
                None => tally.leaders.push((winner, 1)),
            }
        }
    }
    tallies.into_iter().map(sentence).collect()
}

fn sentence(mut tally: Tally<'_>) -> String {
    tally.leaders.sort_by_key(|leader| std::cmp::Reverse(leader.1));
    let Tally { class, group, combinations, stores, leaders } = tally;
    let shown: usize = leaders.iter().map(|leader| leader.1).sum();
    let open = match combinations - shown {
        0 => String::new(),
        open => format!("; in {open} these trials show no leader"),
    };
    let Some(((first, times), others)) = leaders.split_first() else {
        return format!("No leader of {stores} {class} is shown in any of {combinations} combinations.");
    };
    let others: Vec<String> = others.iter().take(NAMED).map(|(name, times)| format!("{name} in {times}")).collect();
    let others = if others.is_empty() { String::new() } else { format!(", {}", others.join(", ")) };
    format!("{first} is {} of {stores} {class} in {times} of {combinations} combinations{others}{open}.", best(group))
}

/// At which combination each store is at its best, where all of them are the same work.
fn best_values(study: &Study, parts: &[Grouped<'_>]) -> Vec<String> {
    let mut stores: Vec<&str> = Vec::new();
    // Baselines are there to compare with, unless there is nothing else; one that keeps nothing never has a finding.
    let only_baselines = study.cells.iter().all(|cell| cell.baseline);
    let has_findings = |cell: &&Cell| !cell.baseline || only_baselines && cell.layer() != Some(BudgetLayer::Generator);
    for cell in study.cells.iter().filter(has_findings) {
        if !stores.contains(&cell.store.as_str()) {
            stores.push(&cell.store);
        }
    }
    let rows: Vec<Row<'_>> = stores.into_iter().filter_map(|store| Row::of(store, parts)).collect();
    if rows.len() > STORES {
        return Vec::new();
    }
    // One rule, over all pairs of all rows.
    let pairs: Vec<(&Cell, &Cell)> = rows.iter().flat_map(Row::pairs).collect();
    let Some(metric) = rows.first().map(|row| row.metric).filter(|metric| rows.iter().all(|row| row.metric == *metric))
    else {
        return Vec::new();
    };
    let worse = match metric.better() {
        Better::Lower => Shown::Larger,
        Better::Higher => Shown::Smaller,
    };
    let found = separate(&pairs, metric);
    let is_behind = |first: &Cell, cell: &Cell| {
        let of = |(a, b): &(&Cell, &Cell)| std::ptr::eq(*a, first) && std::ptr::eq(*b, cell);
        pairs.iter().zip(&found).any(|(pair, found)| of(pair) && *found == worse)
    };
    rows.iter().map(|row| row.sentence(&is_behind)).collect()
}

/// One store at several combinations, the best median first.
struct Row<'a> {
    store: &'a str,
    metric: Metric,
    cells: Vec<(&'a str, &'a Cell)>,
}

impl<'a> Row<'a> {
    fn of(store: &'a str, parts: &'a [Grouped<'_>]) -> Option<Row<'a>> {
        let of_store = |part: &'a Grouped<'_>| {
            let mut cells = part.part.cells.iter().filter(|cell| cell.store == store && cell.verdict.is_ranked());
            cells.next().map(|cell| (part.part.label.as_str(), *cell))
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

    fn pairs(&self) -> impl Iterator<Item = (&'a Cell, &'a Cell)> {
        let cells = &self.cells;
        cells.iter().enumerate().flat_map(move |(at, a)| cells[at + 1..].iter().map(move |b| (a.1, b.1)))
    }

    fn sentence(&self, is_behind: &impl Fn(&Cell, &Cell) -> bool) -> String {
        let (label, best) = self.cells[0];
        let figure = self
            .metric
            .of_cell(best)
            .map(|figure| figures::value(figure.value, self.metric.unit()))
            .unwrap_or_default();
        let rest = &self.cells[1..];
        let few =
            self.cells.iter().filter(|(_, cell)| self.metric.samples(cell).len() >= stats::FEWEST_TRIALS).count() < 2;
        let level: Vec<String> =
            rest.iter().filter(|(_, cell)| !is_behind(best, cell)).map(|(label, _)| (*label).to_owned()).collect();
        let store = self.store;
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
                    listed_names(&level)
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
