//! The table of all cells, with verdicts and their reasons.

use super::charts;
use crate::view::Report;
use findings::label;
use maud::{Markup, html};
use study::Cell;

/// Reasons shown of a cell.
const MOST_REASONS: usize = 6;

pub(super) fn section(report: &Report<'_>) -> Markup {
    let cells = &report.study.cells;
    html! {
        section id="cells" aria-labelledby="cells-title" {
            h2 id="cells-title" { "All cells" }
            p.note { "Medians over the counted trials with their intervals; response times are those of all their operations together. A void \
                      cell's figures are shown but mean nothing." }
            @if cells.len() > charts::MOST_ROWS {
                div.tools {
                    label for="filter" { "Show only cells with" }
                    input id="filter" type="search" autocomplete="off";
                    output id="found" for="filter" { (cells.len()) " cells" }
                }
            }
            (charts::titled(&report.standings))
        }
        (reasons(&cells.iter().filter(|cell| !cell.verdict.reasons.is_empty()).collect::<Vec<_>>()))
    }
}

fn status(cell: &Cell) -> Markup {
    html! { span class=(format!("status {}", cell.verdict.status.name())) { (cell.verdict.status) } }
}

fn reasons(cells: &[&Cell]) -> Markup {
    html! {
        section id="verdicts" aria-labelledby="verdicts-title" {
            h2 id="verdicts-title" { "Verdicts" }
            @if cells.is_empty() { p { "Every answer of every cell was checked and right, and nothing was seen to distort the times." } }
            @else {
                p.note { "Why cells are void, degraded or were not run: what was seen, how often, and the first example." }
                div.scroll tabindex="0" role="region" aria-label="Table of verdicts" { table {
                    caption { "Cells that are not valid" }
                    thead { tr { th scope="col" { "Store" } th scope="col" { "Verdict" } th scope="col" { "Reasons" } } }
                    tbody { @for cell in cells { tr {
                        th scope="row" { (label(cell)) }
                        td { (status(cell)) }
                        td { ul.reasons {
                            @for reason in cell.verdict.reasons.iter().take(MOST_REASONS) {
                                li { strong { (reason.kind.name().replace('_', " ")) } " × " (words::units::whole(reason.count))
                                    @if !reason.example.is_empty() { ": " (reason.example) } }
                            }
                        } }
                    } } }
                } }
            }
        }
    }
}
