//! A study as GitHub-flavoured Markdown.

pub(crate) mod blocks;

use crate::markdown::{code, escaped};
use analysis::Group;
use findings::{Grouped, View, ranking};
use std::fmt::Write;
use study::{Class, Status, Study};
use words::{Batches, left_sentences, promise};

/// Writes a table for every combination of parameters and every group that may be ranked together, best first; void cells last, with their
/// reasons beneath.
pub fn study_markdown(study: &Study) -> String {
    let mut text = format!("### {}\n", escaped(&words::parameters::jobs_and_input(study).concat()));
    let grouped = Grouped::all(study);
    let findings = findings::all(&View::of(study, &grouped).without_pictures());
    let table = ranking::table(study, &grouped);
    let mut rows = table.rows.iter();
    for it in &grouped {
        for group in &it.groups {
            text += &heading(it.label(), group);
            blocks::rows(&mut text, &table, rows.by_ref().take(group.cells.len()));
            let cells: Vec<&study::Cell> = group.cells.iter().map(|ranked| ranked.cell).collect();
            let said = [ranking::read_back(&cells, Batches::stored(study).noun()), ranking::order::unseen(group)];
            text.extend(said.iter().flatten().map(|sentence| format!("\n{}\n", escaped(sentence))));
        }
        blocks::of_part(&mut text, &findings, it.label());
    }
    if grouped.iter().all(|it| !it.label().is_empty()) {
        blocks::of_part(&mut text, &findings, "");
    }
    let names = analysis::CellNames::of(study);
    let reasons: Vec<String> = study
        .cells
        .iter()
        .flat_map(|cell| cell.verdict.reasons.iter().map(move |reason| (cell, reason)))
        .map(|(cell, reason)| {
            let times =
                if reason.count > 1 { format!(", {} times", words::units::whole(reason.count)) } else { String::new() };
            let example = if reason.example.is_empty() { String::new() } else { format!(": {}", reason.example) };
            let what = format!("{}{times}{example}", reason.kind.name());
            let verb = if cell.verdict.status == Status::NotRun { "was" } else { "is" };
            let name = code(&names.of_cell(cell));
            format!("- {name} {verb} {}: {}", cell.verdict.status, escaped(&what))
        })
        .collect();
    if !reasons.is_empty() {
        let _ = writeln!(text, "\n{}", reasons.join("\n"));
    }
    for sentence in left_sentences(study) {
        let _ = writeln!(text, "\n{} `kvtrial clear` with the study's directory deletes them.", escaped(&sentence));
    }
    let _ = writeln!(text, "\n{}", code(&study.command.join(" ")));
    text
}

fn heading(label: &str, group: &Group<'_>) -> String {
    let durability = promise(group).map(|promise| format!(", {promise}")).unwrap_or_default();
    let label = if label.is_empty() { String::new() } else { format!("{label}: ") };
    format!("\n**{}**\n\n", escaped(&format!("{label}{}{durability}", group.class.map_or("all", Class::name))))
}
