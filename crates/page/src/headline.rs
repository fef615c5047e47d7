//! The finding in a sentence: which store is best, by how much, or that there is no difference.

use crate::charts::rate;
use crate::figures;
use crate::identity::label;
use crate::view::Grouped;
use analysis::{Better, Group, Rank};
use stats::Bootstrap;
use study::{Cell, Status, Study};

/// The headline and what else is to be said, most important first.
#[derive(Clone, Debug)]
pub(crate) struct Headline {
    pub sentence: String,
    pub more: Vec<String>,
}

/// The headline of a report on so many studies.
pub(crate) fn headline(study: &Study, studies: usize, grouped: &[Grouped<'_>]) -> Headline {
    // What a search looked for is its finding; which of its cells came first is not.
    let mut sentences = match (&study.tune, study.rate_search.as_slice(), grouped) {
        (Some(tune), _, _) => report::tune_words(study, tune),
        (None, [], []) => vec!["This study has no cells.".to_owned()],
        (None, [], [one]) => part_sentences(one),
        (None, [], several) => sweep_sentences(several),
        (None, searches, _) => searches.iter().map(rate::sentence).collect(),
    };
    if studies > 1 {
        let text = format!(
            "{studies} studies laid over each other. Their trials did not take turns, so what changed on the machine in between looks like a \
             difference of the stores; kvtrial compare tests one."
        );
        sentences.push(text);
    }
    let sentence = if sentences.is_empty() { no_result(study) } else { sentences.remove(0) };
    Headline { sentence, more: sentences }
}

fn no_result(study: &Study) -> String {
    let void = study.cells.iter().filter(|cell| cell.verdict.status == Status::Void).count();
    match void {
        0 if !study.cells.is_empty() && study.cells.iter().all(|cell| cell.baseline && !cell.trials.is_empty()) => {
            "Only baselines were measured: there is no store to rank.".into()
        }
        0 => "No result: no store of this study has been measured yet.".into(),
        n => format!("No result that may be believed: {n} of {} cells are void.", study.cells.len()),
    }
}

fn part_sentences(part: &Grouped<'_>) -> Vec<String> {
    part.groups.iter().filter(|group| group.class != "baseline").filter_map(group_sentence).collect()
}

fn class(group: &Group<'_>) -> String {
    let class = match group.class {
        "embedded" => "embedded stores",
        "network" => "stores on a server",
        "distributed" => "distributed stores",
        other => other,
    };
    group.durability.map_or(class.into(), |durability| format!("{class} with durability {durability}"))
}

/// `lmdb` is best of its group, or several are not told apart. `None` when the group has no ranked cell.
fn group_sentence(group: &Group<'_>) -> Option<String> {
    let ranked: Vec<&Cell> =
        group.places.iter().filter(|place| place.rank != Rank::Unranked).map(|place| place.cell).collect();
    let leaders: Vec<&Cell> = group
        .places
        .iter()
        .filter(|place| matches!(place.rank, Rank::At(1) | Rank::Tied(1)))
        .map(|place| place.cell)
        .collect();
    let (first, metric) = (*ranked.first()?, group.metric);
    let figure = metric.of_cell(first)?;
    let shown = figures::with_interval(&figure, metric.unit());
    let trials = figure.n;
    if ranked.len() == 1 {
        let word = figures::title(metric).to_lowercase();
        return Some(format!("{}: {word} {shown}; no other of the {} to compare it with.", label(first), class(group)));
    }
    if leaders.len() > 1 {
        let names = listed(&leaders.iter().map(|cell| label(cell)).collect::<Vec<_>>());
        let rest =
            if leaders.len() == ranked.len() { String::new() } else { format!(" They lead the {}.", class(group)) };
        return Some(format!(
            "No difference between {names} at {trials} trials each.{rest} {}: {shown}.",
            label(first)
        ));
    }
    let word = match (metric.better(), metric.unit()) {
        (Better::Higher, _) => "does the most",
        (_, analysis::Unit::Nanoseconds) => "answers fastest",
        _ => "is fastest",
    };
    let next = ranked[1];
    let ratio = match metric.better() {
        Better::Lower => stats::median_ratio(&metric.samples(next), &metric.samples(first), Bootstrap::default()),
        Better::Higher => stats::median_ratio(&metric.samples(first), &metric.samples(next), Bootstrap::default()),
    };
    let than = match ratio {
        Some(ratio) if ratio.level > 0.0 => format!("{:.2}x to {:.2}x ahead of {}", ratio.low, ratio.high, label(next)),
        Some(ratio) => format!("{:.2}x ahead of {} in one trial, without an interval", ratio.value, label(next)),
        None => format!("ahead of {}", label(next)),
    };
    Some(format!("{} {word} of {} {}, {than}. It has {shown}.", label(first), ranked.len(), class(group)))
}

/// A class with the number of combinations it appears in, and how often each store led.
type Tally = (String, usize, Vec<(String, usize)>);

/// In how many combinations which store was best, for each group that appears in several.
fn sweep_sentences(parts: &[Grouped<'_>]) -> Vec<String> {
    let mut tallies: Vec<Tally> = Vec::new();
    for part in parts {
        for group in part.groups.iter().filter(|group| group.class != "baseline") {
            let leaders: Vec<String> = group
                .places
                .iter()
                .filter(|place| matches!(place.rank, Rank::At(1) | Rank::Tied(1)))
                .map(|place| label(place.cell))
                .collect();
            if leaders.is_empty() {
                continue;
            }
            let name = class(group);
            let at = tallies.iter().position(|tally| tally.0 == name).unwrap_or_else(|| {
                tallies.push((name, 0, Vec::new()));
                tallies.len() - 1
            });
            let tally = &mut tallies[at];
            tally.1 += 1;
            for leader in leaders {
                match tally.2.iter_mut().find(|known| known.0 == leader) {
                    Some(known) => known.1 += 1,
                    None => tally.2.push((leader, 1)),
                }
            }
        }
    }
    let sentence = |(class, combinations, mut leaders): Tally| {
        leaders.sort_by_key(|leader| std::cmp::Reverse(leader.1));
        let (best, times) = leaders.first().cloned().unwrap_or_default();
        let others: Vec<String> =
            leaders.iter().skip(1).take(3).map(|(name, times)| format!("{name} in {times}")).collect();
        let also = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
        format!(
            "Of the {class}, {best} is first, or not told apart from it, in {times} of {combinations} combinations{also}."
        )
    };
    tallies.into_iter().map(sentence).collect()
}

fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}
