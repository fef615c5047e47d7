//! What findings say, on a terminal: sentences folded, tables fitted, charts made of characters.

use crate::layout::{Colour, Column, Row, Side, Style, Table, entry, paragraph};
use crate::sketch;
use findings::{
    Block, Breadth, ColumnRole, FigureColumn, FigureTable, FigureText, Finding, Sentence, Sketch, Tone, View,
};
use study::Study;

/// Columns before the first column of a table, and between two.
const GAPS: [usize; 2] = [3, 2];

/// Returns what one subject says of a study, without all others.
pub(crate) fn alone(study: &Study, find: fn(&View<'_>) -> Option<Finding>, colour: Colour) -> String {
    let finding = find(&View::of(study, &[]).without_pictures());
    let mut text = String::from("\n");
    of_part(&mut text, finding.as_slice(), "", colour);
    text
}

/// Writes the headlines of these findings and the plots beside them, and takes both out.
pub(crate) fn heads(text: &mut String, findings: &mut Vec<Finding>, colour: Colour) {
    let is_head = |block: &Block| match block {
        Block::Headline(it) => it.tone != Tone::Detail,
        block => matches!(block, Block::Sketch(Sketch::Plots(_))),
    };
    for blocks in findings::take(findings, is_head) {
        text.push('\n');
        blocks.iter().for_each(|block| draw(text, &mut String::new(), block, colour));
    }
}

/// Writes what these findings say of the part with this label.
pub(crate) fn of_part(text: &mut String, findings: &[Finding], label: &str, colour: Colour) {
    let parts = findings.iter().flat_map(|finding| &finding.parts).filter(|part| part.label == label);
    for part in parts {
        let mut legend = String::new();
        let mut before: Option<&Block> = None;
        for block in &part.blocks {
            if matches!((before, block), (Some(Block::Headline(_)), Block::Sentence(_))) {
                empty_line(text);
            }
            draw(text, &mut legend, block, colour);
            before = Some(block);
        }
        *text += &legend;
    }
}

/// Writes a block, and into the legend how to read it.
fn draw(text: &mut String, legend: &mut String, block: &Block, colour: Colour) {
    match block {
        Block::Headline(it) | Block::Sentence(it) => *text += &sentence(it, [1, 3], colour),
        Block::Table(it) => apart(text, &table(it, legend, colour)),
        Block::Sketch(it @ Sketch::Curves(_)) => apart(text, &sketch::drawn(it, colour)),
        Block::Sketch(it @ Sketch::Plots(_)) => {
            empty_line(text);
            *text += &sketch::drawn(it, colour);
        }
        Block::Sketch(it) => *text += &sketch::drawn(it, colour),
        // It has a sketch beside it, or is for the page.
        Block::Chart(_) => {}
    }
}

/// Returns a sentence, its first line and the others indented by these numbers of blanks.
pub(crate) fn sentence(sentence: &Sentence, [first, rest]: [usize; 2], colour: Colour) -> String {
    if sentence.tone == Tone::Detail {
        return String::new();
    }
    let (words, lines) = sentence.parts();
    let mut text = paragraph(words, first, rest, style(sentence.tone), colour);
    lines.lines().for_each(|line| text += &format!("   {line}\n"));
    text
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain | Tone::Detail => Style::Plain,
        Tone::Strong => Style::Bold,
        Tone::Good => Style::Good,
        Tone::Warning => Style::Warning,
        Tone::Bad => Style::Bad,
        Tone::Faint => Style::Dim,
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

fn table(table: &FigureTable, legend: &mut String, colour: Colour) -> String {
    let (columns, rows) = (columns(table), rows(table));
    let fitted = fit(table, &columns, &rows);
    if fitted.cuts_words() && table.columns.iter().all(|column| column.spare == 0) {
        return continued(table, &columns, &rows, colour);
    }
    *legend += &self::legend(table, &fitted, colour);
    let mut text = paragraph(&table.title, 1, 3, Style::Bold, colour) + &fitted.titles(colour);
    text.extend(rows.iter().map(|row| fitted.row(row, colour)));
    text
}

/// Fits these columns of a table to these rows.
pub(crate) fn fit<'a>(table: &FigureTable, columns: &[Column<'a>], rows: &[Row]) -> Table<'a> {
    let shown = shown(table);
    let names = shown.iter().position(|column| matches!(column.role, ColumnRole::Names | ColumnRole::Specs));
    let names = names.or_else(|| columns.iter().position(|column| column.side == Side::Left));
    let mut spare: Vec<usize> = (0..shown.len()).filter(|at| shown[*at].spare > 0).collect();
    spare.sort_by_key(|at| shown[*at].spare);
    Table::fit_without(columns, names.unwrap_or_default(), &spare, rows.iter())
}

