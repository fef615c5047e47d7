//! What a table shows, in a sentence: which store is best and by how much, within a class and between classes.

use super::order;
use analysis::{Better, Group, Metric, Precision, Rank, Shown, separate};
use study::{Cell, Class, Quantity};
use words::{group_noun, joined, units};

/// Returns the cells of a group with figures to be believed, best first.
pub fn listed<'a>(group: &Group<'a>) -> Vec<&'a Cell> {
    group.cells.iter().filter(|ranked| ranked.rank.is_listed()).map(|ranked| ranked.cell).collect()
}

/// Returns `the fastest`.
pub fn best(metric: Metric) -> &'static str {
    match metric {
        Metric::OpsPerS => "the one that does the most",
        Metric::P99 => "the one that answers fastest",
        _ => "the fastest",
    }
}

/// Returns how many times worse the second is.
pub fn ratio(metric: Metric, better: &Cell, worse: &Cell) -> Option<Quantity> {
    match metric.better() {
        Better::Lower => analysis::ratio(better, worse, metric),
        Better::Higher => analysis::ratio(worse, better, metric),
    }
}

/// Says `lmdb is 1.60 times as fast as sqlite (1.30 to 2.29).` `None` where there is nothing to compare, or too few trials or too many
/// cells for any order, which [`order::unseen`] says.
pub fn of_group(group: &Group<'_>) -> Option<String> {
    let cells = listed(group);
    let name = |cell: &Cell| order::name(group, cell);
    let is_ranked = group.class != Some(Class::Baseline)
        && !group.cells.iter().any(|it| matches!(it.rank, Rank::TooFew | Rank::TooMany));
    let [first, second, ..] = cells[..] else { return None };
    let ratio = ratio(group.metric, first, second).filter(|_| is_ranked)?;
    let leaders: Vec<String> =
        group.cells.iter().filter(|ranked| ranked.rank.leads()).map(|ranked| name(ranked.cell)).collect();
    let of = format!("{} {}", units::whole(cells.len() as u64), group_noun(group));
    let (first, second) = (name(first), name(second));
    Some(match leaders.len() {
        1 if cells.len() == 2 => format!("{first} {}.", ahead(group.metric, "is", &second, &ratio)),
        1 => format!("{first} {}, the next of {of}.", ahead(group.metric, "is", &second, &ratio)),
        n if n == cells.len() && n == 2 => {
            let ahead = ahead(group.metric, "was", &second, &ratio);
            match ratio.low > 1.0 {
                true => format!("{first} {ahead}, but these trials do not prove it."),
                false => format!("No difference is shown between {}: {first} {ahead}.", joined(&leaders)),
            }
        }
        n if n == cells.len() => match none_leads(group) {
            Some(none) => format!("Of the {of}, {none}."),
            None => format!("No difference is shown between the {of}."),
        },
        _ => {
            let none = none_leads(group).unwrap_or_else(|| "these trials cannot separate them from each other".into());
            format!("{} lead {of}; {none}.", joined(&leaders))
        }
    })
}

/// Says `none is shown to be ahead of all others; behind at least one: redb` of the leaders that share the first place. `None` where none
/// of them is shown to be ahead of another.
pub fn none_leads(group: &Group<'_>) -> Option<String> {
    let is_behind = |cell: &Cell| group.within_ties.iter().any(|(_, worse)| std::ptr::eq(*worse, cell));
    let behind = group.cells.iter().filter(|it| it.rank.leads() && is_behind(it.cell));
    let behind: Vec<String> = behind.map(|it| order::name(group, it.cell)).collect();
    let has_any = !behind.is_empty();
    has_any.then(|| format!("none is shown to be ahead of all others; behind at least one: {}", joined(&behind)))
}

