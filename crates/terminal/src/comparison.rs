//! What `kvtrial compare` found, as text, Markdown and JUnit XML.

mod junit;
mod markdown;

use crate::blocks;
use crate::layout::{Colour, Row, paragraph};
use analysis::{Comparison, CrashComparison, Gate};
use findings::comparison::{self, ComparisonText};
use findings::{Block, FigureTable, Sentence};
pub use junit::{comparison_junit, crash_comparison_junit};
pub use markdown::{comparison_markdown, crash_comparison_markdown};

/// Columns of a word and the blanks behind it, where a figure stands beside it.
const WORD: usize = 13;

/// Returns the comparison for a terminal, in at most 80 columns: the studies, what became of decisions, then every pair in a sentence, its
/// figures, and in what else the cells differ; then what the gates say, and how to read it.
pub fn comparison_text(comparison: &Comparison, gates: &[Gate], colour: Colour) -> String {
    text(&comparison::of_runs(comparison, gates), colour)
}

/// Returns the comparison for a terminal, in at most 80 columns: the studies, then every level in a sentence, its figures before and
/// after, and the other differences; then how to read it.
pub fn crash_comparison_text(comparison: &CrashComparison, colour: Colour) -> String {
    text(&comparison::of_crashes(comparison), colour)
}

fn text(said: &ComparisonText, colour: Colour) -> String {
    let blocks = || said.pairs.iter().flat_map(|pair| &pair.blocks);
    let tables = blocks().filter_map(|block| if let Block::Table(it) = block { Some(it) } else { None });
    let drawn: Vec<&FigureTable> = tables.filter(|table| has_columns(table)).collect();
    let rows: Vec<Row> = drawn.iter().flat_map(|table| blocks::rows(table)).collect();
    // One width for all pairs.
    let table = drawn.first().map(|first| {
        let mut columns = blocks::columns(first);
        columns[1].gap = 1;
        blocks::fit(first, &columns, &rows)
    });
    let mut text = lines(&said.sources, [1, 3], colour);
    text += if said.decisions.is_empty() { "" } else { "\n" };
    text += &lines(&said.decisions, [1, 3], colour);
    let begins_alone = said.pairs.first().is_some_and(|pair| pair.blocks.iter().any(is_beneath));
    text += if said.decisions.is_empty() || begins_alone { "" } else { "\n" };
    for pair in &said.pairs {
        text += if pair.blocks.iter().any(is_beneath) { "\n" } else { "" };
        for block in &pair.blocks {
            text += &match (block, &table) {
                (Block::Headline(it), _) => blocks::sentence(it, [1, 3], colour),
                (Block::Sentence(it), _) => blocks::sentence(it, [3, 5], colour),
                (Block::Table(it), Some(table)) if has_columns(it) && is_beneath(block) => {
                    table.titles(colour)
                        + &blocks::rows(it).iter().map(|row| table.row(row, colour)).collect::<String>()
                }
                (Block::Table(it), _) if !has_columns(it) => beside(it, colour),
                _ => String::new(),
            };
        }
    }
    for (sentences, indents) in
        [(&said.missing, [1, 3]), (&said.doubts, [1, 3]), (&said.rulings, [1, 9]), (&said.legend, [1, 3])]
    {
        text += if sentences.is_empty() { "" } else { "\n" };
        text += &lines(sentences, indents, colour);
    }
    text
}

/// Whether a table has a column for each figure, not one beside a word.
fn has_columns(table: &FigureTable) -> bool {
    table.columns.len() > 2
}

/// Whether a block makes a pair take more than the line of its finding: a single figure is in that.
fn is_beneath(block: &Block) -> bool {
    match block {
        Block::Table(it) => it.rows.len() > 1 || !has_columns(it),
        block => matches!(block, Block::Sentence(_)),
    }
}

fn lines(sentences: &[Sentence], indents: [usize; 2], colour: Colour) -> String {
    sentences.iter().map(|it| blocks::sentence(it, indents, colour)).collect()
}

/// The rows of a table of two columns, in lines that are folded.
fn beside(table: &FigureTable, colour: Colour) -> String {
    let line = |row: &Row| format!("{:WORD$}{}", row[0].0, row[1].0);
    let rows = blocks::rows(table);
    rows.iter().map(|row| paragraph(&line(row), 3, 3 + WORD, row[1].1, colour)).collect()
}
