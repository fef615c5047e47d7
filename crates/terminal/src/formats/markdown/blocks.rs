//! What findings say, as Markdown: sentences and tables. Pictures are in the page.

use crate::markdown::escaped;
use findings::{Block, FigureTable, Finding, Side, Tone};
use std::fmt::Write;

/// Writes what these findings say of the part with this label.
pub(super) fn of_part(text: &mut String, findings: &[Finding], label: &str) {
    let parts = findings.iter().flat_map(|finding| &finding.parts).filter(|part| part.label == label);
    for block in parts.flat_map(|part| &part.blocks) {
        match block {
            Block::Sentence(sentence) if sentence.tone != Tone::Detail => {
                let _ = writeln!(text, "\n{}", escaped(&sentence.text));
            }
            Block::Table(it) => table(text, it),
            Block::Sentence(_) | Block::Chart(_) | Block::Sketch(_) => {}
        }
    }
}

fn table(text: &mut String, table: &FigureTable) {
    let line = |texts: Vec<String>| format!("| {} |\n", texts.join(" | "));
    let rule = |side: Side| if side == Side::Left { "---" } else { "--:" }.to_owned();
    let _ = write!(text, "\n**{}**\n\n", escaped(&table.title));
    *text += &line(table.columns.iter().map(|column| escaped(column.title)).collect());
    *text += &line(table.columns.iter().map(|column| rule(column.side)).collect());
    for row in &table.rows {
        *text += &line(row.iter().map(|it| escaped(it)).collect());
    }
}
