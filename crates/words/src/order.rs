//! What a table says of the order of its rows, in words.

use analysis::{Group, Rank};
use study::Cell;

/// Pairs told in a sentence; of more their number.
const PAIRS: usize = 4;

/// What the places of a group cannot say: that there are too few trials for any, or which of those that share a place are ahead of
/// which all the same. `None` where the places say it all.
pub fn unseen(group: &Group<'_>) -> Option<String> {
    let listed = || group.places.iter().filter(|place| place.rank.is_listed()).map(|place| place.cell);
    if group.places.iter().any(|place| place.rank == Rank::TooFew) {
        let least = listed().map(|cell| group.metric.samples(cell).len()).min().unwrap_or_default();
        let trials = if least == 1 { "1 trial per store is".into() } else { format!("{least} trials per store are") };
        return Some(format!(
            "No order: {trials} too few to show one, so they are listed by their medians. --repeats {} or more can.",
            stats::FEWEST_TRIALS
        ));
    }
    let ahead: Vec<String> = group
        .within_ties
        .iter()
        .map(|(better, worse)| format!("{} is ahead of {}", name(group, better), name(group, worse)))
        .collect();
    match ahead.len() {
        0 => None,
        1..=PAIRS => Some(format!("Within a shared place, shown all the same: {}.", ahead.join(", "))),
        more => Some(format!(
            "Within a shared place, shown all the same: {} and {} more (kvtrial compare names them all).",
            ahead[..PAIRS].join(", "),
            more - PAIRS
        )),
    }
}

/// A cell's store, without the durability all of its group keep.
fn name(group: &Group<'_>, cell: &Cell) -> String {
    let stated = group.durability.map(|level| format!(",durability={level}")).unwrap_or_default();
    cell.store.replace(&stated, "")
}