/// Returns what its columns and signs mean, and which columns have no room.
pub(crate) fn legend(table: &FigureTable, fitted: &Table<'_>, colour: Colour) -> String {
    let mut meanings: Vec<(&str, String)> = Vec::new();
    let shown = shown(table).into_iter().enumerate().filter(|(at, _)| !fitted.leaves_out(*at));
    for (_, FigureColumn { title, meaning, .. }) in shown {
        match meanings.last_mut() {
            Some(last) if title.is_empty() => last.1 += meaning,
            _ => meanings.push((title, meaning.to_string())),
        }
    }
    meanings.extend(table.signs.iter().cloned());
    if let Some((last, some)) = fitted.left_out().split_last() {
        let names = if some.is_empty() { (*last).to_owned() } else { format!("{} and {last}", some.join(", ")) };
        meanings.push(("left out", format!("{names}, for which there is no room; report.html has them")));
    }
    meanings.retain(|(_, meaning)| !meaning.is_empty());
    meanings.iter().map(|(word, meaning)| entry(word, meaning, colour)).collect()
}

/// The columns a terminal has.
fn shown(table: &FigureTable) -> Vec<&FigureColumn> {
    table.columns_in(Breadth::Narrow).into_iter().map(|at| &table.columns[at]).collect()
}

/// A table of too many columns, all of which it keeps: as many as fit beside the names, the next below.
fn continued(table: &FigureTable, columns: &[Column<'_>], rows: &[Row], colour: Colour) -> String {
    let mut text = paragraph(&table.title, 1, 3, Style::Bold, colour);
    let mut from = 1;
    while from < columns.len() {
        let of = |to: usize| {
            let columns = [&columns[..1], &columns[from..to]].concat();
            let rows: Vec<Row> = rows.iter().map(|row| [&row[..1], &row[from..to]].concat()).collect();
            (Table::fit(&columns, 0, rows.iter()), rows)
        };
        let to = (from + 1..=columns.len()).rev().find(|to| !of(*to).0.cuts_words()).unwrap_or(from + 1);
        let (fitted, rows) = of(to);
        text += &fitted.titles(colour);
        text.extend(rows.iter().map(|row| fitted.row(row, colour)));
        from = to;
    }
    text
}

/// Returns the columns of a table that a terminal has.
pub(crate) fn columns(table: &FigureTable) -> Vec<Column<'_>> {
    let side = |role| if role == ColumnRole::Figures { Side::Right } else { Side::Left };
    let shown = shown(table).into_iter().enumerate();
    shown.map(|(at, it)| Column { title: &it.title, side: side(it.role), gap: GAPS[at.min(1)] }).collect()
}

/// Returns their texts.
pub(crate) fn rows(table: &FigureTable) -> Vec<Row> {
    let shown = table.columns_in(Breadth::Narrow);
    let text = |it: &FigureText| (it.text.clone(), style(it.tone));
    table.rows.iter().map(|row| shown.iter().map(|at| text(&row[*at])).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::layout::{Colour, WIDTH, width};
    use findings::{FigureColumn, FigureTable};

    #[test]
    fn a_table_of_too_many_columns_continues_below_and_keeps_them_all() {
        for (name, most) in [("sqlite,durability=commit", 30), ("ram", 30), ("ram", 8)] {
            let values: Vec<String> = (1..=most).map(|n| (n * 1000).to_string()).collect();
            let figures = values.iter().map(|value| FigureColumn::figures(format!("{value} ")));
            let row = std::iter::once(name).chain(values.iter().map(|_| "1.00 s*"));
            let wide = FigureTable {
                title: "TIME by cache".into(),
                columns: std::iter::once(FigureColumn::words("")).chain(figures).collect(),
                rows: vec![row.map(Into::into).collect()],
                ..FigureTable::default()
            };
            let text = table(&wide, &mut String::new(), Colour::Never);
            assert!(text.lines().all(|line| width(line) <= WIDTH), "{text}");
            assert!(values.iter().all(|value| text.contains(&format!(" {value}"))), "{text}");
            assert_eq!(text.matches("1.00 s*").count(), values.len(), "{text}");
        }
    }
}
