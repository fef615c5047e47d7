//! The page of results that may be compared.

use super::rows::{behind, day, figure, job_in_words, kind, machine_address, product, shown_word};
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
            p.facts { (job_in_words(board)) }
            p.facts { a href=(Depth::Below.to(&machine_address(&board.key.machine))) { (board.key.machine) } " · seed " (board.key.seed) }
        }
        section {
            h2 { "Results" }
            div.scroll { table {
                thead { tr {
                    th.num { "Place" } th { "Store" } th.num { (findings::figures::title(board.metric)) } th { "Behind the first" }
                    th { "Durability" } th { "Day" }
                } }
                tbody { @for entry in &board.entries { (result(board, entry)) } }
            } }
        }
        section {
            h2 { "Make each again" }
            @for entry in &board.entries {
                h3 { (entry.cell.store) }
                pre { code { (entry.published.study.command.join(" ")) } }
                @if !entry.cell.set_up.is_empty() {
                    p { "It was set up so:" }
                    pre { code { (entry.cell.set_up.join("\n")) } }
                }
            }
        }
        section {
            h2 { "What all of them share" }
            ul { @for param in &board.key.params { li { code { (param) } } } }
        }
    };
    page(&title, Depth::Below, &content)
}

fn headline(board: &Board<'_>) -> String {
    let leaders: Vec<&str> = board.leaders().map(|entry| entry.cell.store.as_str()).collect();
    match (leaders.as_slice(), board.next()) {
        ([], _) => "No order is shown.".into(),
        ([only], Some(next)) => format!("{only} is first; next is {}: {}.", next.cell.store, behind(next)),
        ([only], None) => format!("{only} alone has a valid result."),
        (all, Some(next)) => {
            format!("{} are first together; next is {}: {}.", all.join(", "), next.cell.store, behind(next))
        }
        (all, None) => format!("No difference is shown between {}.", all.join(", ")),
    }
}

fn result(board: &Board<'_>, entry: &BoardEntry<'_>) -> Markup {
    let reasons = &entry.cell.verdict.reasons;
    html! {
        tr {
            td.num { (entry.rank.text()) }
            td {
                a href=(Depth::Below.to(&format!("stores/{}.html", crate::collection::plain(&entry.cell.product)))) { (entry.cell.store) }
                br; small { (product(entry)) }
                @for reason in reasons { br; small { (words::meaning(reason)) } }
            }
            td.num {
                @if entry.cell.verdict.status == Status::Void { strong { "void" } } @else { (figure(entry.figure, board.metric)) }
            }
            td { (behind(entry)) }
            td { (board.key.durability) br; small { (shown_word(entry.cell.durability_shown.as_ref())) } }
            td { (day(entry)) br; small { a href=(Depth::Below.to(&format!("studies/{}/report.html", entry.published.id))) { "study" } } }
        }
    }
}
