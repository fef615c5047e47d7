//! Figures, bars and the words around them.

use crate::board::{Board, BoardEntry};
use crate::key::short;
use analysis::{Better, Metric};
use findings::figures;
use maud::{Markup, html};
use publish::{StudyMark, Verification};
use study::{Cell, Quantity, Study};

/// Returns the name of a board's page.
pub(super) fn board_address(board: &Board<'_>) -> String {
    format!("boards/{}.html", board.id)
}

/// Returns the name of a store's page.
pub(super) fn store_address(entry: &BoardEntry<'_>) -> String {
    format!("stores/{}.html", crate::collection::plain(&entry.cell.product))
}

/// Returns the name of a machine's page.
pub(super) fn machine_address(machine: &str) -> String {
    format!("machines/{}.html", short(machine))
}

/// Returns the address of a study's own report.
pub(super) fn study_address(id: &str) -> String {
    format!("studies/{id}/report.html")
}

/// Returns the parameters that make a board another one, `clients=16 · workload=A`, without those that say nothing.
pub(super) fn parameters(board: &Board<'_>) -> String {
    let Some(first) = board.entries.first() else { return String::new() };
    let cell = Cell { trials: Vec::new(), ..first.cell.clone() };
    let mut said = words::parameters::shared_parameters(&Study { cells: vec![cell], ..Study::default() });
    let of_study = board
        .key
        .params
        .iter()
        .filter(|param| ["fault=", "server_memory_bytes="].iter().any(|of| param.starts_with(of)));
    said.extend(of_study.cloned());
    said.join(" · ")
}

/// Returns class and level of durability: `embedded, durability os`.
pub(super) fn kind(board: &Board<'_>) -> String {
    match board.key.durability.as_str() {
        "" => board.key.class.clone(),
        level => format!("{}, durability {level}", board.key.class),
    }
}

/// Returns the day of a study.
pub(super) fn day<'e>(entry: &'e BoardEntry<'_>) -> &'e str {
    entry.published.study.started_at.get(..10).unwrap_or_default()
}

/// The shares of the best figure of a board that a result and the ends of its interval come to, 0 to 1; more is better.
#[derive(Clone, Copy)]
pub(super) struct Shares {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// Returns the shares of a result; `None` of one without a place.
pub(super) fn shares(entry: &BoardEntry<'_>, board: &Board<'_>) -> Option<Shares> {
    let figure = entry.figure?;
    let figures = board.entries.iter().filter_map(|entry| Some(entry.figure?.value));
    let is_less_better = board.metric.better() == Better::Lower;
    let best = if is_less_better { figures.fold(f64::INFINITY, f64::min) } else { figures.fold(0.0, f64::max) };
    let share = |it: f64| if is_less_better { best / it } else { it / best };
    let [value, one, other] = [figure.value, figure.low, figure.high].map(share);
    let within = |share: f64| if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    value.is_finite().then(|| Shares {
        value: within(value),
        low: within(one.min(other)),
        high: within(one.max(other)),
    })
}

/// Returns a bar as long as the share, and on it a line over the interval.
pub(super) fn bar(shares: Option<Shares>) -> Markup {
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    html! {
        @if let Some(it) = shares {
            span.bar aria-hidden="true" {
                span.share style=(format!("width:{}", percent(it.value))) {}
                @if it.high > it.low {
                    span.interval style=(format!("left:{};width:{}", percent(it.low), percent(it.high - it.low))) {}
                }
            }
        }
    }
}

/// Returns a figure with the ends of its interval and the number of trials behind it.
pub(super) fn figure(quantity: Option<Quantity>, metric: Metric) -> Markup {
    html! {
        @match quantity {
            Some(it) => { (figures::value(it.value, metric.unit())) br; small { (figures::interval(&it, metric.unit())) } }
            None => "–",
        }
    }
}

/// Returns how far a result is behind the first.
pub(super) fn behind(entry: &BoardEntry<'_>) -> String {
    let ratio = words::units::ratio;
    match entry.behind {
        Some(it) if it.level > 0.0 => format!("{} ({} to {})", ratio(it.value), ratio(it.low), ratio(it.high)),
        Some(it) => ratio(it.value),
        None => String::new(),
    }
}

/// Returns who is first, and by how much.
pub(super) fn headline(board: &Board<'_>) -> Markup {
    let leaders: Vec<&str> = board.leaders().map(|entry| entry.cell.store.as_str()).collect();
    let listed = board.entries.iter().filter(|entry| entry.rank.is_listed()).count();
    let slower = if board.metric.better() == Better::Lower { "as long" } else { "as slow" };
    html! {
        @match leaders.as_slice() {
            [] if listed == 0 => "No result here is valid.",
            [] => "No order is shown: too few trials.",
            [only] if listed == 1 => { strong { (only) } " alone was measured." }
            [only] => { strong { (only) } " is first." }
            all if all.len() == listed => { "No difference is shown between " strong { (all.join(", ")) } "." }
            all => { strong { (all.join(", ")) } " are first together." }
        }
        @if let Some(next) = board.next() {
            " Next is " (next.cell.store) @if let Some(it) = next.behind { ", " (times(it.value)) " times " (slower) " (" (times(it.low)) " to " (times(it.high)) ")" } "."
        }
    }
}

/// A ratio as a number: `1.93`, `45.7`.
fn times(ratio: f64) -> String {
    words::units::ratio(ratio).trim_start_matches('x').to_owned()
}

/// Returns the mark of a study, with what is behind it.
pub(super) fn mark(verification: &Verification) -> Markup {
    let class = match verification.mark {
        StudyMark::Reproduced => "mark good",
        StudyMark::Differs => "mark bad",
        StudyMark::AsSubmitted => "mark",
    };
    html! { span class=(class) title=(behind_mark(verification)) { (verification.mark.words()) } }
}

/// What a mark is of: what was the same, what was not, on which machine.
fn behind_mark(verification: &Verification) -> String {
    let parts = [
        ("Differs", &verification.differs),
        ("The same", &verification.same),
        ("Not compared", &verification.not_compared),
    ];
    let parts =
        parts.iter().filter(|(_, all)| !all.is_empty()).map(|(what, all)| format!("{what}: {}.", all.join("; ")));
    let day = verification.verified_at.get(..10).map(|day| format!("{day}, {}.", verification.machine));
    day.into_iter().chain(parts).collect::<Vec<_>>().join(" ")
}
