//! The first page: the question, its answers, and everything to filter by.

use super::rows::{
    FACTS, behind, board_address, board_facts, choices, figure, job_in_words, kind, machine_address, row,
};
use super::{Depth, page};
use crate::board::Board;
use crate::collection::Collection;
use crate::versions::VersionHistory;
use maud::{Markup, html};

/// The facts the question is about, by their place in [`FACTS`]: job, reads, size, durability, class, machine.
const ASKED: [usize; 6] = [4, 5, 3, 2, 0, 7];

/// Returns the first page.
pub(crate) fn index_page(collection: &Collection, boards: &[Board<'_>], histories: &[VersionHistory<'_>]) -> String {
    let choices = choices(boards);
    let results: usize = boards.iter().map(|board| board.entries.len()).sum();
    let content = html! {
        header {
            h1 { "Key/value stores, measured" }
            p.headline { "Which store is first for work like yours, and by how much?" }
            p.facts { (results) " results of " (collection.studies.len()) " studies. Every answer was checked; a store with a wrong, missing or refused one is void and not ranked. Two results share a list only where job, parameters, input, machine, class and durability are equal." }
        }
        section id="question" {
            h2 { "What is your work like?" }
            form.filters data-for="answers" {
                @for at in ASKED { (select("question", at, &choices[at])) }
                p.count role="status" {}
            }
            ul.answers id="answers" { @for board in boards { (answer(board)) } }
        }
        section id="results" {
            h2 { "All results" }
            form.filters data-for="all" {
                @for (at, values) in choices.iter().enumerate() { (select("results", at, values)) }
                p.count role="status" {}
            }
            (table(boards, Depth::Top))
        }
        section id="changes" {
            h2 { "One store over its versions" }
            @if histories.is_empty() { p { "No store was measured in two versions with the same work." } }
            ul { @for history in histories { li { (changes(history)) } } }
        }
        section id="studies" {
            h2 { "Studies" }
            div.scroll { table {
                thead { tr { th { "Study" } th { "Day" } th { "Machine" } th { "Command" } } }
                tbody { @for published in &collection.studies {
                    @let machine = crate::key::machine(&published.study.host);
                    tr {
                        td { a href=(format!("studies/{}/report.html", published.id)) { (published.id) } }
                        td { (published.study.started_at.get(..10).unwrap_or_default()) }
                        td { a href=(machine_address(&machine)) { (machine) } }
                        td { code { (published.study.command.join(" ")) } }
                    }
                } }
            } }
        }
    };
    page("Key/value stores, measured", Depth::Top, &content)
}

/// A choice among the values of a fact.
fn select(form: &str, at: usize, values: &[String]) -> Markup {
    let (name, title) = FACTS[at];
    html! {
        label for=(format!("{form}-{name}")) {
            (title)
            select id=(format!("{form}-{name}")) data-fact=(at) {
                option value="" { "any" }
                @for value in values { option value=(value) { (value) } }
            }
        }
    }
}

/// What a board answers, in a sentence.
fn answer(board: &Board<'_>) -> Markup {
    let leaders: Vec<&str> = board.leaders().map(|entry| entry.cell.store.as_str()).collect();
    let listed = board.entries.iter().filter(|entry| entry.rank.is_listed()).count();
    html! {
        li data-facts=(board_facts(board)) {
            p {
                @match leaders.as_slice() {
                    [] if listed == 0 => "No result here is valid.",
                    [] => "No order is shown: too few trials.",
                    [only] if listed == 1 => { strong { (only) } " alone was measured." }
                    [only] => { strong { (only) } " is first." }
                    all => { strong { (all.join(", ")) } " are first together." }
                }
                @if let Some(next) = board.next() {
                    " Next is " (next.cell.store) ": " (behind(next)) " "
                    (if board.metric.better() == analysis::Better::Lower { "as long." } else { "as slow." })
                }
                @if let Some(first) = board.entries.first().filter(|first| first.figure.is_some()) {
                    " " (findings::figures::title(board.metric)) " of the first: " (figure(first.figure, board.metric)) "."
                }
            }
            p.note {
                a href=(board_address(board)) { (job_in_words(board)) } " · " (kind(board)) " · " (board.work.reads.word()) ", "
                (board.work.size.word()) " · " (board.key.machine)
            }
        }
    }
}

/// The table of all results on these boards.
pub(super) fn table(boards: &[Board<'_>], depth: Depth) -> Markup {
    html! {
        div.scroll { table.sortable id="all" {
            thead { tr {
                @for (title, class) in [("Place", "num"), ("Store", ""), ("Work", ""), ("Figure", "num"), ("Day", "")] {
                    th class=(class) scope="col" { button type="button" { (title) } }
                }
            } }
            tbody { @for board in boards { @for entry in &board.entries { (row(board, entry, depth)) } } }
        } }
    }
}

/// The versions of a store that are shown to differ.
fn changes(history: &VersionHistory<'_>) -> Markup {
    let versions: Vec<&str> = history.results.iter().map(|(_, cell)| cell.store_version.as_str()).collect();
    let step = |at: usize| {
        let change = &history.changes[at];
        let better = change.better.map_or(String::new(), |it| {
            let range = format!("({} to {})", words::units::ratio(it.low), words::units::ratio(it.high));
            format!(": {} as good as before {range}", words::units::ratio(it.value))
        });
        format!("{} after {}{better}", change.to, change.from)
    };
    html! {
        strong { (history.store) } " on " (history.key.job) ", " (history.key.machine) ", versions " (versions.join(", ")) ": "
        @if history.changes.is_empty() { "no change is shown." }
        @else { (findings::figures::title(history.metric)) " changed with " ((0..history.changes.len()).map(step).collect::<Vec<_>>().join("; ")) "." }
    }
}
