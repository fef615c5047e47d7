//! Results as rows of a table.

use super::Depth;
use crate::board::{Board, BoardEntry};
use crate::key::short;
use crate::work::{ReadShare, WorkSize};
use analysis::{Better, Metric};
use findings::figures;
use maud::{Markup, html};
use study::{Quantity, ShownPromise, Status};

/// Returns the name of a board's page.
pub(super) fn board_address(board: &Board<'_>) -> String {
    format!("boards/{}.html", board.id)
}

/// Returns the name of a machine's page.
pub(super) fn machine_address(machine: &str) -> String {
    format!("machines/{}.html", short(machine))
}

/// Returns the job with the parameters that make a board another one: `ycsb · clients=16 · workload=a`.
pub(super) fn job_in_words(board: &Board<'_>) -> String {
    let own = board.key.params.iter().filter(|param| !param.starts_with("input."));
    std::iter::once(board.key.job.as_str()).chain(own.map(String::as_str)).collect::<Vec<_>>().join(" · ")
}

/// Returns class and level of durability: `embedded, os`.
pub(super) fn kind(board: &Board<'_>) -> String {
    match board.key.durability.as_str() {
        "" => board.key.class.clone(),
        level => format!("{}, {level}", board.key.class),
    }
}

/// Returns the product with its version as a cell reports them.
pub(super) fn product(entry: &BoardEntry<'_>) -> String {
    format!("{} {}", entry.cell.product, entry.cell.store_version)
}

/// Returns the day of a study.
pub(super) fn day<'e>(entry: &'e BoardEntry<'_>) -> &'e str {
    entry.published.study.started_at.get(..10).unwrap_or_default()
}

/// Returns how much longer the bar of a result is than that of the best: the share of its best figure, 0 to 1.
fn share(entry: &BoardEntry<'_>, board: &Board<'_>) -> Option<f64> {
    let value = entry.figure?.value;
    let figures = board.entries.iter().filter_map(|entry| Some(entry.figure?.value));
    let best = figures.fold(None, |best: Option<f64>, it| {
        Some(match (best, board.metric.better()) {
            (None, _) => it,
            (Some(best), Better::Lower) => best.min(it),
            (Some(best), Better::Higher) => best.max(it),
        })
    })?;
    let share = if board.metric.better() == Better::Lower { best / value } else { value / best };
    share.is_finite().then_some(share.clamp(0.0, 1.0))
}

/// Returns a figure with the ends of its interval and the number of trials behind it.
pub(super) fn figure(quantity: Option<Quantity>, metric: Metric) -> Markup {
    html! {
        @match quantity {
            Some(it) => {
                span title=(figures::interval(&it, metric.unit())) { (figures::value(it.value, metric.unit())) }
                " " small { (figures::interval(&it, metric.unit())) }
            }
            None => "–",
        }
    }
}

/// Returns how far a result is behind the first.
pub(super) fn behind(entry: &BoardEntry<'_>) -> String {
    match entry.behind {
        Some(it) if it.level > 0.0 => {
            format!(
                "{} ({} to {})",
                words::units::ratio(it.value),
                words::units::ratio(it.low),
                words::units::ratio(it.high)
            )
        }
        Some(it) => words::units::ratio(it.value),
        None => String::new(),
    }
}

/// Returns whether crashes have shown a level, as a word for filters.
pub(super) fn shown_word(shown: Option<&ShownPromise>) -> &'static str {
    match shown {
        Some(shown) if shown.promise == study::Promise::Kept => "shown by crashes",
        Some(shown) if shown.promise == study::Promise::Broken => "broken by crashes",
        _ => "as the store says",
    }
}

/// Returns the words that filters go by, in the order of [`FACTS`].
fn facts(board: &Board<'_>, entry: &BoardEntry<'_>) -> [String; 8] {
    [
        board.key.job.clone(),
        entry.cell.product.clone(),
        board.key.class.clone(),
        board.key.durability.clone(),
        board.work.reads.word().to_owned(),
        board.work.size.word().to_owned(),
        shown_word(entry.cell.durability_shown.as_ref()).to_owned(),
        board.key.machine.clone(),
    ]
}

/// The facts that results are filtered by, each with the words before its choices.
pub(super) const FACTS: [(&str, &str); 8] = [
    ("job", "Job"),
    ("product", "Store"),
    ("class", "Class"),
    ("durability", "Durability"),
    ("reads", "What the work does most"),
    ("size", "Size"),
    ("shown", "Who says what survives"),
    ("machine", "Machine"),
];

/// Returns the values that each of the facts has anywhere, in order.
pub(super) fn choices(boards: &[Board<'_>]) -> [Vec<String>; 8] {
    let mut all: [Vec<String>; 8] = Default::default();
    for board in boards {
        for entry in &board.entries {
            for (known, value) in all.iter_mut().zip(facts(board, entry)) {
                known.push(value);
            }
        }
    }
    for values in &mut all {
        values.sort();
        values.dedup();
        values.retain(|value| !value.is_empty());
    }
    order(&mut all[4], &ReadShare::ALL.map(ReadShare::word));
    order(&mut all[5], &WorkSize::ALL.map(WorkSize::word));
    all
}

fn order(values: &mut [String], words: &[&str]) {
    values.sort_by_key(|value| words.iter().position(|word| word == value));
}

/// Returns the facts of a board for the script: of all its results together.
pub(super) fn board_facts(board: &Board<'_>) -> String {
    let Some(first) = board.entries.first() else { return String::new() };
    facts(board, first).join("|")
}

/// Returns one result as a row.
pub(super) fn row(board: &Board<'_>, entry: &BoardEntry<'_>, depth: Depth) -> Markup {
    let status = entry.cell.verdict.status;
    let bar = share(entry, board).map(|share| format!("width: {:.1}%", share * 100.0));
    html! {
        tr data-facts=(facts(board, entry).join("|")) class=[(status == Status::Void).then_some("void")] {
            td.num data-value=(entry.rank.text()) { (entry.rank.text()) }
            td { a href=(depth.to(&format!("stores/{}.html", crate::collection::plain(&entry.cell.product)))) { (entry.cell.store) } br; small { (product(entry)) } }
            td { a href=(depth.to(&board_address(board))) { (board.key.job) } br; small { (kind(board)) } }
            td.num data-value=(entry.figure.map_or(String::new(), |it| it.value.to_string())) {
                @if status == Status::Void { strong { "void" } } @else { (figure(entry.figure, board.metric)) }
                @if let Some(style) = bar { div.bar { div style=(style) {} } }
            }
            td { (day(entry)) br; small { a href=(depth.to(&format!("studies/{}/report.html", entry.published.id))) { "study" } } }
        }
    }
}
