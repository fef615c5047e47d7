//! What a table says of the order of its rows, in words.

use super::verdict;
use analysis::{Group, MOST_RANKED, Metric, Rank};
use study::Cell;
use words::units::whole;

/// Most pairs a sentence names; of more it says how many there are.
const PAIRS: usize = 4;

/// Says what the places of a group cannot say: that there are too few trials for any order, or which cells are ahead although they share a
/// place. `None` where the places say it all.
pub fn unseen(group: &Group<'_>) -> Option<String> {
    let listed = || group.cells.iter().filter(|ranked| ranked.rank.is_listed()).map(|ranked| ranked.cell);
    if group.cells.iter().any(|ranked| ranked.rank == Rank::TooFew) {
        let least = listed().map(|cell| group.metric.samples(cell).len()).min().unwrap_or_default();
        let trials = if least == 1 { "1 trial per store is".into() } else { format!("{least} trials per store are") };
        let cells: Vec<&Cell> = listed().collect();
        return Some(format!(
            "No order: {trials} too few to show one.{} --repeats {} or more can show one.",
            by_medians(group, &cells),
            stats::FEWEST_TRIALS
        ));
    }
    if group.cells.iter().any(|ranked| ranked.rank == Rank::TooMany) {
        let cells: Vec<&Cell> = listed().collect();
        return Some(format!(
            "No order: of more than {MOST_RANKED} stores none is proved, and here are {}; they are listed by their medians.{} kvtrial compare of two of \
             them says how they differ.",
            whole(cells.len() as u64),
            by_medians(group, &cells)
        ));
    }
    let ahead: Vec<String> = group
        .within_ties
        .iter()
        .map(|(better, worse)| format!("{} is ahead of {}", name(group, better), name(group, worse)))
        .collect();
    match ahead.len() {
        0 => None,
        1..=PAIRS => Some(format!("Within a shared place, but separated: {}.", ahead.join(", "))),
        more => Some(format!(
            "Within a shared place, but separated: {} and {} more (kvtrial compare names them all).",
            ahead[..PAIRS].join(", "),
            more - PAIRS
        )),
    }
}

/// ` By the medians a was 1.60 times as fast as b.`
fn by_medians(group: &Group<'_>, cells: &[&Cell]) -> String {
    let [first, second, ..] = cells[..] else { return String::new() };
    let Some(ratio) = verdict::ratio(group.metric, first, second) else { return String::new() };
    let (quick, times) = (quick(group.metric), verdict::times(ratio.value));
    format!(" By the medians {} was {times} times as {quick} as {}.", name(group, first), name(group, second))
}

fn quick(metric: Metric) -> &'static str {
    if metric == Metric::P99 { "quick to answer" } else { "fast" }
}

/// Returns a cell's store, without the durability the whole group keeps.
pub(crate) fn name(group: &Group<'_>, cell: &Cell) -> String {
    let stated = group.durability.map(|level| format!(",durability={level}")).unwrap_or_default();
    cell.store.replace(&stated, "")
}