/// Returns `is 1.60 times as fast as sqlite (1.30 to 2.29)`; in a single trial there is no interval.
pub(crate) fn ahead(metric: Metric, is: &str, other: &str, ratio: &Quantity) -> String {
    if ratio.value.is_infinite() {
        return format!("{is} ahead of {other}, of which too many operations failed to reach this percentile");
    }
    let interval = match ratio.level > 0.0 {
        true => format!(" ({} to {})", times(ratio.low), times(ratio.high)),
        false => String::new(),
    };
    match metric {
        Metric::P99 => {
            let answers = if is == "is" { "answers" } else { "answered" };
            format!("{answers} {} times as fast as {other} at the 99th percentile{interval}", times(ratio.value))
        }
        _ => format!("{is} {} times as fast as {other}{interval}", times(ratio.value)),
    }
}

/// Returns `1.60`, `140`.
pub(crate) fn times(ratio: f64) -> String {
    units::ratio(ratio).trim_start_matches('x').to_owned()
}

/// Most sentences between classes.
const MOST_ACROSS: usize = 3;

/// Says, and never ranks, how the best of each class and level compares with the best of all.
pub fn across(groups: &[Group<'_>]) -> Vec<String> {
    let compared = groups.iter().filter(|it| it.class != Some(Class::Baseline) && it.precision == Precision::Exact);
    let mut best: Vec<(&Group<'_>, &Cell, f64)> = compared
        .filter_map(|group| {
            let first = *listed(group).first()?;
            let figure = group.metric.of_cell(first)?.value;
            Some((group, first, if group.metric.better() == Better::Lower { figure } else { -figure }))
        })
        .collect();
    best.sort_by(|a, b| a.2.total_cmp(&b.2));
    let [(group, first, _), others @ ..] = best.as_slice() else { return Vec::new() };
    let alike = others.iter().filter(|(other, ..)| other.metric == group.metric);
    let sentence = |(other, second, _): &(&Group<'_>, &Cell, f64)| {
        let ratio = ratio(group.metric, first, second)?;
        let why = apart(group, other).join("; ");
        let (one, two) = (&first.store, &second.store);
        let worse = if group.metric.better() == Better::Lower { Shown::Larger } else { Shown::Smaller };
        let is_shown = separate(&[(*first, *second)], group.metric) == [worse];
        let said = match (ratio.level > 0.0, ratio.low > 1.0) {
            (true, true) if is_shown => format!("{one} {}", ahead(group.metric, "is", two, &ratio)),
            (true, true) => format!("{one} {}, which is not proved", ahead(group.metric, "was", two, &ratio)),
            (true, false) => {
                let (low, high) = (times(ratio.low), times(ratio.high));
                format!("No difference is shown between {one} and {two} ({low} to {high} times)")
            }
            (false, _) => format!("{one} {} in a single trial", ahead(group.metric, "was", two, &ratio)),
        };
        Some(format!("{said}; not ranked: {why}."))
    };
    alike.take(MOST_ACROSS).filter_map(sentence).collect()
}

/// In what two groups differ: `library against server`.
fn apart(a: &Group<'_>, b: &Group<'_>) -> Vec<String> {
    let mut why = Vec::new();
    match (a.class, b.class) {
        (Some(a), Some(b)) if a != b => why.push(format!("{} against {}", kind(a), kind(b))),
        _ => {}
    }
    if let (Some(of_a), Some(of_b), true) = (a.durability, b.durability, a.durability != b.durability) {
        why.push(format!("durability {of_a} against {of_b}"));
    }
    if a.replication != b.replication && a.class == b.class {
        why.push("one copy of each value against several".into());
    }
    if why.is_empty() {
        why.push("they are of different kinds".into());
    }
    why
}

/// A class in a word or two.
fn kind(class: Class) -> &'static str {
    match class {
        Class::Baseline => "baseline",
        Class::Library => "data structure",
        Class::Embedded => "library",
        Class::Network => "server",
        Class::Distributed => "several servers",
    }
}

#[cfg(test)]
mod tests {
    use super::{across, of_group};
    use study::{Cell, Class, Durability, TrialRecord, Verdict};

    fn cell(store: &str, class: Class, durability: Durability, times_s: &[f64]) -> Cell {
        let trial = |&makespan_s: &f64| TrialRecord {
            makespan_s,
            operations: 100,
            ops_per_s: 100.0 / makespan_s,
            verdict: Verdict::of([]),
            ..TrialRecord::default()
        };
        let mut cell = Cell {
            store: store.into(),
            class,
            durability: Some(durability),
            trials: times_s.iter().map(trial).collect(),
            ..Cell::default()
        };
        analysis::summarise(&mut cell);
        cell
    }

    fn said(cells: &[Cell]) -> Vec<String> {
        let groups = analysis::groups(&cells.iter().collect::<Vec<_>>());
        groups.iter().filter_map(of_group).chain(across(&groups)).collect()
    }

    #[test]
    fn a_winner_is_said_with_how_many_times_and_the_interval() {
        let lmdb = cell("lmdb", Class::Embedded, Durability::Os, &[1.0, 1.01, 0.99, 1.0, 1.02]);
        let sqlite = cell("sqlite", Class::Embedded, Durability::Os, &[1.6, 1.61, 1.62, 1.58, 1.59]);
        let two = [lmdb, sqlite];
        let all = said(&two);
        assert!(all.len() == 1 && all[0].starts_with("lmdb is 1.60 times as fast as sqlite (1.5"), "{all:?}");
        let redb = cell("redb", Class::Embedded, Durability::Os, &[3.0, 3.01, 2.99, 3.02, 2.98]);
        let three = said(&[two[0].clone(), two[1].clone(), redb]);
        let next = "lmdb is 1.60 times as fast as sqlite (1.5";
        let ends = "), the next of 3 embedded stores with durability os.";
        assert!(three[0].starts_with(next) && three[0].ends_with(ends), "{three:?}");
        let alike = said(&[two[0].clone(), Cell { store: "like".into(), ..two[0].clone() }]);
        assert!(alike[0].starts_with("No difference is shown between lmdb and like: lmdb was 1.00 times"), "{alike:?}");
        let wild = cell("sqlite", Class::Embedded, Durability::Os, &[1.3, 9.0, 1.2]);
        let unsure = said(&[cell("lmdb", Class::Embedded, Durability::Os, &[1.0, 1.1, 0.9]), wild]);
        assert!(unsure[0].ends_with(", but these trials do not prove it."), "{unsure:?}");
    }

    #[test]
    fn stores_that_share_the_first_place_are_not_said_to_be_alike_where_one_is_shown_to_be_behind() {
        let times = [
            ("lmdb", [1.0, 1.01, 0.99, 1.0, 1.02]),
            ("wild", [0.5, 9.0, 1.2, 3.0, 2.0]),
            ("redb", [3.0, 3.01, 2.99, 3.02, 2.98]),
        ];
        let cells = times.map(|(store, times)| cell(store, Class::Embedded, Durability::Os, &times));
        let all = said(&cells);
        assert_eq!(
            all,
            [
                "Of the 3 embedded stores with durability os, none is shown to be ahead of all others; behind at least one: redb."
            ]
        );
        let last = cell("sqlite", Class::Embedded, Durability::Os, &[30.0, 30.1, 29.9, 30.2, 29.8]);
        let four = said(&[&cells[..], &[last]].concat());
        assert_eq!(
            four,
            [
                "lmdb, wild and redb lead 4 embedded stores with durability os; none is shown to be ahead of all others; \
                 behind at least one: redb."
            ]
        );
    }

    #[test]
    fn classes_are_compared_in_a_sentence_that_says_why_they_are_not_ranked() {
        let cells = [
            cell("postgres", Class::Network, Durability::Commit, &[5.5, 5.4, 5.6, 5.5]),
            cell("sqlite", Class::Embedded, Durability::Os, &[1.0, 1.01, 0.99, 1.0]),
        ];
        let all = said(&cells);
        assert!(all.len() == 1 && all[0].starts_with("sqlite is 5.50 times as fast as postgres (5.4"), "{all:?}");
        assert!(all[0].ends_with("; not ranked: library against server; durability os against commit."), "{all:?}");
        let single =
            [&cells[0], &cells[1]].map(|it| cell(&it.store, it.class, Durability::Os, &[it.trials[0].makespan_s]));
        assert_eq!(
            said(&single),
            ["sqlite was 5.50 times as fast as postgres in a single trial; not ranked: library against server."]
        );
    }
}
