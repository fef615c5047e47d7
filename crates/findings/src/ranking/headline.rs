//! The ranking where there is room: which store is best, by how much and with which figures, or that there is no difference.

use super::order;
use super::verdict::{self, best, listed, ratio};
use crate::figures;
use crate::identity::{label, study_label};
use crate::view::Grouped;
use analysis::{Group, Metric, Rank};
use study::{Cell, Class, Status};
use words::units::whole;

/// Says what each group shows, those with something to rank first; then what is void.
pub(super) fn sentences(it: &Grouped<'_>) -> Vec<String> {
    let groups = || it.groups.iter().filter(|group| group.class != Some(Class::Baseline));
    let mut sentences: Vec<String> =
        groups().filter(|group| listed(group).len() > 1).flat_map(group_sentences).collect();
    if it.part.cells.iter().all(|cell| study_label(cell).is_none()) {
        sentences.extend(verdict::across(&it.groups));
    }
    sentences.extend(groups().filter_map(alone));
    sentences.extend(void(&it.part.cells));
    sentences
}

/// What a group of several shows: the winner and by how much, what cannot be separated, the figures.
fn group_sentences(group: &Group<'_>) -> Vec<String> {
    let cells = listed(group);
    let leaders: Vec<&Cell> =
        group.cells.iter().filter(|ranked| ranked.rank.leads()).map(|ranked| ranked.cell).collect();
    let (first, second) = (cells[0], cells[1]);
    let of = format!("{} {}", whole(cells.len() as u64), words::group_noun(group));
    let mut sentences = match leaders.as_slice() {
        [] if cells.len() > analysis::MOST_RANKED => {
            let most = analysis::MOST_RANKED;
            vec![format!(
                "No order is shown of {of}: of more than {most} none is proved. Listed by median: {}.",
                medians(group, &cells)
            )]
        }
        [] => {
            let least = cells.iter().map(|cell| group.metric.samples(cell).len()).min().unwrap_or_default();
            let trials = words::counted(least as u64, "trial");
            vec![format!(
                "No order is shown of {of}: {trials} per store are too few; --repeats {} or more can show one. Listed by median: {}.",
                stats::FEWEST_TRIALS,
                medians(group, &cells)
            )]
        }
        [winner] => {
            let ahead = lead(group, winner, second);
            vec![
                format!("{} is {} of {of}{ahead}.", label(winner), best(group.metric)),
                figures_of(group, winner, second),
            ]
        }
        all if all.len() == cells.len() => {
            let medians = medians(group, &cells);
            vec![match verdict::none_leads(group) {
                Some(none) => format!("Of {of}, {none}. Medians: {medians}."),
                None => format!("No difference is shown between {of}: {medians}."),
            }]
        }
        several => {
            let names = joined(several);
            let behind = joined(&cells[several.len()..]);
            let none = verdict::none_leads(group)
                .unwrap_or_else(|| "these trials cannot separate them from each other".into());
            vec![
                format!("{names} lead {of}, ahead of {behind}; {none}."),
                format!("Medians: {}.", medians(group, several)),
            ]
        }
    };
    let tied: Vec<String> = ties(group).iter().map(|tie| joined(tie)).collect();
    if !tied.is_empty() && leaders.len() == 1 {
        sentences.push(format!("Not proven: any order of {}.", tied.join("; of ")));
    }
    sentences.extend(order::unseen(group).filter(|_| !group.within_ties.is_empty() && first != second));
    sentences
}

/// `: sqlite, the next, takes 2.1 times as long`.
fn lead(group: &Group<'_>, winner: &Cell, next: &Cell) -> String {
    let Some(ratio) = ratio(group.metric, winner, next) else { return String::new() };
    let (next, times) = (label(next), format!("{:.2}", ratio.value));
    match group.metric {
        _ if ratio.value.is_infinite() => {
            format!(": too many operations of {next}, the next, failed for it to have a 99th percentile")
        }
        Metric::OpsPerS => format!(", {times} times as much as {next}, the next"),
        Metric::P99 => format!(": {next}, the next, takes {times} times as long at the 99th percentile"),
        _ => format!(": {next}, the next, takes {times} times as long"),
    }
}

/// The figures behind the headline, with their intervals.
fn figures_of(group: &Group<'_>, winner: &Cell, next: &Cell) -> String {
    let Some(figure) = group.metric.of_cell(winner) else { return String::new() };
    let shown = figures::with_interval(&figure, group.metric.unit());
    let ratio = ratio(group.metric, winner, next).filter(|ratio| ratio.level > 0.0 && ratio.high.is_finite());
    let times = ratio.map_or(String::new(), |ratio| {
        format!(
            " The ratio to {} lies from {:.2} to {:.2} ({:.0} %).",
            label(next),
            ratio.low,
            ratio.high,
            100.0 * ratio.level
        )
    });
    format!("{}: {shown}.{times}", label(winner))
}

/// `lmdb 1.19 s, sqlite 2.46 s`; of many the first.
fn medians(group: &Group<'_>, cells: &[&Cell]) -> String {
    const MOST: usize = 6;
    let figure = |cell: &&Cell| {
        let figure = group.metric.of_cell(cell)?;
        Some(format!("{} {}", label(cell), figures::value(figure.value, group.metric.unit())))
    };
    let shown: Vec<String> = cells.iter().take(MOST).filter_map(figure).collect();
    let more =
        if cells.len() > MOST { format!(" and {} more", whole((cells.len() - MOST) as u64)) } else { String::new() };
    shown.join(", ") + &more
}

/// Cells that share a place other than the first.
fn ties<'a>(group: &Group<'a>) -> Vec<Vec<&'a Cell>> {
    let mut ties: Vec<(usize, Vec<&Cell>)> = Vec::new();
    for ranked in &group.cells {
        let Rank::Tied(at) = ranked.rank else { continue };
        match ties.last_mut() {
            Some((known, cells)) if *known == at => cells.push(ranked.cell),
            _ => ties.push((at, vec![ranked.cell])),
        }
    }
    ties.into_iter().map(|(_, cells)| cells).collect()
}

/// A store that is alone in its class.
fn alone(group: &Group<'_>) -> Option<String> {
    let [cell] = listed(group)[..] else { return None };
    let figure = group.metric.of_cell(cell)?;
    let word = figures::title(group.metric).to_lowercase();
    let shown = figures::with_interval(&figure, group.metric.unit());
    Some(format!(
        "{}: {word} {shown}; there are no other {} to compare it with.",
        label(cell),
        words::group_noun(group)
    ))
}

/// Which cells are void, and why.
fn void(cells: &[&Cell]) -> Option<String> {
    const MOST: usize = 3;
    let void: Vec<&&Cell> = cells.iter().filter(|cell| cell.verdict.status == Status::Void).collect();
    let why = |cell: &&&Cell| words::with_reason(label(cell), cell);
    let named: Vec<String> = void.iter().take(MOST).map(why).collect();
    let more = if void.len() > MOST { format!(" and {} more", void.len() - MOST) } else { String::new() };
    (!named.is_empty()).then(|| format!("Void, so not ranked: {}{more}.", named.join(", ")))
}

fn joined(cells: &[&Cell]) -> String {
    words::joined(&cells.iter().map(|cell| label(cell)).collect::<Vec<_>>())
}
