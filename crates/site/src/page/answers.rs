//! What each board answers, as cards.

use super::Depth;
use super::facts::Choices;
use super::figures::{bar, board_address, headline, kind, parameters, shares};
use crate::board::Board;
use findings::figures;
use maud::{Markup, html};
use std::collections::BTreeMap;
use study::Status;

/// What each job does, in a line.
pub(super) type JobLines = BTreeMap<String, String>;

/// Results that a card shows.
const MOST_SHOWN: usize = 4;

/// Returns the cards of some boards, which a form filters: those that say most come first.
pub(super) fn cards(boards: &[Board<'_>], choices: &Choices, form: &str, depth: Depth, jobs: &JobLines) -> Markup {
    let mut order: Vec<&Board<'_>> = boards.iter().collect();
    let placed = |board: &Board<'_>| board.entries.iter().filter(|entry| entry.figure.is_some()).count();
    order.sort_by_key(|board| (board.next().is_none(), placed(board) < 2, &board.key.job));
    html! {
        ul.answers data-form=(form) { @for board in order { (card(board, choices, depth, jobs)) } }
        button.more type="button" hidden { "Show all" }
    }
}

fn card(board: &Board<'_>, choices: &Choices, depth: Depth, jobs: &JobLines) -> Markup {
    let facts =
        board.entries.first().map(|entry| choices.places(board, entry).map(|place| place.to_string()).join(" "));
    let placed = || board.entries.iter().filter(|entry| entry.figure.is_some());
    let more = placed().count().saturating_sub(MOST_SHOWN);
    html! {
        li data-facts=(facts.unwrap_or_default()) {
            h3 { a href=(depth.to(&board_address(board))) { (board.key.job) } " " small { (kind(board)) " · " (board.work.reads.word()) } }
            @if let Some(line) = jobs.get(&board.key.job) { p.note { (line) } }
            p { (headline(board)) }
            table.bars {
                tbody { @for entry in placed().take(MOST_SHOWN) {
                    tr {
                        th scope="row" { (entry.cell.store) }
                        td.num { (entry.figure.map_or(String::new(), |it| figures::value(it.value, board.metric.unit()))) }
                        td.wide { (bar(shares(entry, board))) }
                    }
                } }
            }
            @if more > 0 { p.note { "and " (more) " more" } }
            @if placed().any(|entry| entry.cell.verdict.status == Status::Degraded) { p.note.warn { "Degraded: the machine or the client may have distorted times." } }
            p.note { (parameters(board)) }
            @if choices.has_machines() { p.note { (board.key.machine) } }
        }
    }
}
