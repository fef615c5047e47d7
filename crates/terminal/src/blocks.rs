//! What findings say, on a terminal: sentences folded, tables fitted, charts made of characters.

use crate::layout::{self, Colour, Row, Style, paragraph};
use crate::sketch;
use findings::{Block, FigureColumn, FigureTable, Finding, Sketch, Tone};

/// Columns before the first column of a table, and between two.
const GAPS: [usize; 2] = [1, 2];

/// Writes what these findings say of the part with this label.
pub(crate) fn of_part(text: &mut String, findings: &[Finding], label: &str, colour: Colour) {
    let parts = findings.iter().flat_map(|finding| &finding.parts).filter(|part| part.label == label);
    parts.flat_map(|part| &part.blocks).for_each(|block| draw(text, block, colour));
}

fn draw(text: &mut String, block: &Block, colour: Colour) {
    match block {
        Block::Sentence(sentence) => {
            *text += &match sentence.tone {
                Tone::Plain => paragraph(&sentence.text, 1, 3, Style::Plain, colour),
                Tone::Warning => paragraph(&sentence.text, 1, 3, Style::Warning, colour),
                Tone::Detail => String::new(),
            };
        }
        Block::Table(it) => apart(text, &table(it, colour)),
        Block::Sketch(it @ Sketch::Curves(_)) => apart(text, &sketch::drawn(it, colour)),
        Block::Sketch(it) => *text += &sketch::drawn(it, colour),
        // It has a sketch beside it, or is for the page.
        Block::Chart(_) => {}
    }
}

/// Writes lines with an empty one before and after.
fn apart(text: &mut String, lines: &str) {
    empty_line(text);
    *text += lines;
    text.push('\n');
}

/// Ends with an empty line, where it does not yet.
pub(crate) fn empty_line(text: &mut String) {
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
}

fn table(table: &FigureTable, colour: Colour) -> String {
    let column = |(at, column): (usize, &FigureColumn)| layout::Column {
        title: column.title,
        side: column.side,
        gap: GAPS[at.min(1)],
    };
    let columns: Vec<layout::Column> = table.columns.iter().enumerate().map(column).collect();
    let row = |row: &Vec<String>| -> Row { row.iter().map(|text| (text.clone(), Style::Plain)).collect() };
    let rows: Vec<Row> = table.rows.iter().map(row).collect();
    let fitted = layout::Table::fit_without(&columns, 0, &table.spare, rows.iter());
    let mut text = paragraph(&table.title, 1, 3, Style::Bold, colour) + &fitted.titles(colour);
    text.extend(rows.iter().map(|row| fitted.row(row, colour)));
    text
}
