//! What findings say, as Markdown: sentences and tables. Pictures are in the page.

use crate::markdown::{code, escaped};
use findings::{Block, Breadth, ColumnRole, FigureTable, FigureText, Finding, Sentence, Tone};
use std::fmt::Write;

/// Writes what these findings say of the part with this label.
pub(super) fn of_part(text: &mut String, findings: &[Finding], label: &str) {
    let parts = findings.iter().flat_map(|finding| &finding.parts).filter(|part| part.label == label);
    for block in parts.flat_map(|part| &part.blocks) {
        match block {
            Block::Headline(it) | Block::Sentence(it) if it.tone != Tone::Detail => sentence(text, it),
            Block::Table(it) => table(text, it),
            Block::Headline(_) | Block::Sentence(_) | Block::Chart(_) | Block::Sketch(_) => {}
        }
    }
}

fn sentence(text: &mut String, sentence: &Sentence) {
    let (words, lines) = sentence.parts();
    let _ = writeln!(text, "\n{}", escaped(words));
    if !lines.is_empty() {
        text.push('\n');
    }
    lines.lines().for_each(|line| *text += &format!("    {}\n", study::visible(line)));
}

fn table(text: &mut String, table: &FigureTable) {
    let _ = write!(text, "\n**{}**\n\n", escaped(&table.title));
    rows(text, table, &table.rows);
    let meanings = table.meanings(Breadth::Wide);
    if !meanings.is_empty() {
        let _ = writeln!(text, "\n{}", escaped(&meanings));
    }
}

/// Writes the columns of a table, and these of its rows.
pub(crate) fn rows<'a>(text: &mut String, table: &FigureTable, rows: impl IntoIterator<Item = &'a Vec<FigureText>>) {
    let shown = table.columns_in(Breadth::Wide);
    let line = |texts: Vec<String>| format!("| {} |\n", texts.join(" | "));
    let rule = |role| if role == ColumnRole::Figures { "--:" } else { "---" }.to_owned();
    let columns = || shown.iter().map(|at| &table.columns[*at]);
    *text += &line(columns().map(|column| escaped(column.heading())).collect());
    *text += &line(columns().map(|column| rule(column.role)).collect());
    for row in rows {
        *text += &line(shown.iter().map(|at| cell(&row[*at], table.columns[*at].role)).collect());
    }
}

fn cell(it: &FigureText, role: ColumnRole) -> String {
    let text = match role {
        ColumnRole::Specs => code(&it.text).replace('|', "\\|"),
        _ => escaped(it.text.trim_end()),
    };
    let text = if it.tone == Tone::Bad { format!("**{text}**") } else { text };
    if it.note.is_empty() { text } else { format!("{text} ({})", escaped(&it.note)) }
}
