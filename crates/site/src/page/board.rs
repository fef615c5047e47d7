//! The page of results that may be compared.

use super::facts::shown_word;
use super::figures::{
    bar, behind, day, figure, headline, kind, machine_address, mark, parameters, shares, store_address, study_address,
};
use super::{Depth, page};
use crate::board::{Board, BoardEntry};
use maud::{Markup, html};
use study::Status;

/// Returns the page of a board.
pub(crate) fn board_page(board: &Board<'_>) -> String {
    let title = format!("{}, {}", board.key.job, kind(board));
    let content = html! {
        header {
            h1 { (title) }
            p.headline { (headline(board)) }
            p.facts { (parameters(board)) }
            p.facts { a href=(Depth::Below.to(&machine_address(&board.key.machine))) { (board.key.machine) } " · seed " (board.key.seed) }
        }
        section aria-labelledby="results-title" {
            h2 id="results-title" { "Results" }
            div.scroll tabindex="0" role="region" aria-label="Table of results" { table.list {
                caption { (findings::figures::title(board.metric)) ". Bars: against the best; longer is better. The line on a bar is the interval of its trials." }
                thead { tr {
                    th.num scope="col" { "Place" } th scope="col" { "Store" } th.num scope="col" { "Figure" } th.wide scope="col" { "Against the best" }
                    th scope="col" { "Behind the first" } th scope="col" { "Durability" } th scope="col" { "Study" }
                } }
                tbody { @for entry in &board.entries { (result(board, entry)) } }
            } }
        }
        section aria-labelledby="again-title" {
            h2 id="again-title" { "Make each again" }
            @for entry in &board.entries {
                h3 { (entry.cell.store) }
                pre { code { (entry.published.study.command.join(" ")) } }
                @if !entry.cell.set_up.is_empty() {
                    p { "It was set up so:" }
                    pre { code { (entry.cell.set_up.join("\n")) } }
                }
            }
        }
        section aria-labelledby="shared-title" {
            h2 id="shared-title" { "What all of them share" }
            ul.shared { @for param in &board.key.params { li { code { (param) } } } }
        }
    };
    page(&title, Depth::Below, &content)
}

fn result(board: &Board<'_>, entry: &BoardEntry<'_>) -> Markup {
    let status = entry.cell.verdict.status;
    html! {
        tr class=[(status == Status::Void).then_some("void")] {
            td.num { (entry.rank.text()) }
            th scope="row" {
                a href=(Depth::Below.to(&store_address(entry))) { (entry.cell.store) }
                br; small { (entry.cell.product) " " (entry.cell.store_version) }
                @for reason in &entry.cell.verdict.reasons { br; small { (status) ": " (words::meaning(reason)) } }
            }
            td.num { @if status == Status::Void { strong.bad { "void" } } @else { (figure(entry.figure, board.metric)) } }
            td.wide { (bar(shares(entry, board))) }
            td { (behind(entry)) }
            td { (board.key.durability) br; small { (shown_word(entry.cell.durability_shown.as_ref())) } }
            td {
                a href=(Depth::Below.to(&study_address(&entry.published.id))) { (day(entry)) }
                br; (mark(&entry.published.verification))
            }
        }
    }
}
