//! How to measure it again, and the raw data.

use crate::downloads::Download;
use crate::reproduce;
use crate::view::{Named, Report};
use findings::label;
use maud::{Markup, html};
use study::{Cell, Study};

pub(super) fn sections(report: &Report<'_>, downloads: &[Download]) -> Markup {
    html! {
        section id="commands" aria-labelledby="commands-title" {
            h2 id="commands-title" { "Measure it again" }
            @for (at, Named { label: name, study }) in report.named.iter().enumerate() {
                @if report.named.len() > 1 { h3 { (name) } }
                p {
                    @if study.crash.is_some() { "The whole study, with the same seed:" }
                    @else { "The whole study, with its trials in the same balanced random order:" }
                }
                pre id=(format!("command-{at}")) tabindex="0" { (reproduce::line(&study.command)) }
                button type="button" hidden data-copy=(format!("command-{at}")) { "Copy" }
                @for sentence in words::left_sentences(study) {
                    p { (sentence) " " code { "kvtrial clear" } " with the study's directory deletes them." }
                }
                @if !study.cells.is_empty() { details { summary { "One cell alone" } (commands(study)) } }
            }
        }
        section id="files" aria-labelledby="files-title" {
            h2 id="files-title" { "Raw data" }
            div.tools {
                @for file in downloads.iter().filter(|file| file.packed.is_some()) {
                    button type="button" hidden data-file=(file.id) data-type=(file.media_type) data-name=(file.name) { "Save " (file.name) }
                }
            }
            @for file in downloads.iter().filter(|file| file.packed.is_none()) {
                p { code { (file.name) } " is too large for this page; it is beside it." }
            }
            p.note { "Every figure of this page comes from " code { "study.json" } "; docs/study-json.md says what its fields mean." }
        }
    }
}

fn commands(study: &Study) -> Markup {
    let row = |cell: &Cell| html! { tr { th scope="row" { (label(cell)) } td { code { (reproduce::command(study, cell)) } } } };
    html! {
        p.note { "Cells measured alone, at different times, find the machine in different states: compare cells from one study. Passwords are hidden as ***." }
        div class=(if study.cells.len() > 30 { "scroll tall" } else { "scroll" }) tabindex="0" role="region" aria-label="Commands of single cells" {
            table {
                caption { "The command of each cell" }
                thead { tr { th scope="col" { "Store" } th scope="col" { "Command" } } }
                tbody { @for cell in &study.cells { (row(cell)) } }
            }
        }
    }
}
