//! The study as a table for a terminal.

use crate::answers;
use crate::blocks;
use crate::headings;
use crate::layout::{Colour, Style, paragraph};
use crate::phases;
use crate::reasons;
use analysis::Group;
use findings::{Grouped, View, ranking};
use study::{Cell, Promise, Study};
use words::Batches;

/// Writes the whole study in at most 80 columns: a table for every combination of parameters that vary, baselines first, classes and
/// durability levels apart, fastest first, void cells last and unranked with their reasons beneath; then whether the stores agree, what was
/// measured, and how to read it.
///
/// Reads the cells' summaries: call [`analysis::summarise`] on cells first (`archive::StudyDir` does).
pub fn study_table(study: &Study, colour: Colour) -> String {
    let mut text = headings::title(study, colour);
    let grouped = Grouped::all(study);
    let mut findings = findings::all(&View::of(study, &grouped).without_pictures());
    let widespread = reasons::widespread(study);
    let standings = ranking::table(study, &grouped);
    let mut columns = blocks::columns(&standings);
    columns.iter_mut().enumerate().filter(|(at, it)| *at < 2 || it.title.is_empty()).for_each(|(_, it)| it.gap = 1);
    let drawn = blocks::rows(&standings);
    let table = blocks::fit(&standings, &columns, &drawn);
    let mut rows = drawn.iter();
    for it in grouped.iter().filter(|it| !answers::all_agree(it.cells())) {
        let label = words::parameters::spoken(it.label());
        let whom = if label.is_empty() { label } else { format!("{label}: ") };
        let disagreement = answers::agreement(it.cells()).unwrap_or_default();
        text += &paragraph(&format!("{whom}{disagreement}"), 1, 3, Style::Bad, colour);
    }
    blocks::heads(&mut text, &mut findings, colour);
    for it in &grouped {
        text.push('\n');
        if !it.label().is_empty() {
            text += &paragraph(&words::parameters::spoken(it.label()), 1, 3, Style::Bold, colour);
        }
        text += &table.titles(colour);
        for group in &it.groups {
            text.push('\n');
            text += &paragraph(&headings::heading(group), 1, 3, Style::Bold, colour);
            for (ranked, row) in group.cells.iter().zip(rows.by_ref()) {
                text += &table.row(row, colour);
                text += &reasons::of_cell(ranked.cell, &widespread, colour);
            }
            if let Some(sentence) = ranking::order::unseen(group) {
                text += &paragraph(&sentence, 1, 3, Style::Warning, colour);
            }
        }
        if grouped.len() == 1 {
            text += &verdict(&it.groups, colour);
        }
        text += &phases::of_cells(&it.groups, Batches::stored(study).noun(), colour);
        text.push('\n');
        text += &conclusions(it, study, colour);
        blocks::of_part(&mut text, &findings, it.label(), colour);
    }
    if grouped.len() > 1 && grouped.iter().all(|it| !it.label().is_empty()) {
        blocks::of_part(&mut text, &findings, "", colour);
    }
    text += &reasons::of_many(study, &widespread, colour);
    if let Some(unfinished) = findings::unfinished(study) {
        text += &paragraph(&unfinished, 1, 3, Style::Warning, colour);
    }
    let all: Vec<&Cell> = study.cells.iter().collect();
    let is_broken =
        all.iter().any(|cell| cell.durability_shown.as_ref().is_some_and(|it| it.promise == Promise::Broken));
    for (at, sentence) in words::shown_sentences(&all).iter().enumerate() {
        let style = if is_broken && at == 0 { Style::Bad } else { Style::Plain };
        text += &paragraph(sentence, 1, 3, style, colour);
    }
    for note in ranking::footnotes(study) {
        text += &paragraph(&note, 1, 3, Style::Plain, colour);
    }
    let legend = blocks::legend(&standings, &table, colour);
    if !legend.is_empty() {
        blocks::empty_line(&mut text);
    }
    text + &legend
}

/// Which store is best and by how much, in words: within each class, then between classes.
fn verdict(groups: &[Group<'_>], colour: Colour) -> String {
    let sentences = groups.iter().filter_map(ranking::verdict::of_group).chain(ranking::verdict::across(groups));
    let text: String = sentences.map(|it| paragraph(&it, 1, 3, Style::Bold, colour)).collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// Whether the stores agree, and how fast they read back what they were given.
fn conclusions(it: &Grouped<'_>, study: &Study, colour: Colour) -> String {
    // A disagreement stands above the tables.
    let agreement = answers::agreement(it.cells()).filter(|_| answers::all_agree(it.cells()));
    let read_back = ranking::read_back(it.cells(), Batches::stored(study).noun());
    let agreement = agreement.map(|sentence| paragraph(&sentence, 1, 3, Style::Good, colour));
    let read_back = read_back.map(|sentence| paragraph(&sentence, 1, 3, Style::Plain, colour));
    agreement.into_iter().chain(read_back).collect()
}
