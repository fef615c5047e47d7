//! The table of all cells, with verdicts and their reasons.

use crate::view::{Report, Standing};
use analysis::{Metric, Unit};
use findings::figures;
use findings::label;
use findings::ranking::place;
use maud::{Markup, html};
use study::{Cell, Class, Durability, Quantity, Status};
use words::Batches;

/// Rows from which the table gets a filter, and a frame it scrolls in.
const MANY: usize = 30;
/// Reasons shown of a cell.
const MOST_REASONS: usize = 6;

pub(super) fn section(report: &Report<'_>) -> Markup {
    let study = &*report.study;
    let many = study.cells.len() > MANY;
    let batches = Batches::of(study);
    let (rate, p50, p99) = match batches {
        None => ("Operations per second".to_owned(), "p50", "p99"),
        Some(Batches::Events) => (figures::rate_title(batches), "p50", "p99"),
        Some(_) => (figures::rate_title(batches), "p50 of a batch", "p99 of a batch"),
    };
    let batch = batches.map_or(String::new(), |it| format!(" {}", it.operation()));
    let failures = findings::latency::any(&study.cells);
    let varies = report.standings.iter().any(|standing| !standing.part.is_empty());
    html! {
        section id="cells" aria-labelledby="cells-title" {
            h2 id="cells-title" { "All cells" }
            p.note { "Medians over the counted trials with their intervals; response times are those of all their operations together. A void \
                      cell's figures are shown but mean nothing." (batch)
                @if failures { " An operation that failed has no response time and counts as slower than all that were answered." } }
            @if many {
                div.tools {
                    label for="filter" { "Show only cells with" }
                    input id="filter" type="search" autocomplete="off";
                    output id="found" for="filter" { (study.cells.len()) " cells" }
                }
            }
            div class=(if many { "scroll tall" } else { "scroll" }) tabindex="0" role="region" aria-label="Table of all cells" {
                table {
                    caption { "Every cell of the study, best first within its class and durability level" }
                    thead { tr {
                        th scope="col" { "Store" }
                        @if varies { th scope="col" { "Parameters" } }
                        th.num scope="col" { "Place" } th scope="col" { "Verdict" }
                        th.num scope="col" { "Time" } th.num scope="col" { (rate) } th.num scope="col" { (p50) }
                        th.num scope="col" { (p99) } @if failures { th.num scope="col" { "Failed" } } th.num scope="col" { "Hits, misses" } th.num scope="col" { "Errors, retries" }
                        th.num scope="col" { "CPU client, server" } th.num scope="col" { "Memory, disk" }
                    } }
                    tbody {
                        @for standing in &report.standings { (row(&study.cells[standing.cell], standing, varies, failures, batches)) }
                    }
                }
            }
        }
        (reasons(&study.cells.iter().filter(|cell| !cell.verdict.reasons.is_empty()).collect::<Vec<_>>()))
    }
}

fn row(cell: &Cell, standing: &Standing, varies: bool, failures: bool, batches: Option<Batches>) -> Markup {
    let counter = |figure: u64| if cell.verdict.status == Status::NotRun { "–".into() } else { figure.to_string() };
    let claimed = cell.durability_source().and_then(words::whose_word);
    let says = |level: Durability| match (level, claimed) {
        (_, Some(whose)) => format!(", {whose}"),
        (Durability::None, None) => String::new(),
        _ => format!(", {}", words::shown_in_words(cell.durability_shown.as_ref())),
    };
    let durability = standing.durability.map_or(String::new(), |level| format!(", {level}{}", says(level)));
    html! {
        tr class=[(cell.verdict.status == Status::Void).then_some("void")] {
            th scope="row" {
                (label(cell))
                @if !cell.product.is_empty() { br; span.note { (cell.product) " " (cell.store_version) } }
                br; span.note { (standing.class.map_or("", Class::name)) (durability) }
                @if !cell.emulated.is_empty() { br; span.note { "emulated: " (cell.emulated.join(", ")) } }
            }
            @if varies { td { (standing.part) } }
            td.num { (place(standing.rank)) }
            td { (status(cell)) }
            (quantity(cell.makespan_s, Unit::Seconds))
            (rates(cell, batches))
            (quantity(Metric::P50.of_cell(cell), Unit::Nanoseconds))
            (quantity(cell.p99_ns, Unit::Nanoseconds))
            @if failures { (quantity(cell.failed_share, Unit::Share)) }
            td.num { (counter(cell.hits)) br; span.note { (counter(cell.misses)) } }
            td.num { (counter(cell.errors)) br; span.note { (counter(cell.retries)) } }
            td.num { (value(cell.client_cpu_s, Unit::Seconds)) br; span.note { (value(cell.server_cpu_s, Unit::Seconds)) } }
            td.num { (value(cell.server_rss_bytes, Unit::Bytes)) br; span.note { (value(cell.disk_bytes, Unit::Bytes)) } }
        }
    }
}

/// The timed rate, and beneath it that of units of several operations, and how fast the store read back what it was given.
fn rates(cell: &Cell, batches: Option<Batches>) -> Markup {
    html! {
        td.num {
            (figure(words::shown_rate(cell, batches), Unit::PerSecond))
            @if let Some(offered) = cell.offered_per_s {
                br; span.note { "offered: " (figures::value(offered.value, Unit::PerSecond)) }
            }
            @if let Some(units) = cell.units_per_s {
                br; span.note { "units: " (figures::value(units.value, Unit::PerSecond)) }
            }
            @if let Some(back) = cell.read_back_per_s {
                br; span.note { "read back: " (figures::value(back.value, Unit::PerSecond)) }
            }
        }
    }
}

fn status(cell: &Cell) -> Markup {
    html! { span class=(format!("status {}", cell.verdict.status.name())) { (cell.verdict.status) } }
}

fn value(quantity: Option<Quantity>, unit: Unit) -> String {
    quantity.map_or("–".into(), |it| figures::value(it.value, unit))
}

fn quantity(quantity: Option<Quantity>, unit: Unit) -> Markup {
    html! { td.num { (figure(quantity, unit)) } }
}

fn figure(quantity: Option<Quantity>, unit: Unit) -> Markup {
    html! {
        @match quantity {
            None => "–",
            Some(it) => {
                (figures::value(it.value, unit))
                br;
                span.note { @if it.level > 0.0 { (figures::value(it.low, unit)) " to " (figures::value(it.high, unit)) br; }
                    "n = " (it.n) @if it.level > 0.0 { ", " (format!("{:.0} %", it.level * 100.0)) } }
            }
        }
    }
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
