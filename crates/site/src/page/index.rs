//! The first page: the question, its answers, and everything to filter by.

use super::answers::cards;
use super::facts::{ASKED, Choices};
use super::figures::{machine_address, mark, study_address};
use super::results::results;
use super::versions::changes;
use super::{Depth, page};
use crate::board::Board;
use crate::collection::Collection;
use crate::versions::VersionHistory;
use maud::html;
use std::collections::BTreeSet;

/// Returns the first page.
pub(crate) fn index_page(collection: &Collection, boards: &[Board<'_>], histories: &[VersionHistory<'_>]) -> String {
    let choices = Choices::of(boards);
    let entries = || boards.iter().flat_map(|board| &board.entries);
    let stores: BTreeSet<&str> = entries().map(|entry| entry.cell.product.as_str()).collect();
    let counted = |count: usize, what: &str| words::counted(count as u64, what);
    let studies = collection.studies.len();
    let content = html! {
        header {
            h1 { "Key/value stores, measured" }
            p.headline { "Which store is first for work like yours?" }
            p.facts {
                (counted(entries().count(), "result")) " of " (counted(stores.len(), "store")) " in " (studies) @if studies == 1 { " study" } @else { " studies" }
                ". Every answer was checked: a store with a wrong, missing or refused one is void and has no place. Two results share a list only where job, parameters, input, machine, class and durability are equal."
            }
        }
        section id="question" aria-labelledby="question-title" {
            h2 id="question-title" { "What is your work like?" }
            (choices.form("ask", &ASKED, "lists"))
            (cards(boards, &choices, "ask", Depth::Top, &collection.jobs))
        }
        section id="results" aria-labelledby="results-title" {
            h2 id="results-title" { "All results" }
            (results(boards, &choices, Depth::Top))
        }
        section id="changes" aria-labelledby="changes-title" {
            h2 id="changes-title" { "One store over its versions" }
            @if histories.is_empty() { p { "No store was measured in two versions with the same work." } }
            @for history in histories { (changes(history)) }
        }
        section id="studies" aria-labelledby="studies-title" {
            h2 id="studies-title" { "Studies" }
            p.note { "Each has its own report with every chart and figure, and its raw data. Add yours: kvtrial publish." }
            div.scroll tabindex="0" role="region" aria-label="Table of studies" { table {
                thead { tr { th scope="col" { "Study" } th scope="col" { "Made again?" } th scope="col" { "Machine" } th scope="col" { "Command" } } }
                tbody { @for published in collection.studies.iter().rev() {
                    @let machine = published.study.host.hardware();
                    tr {
                        th scope="row" {
                            a href=(study_address(&published.id)) { (published.id) }
                            br; small { (published.study.started_at.get(..10).unwrap_or_default()) }
                        }
                        td { (mark(&published.verification)) }
                        td { a href=(machine_address(&machine)) { (machine) } }
                        td.command { code { (published.study.command.join(" ")) } }
                    }
                } }
            } }
        }
    };
    page("Key/value stores, measured", Depth::Top, &content)
}
