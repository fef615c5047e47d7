//! Lines and columns of plain text, coloured or not.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The choice of terminal colours. The caller decides: colour on a terminal only, and never when `NO_COLOR` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Never,
    /// ANSI colours.
    Always,
}

/// No line takes more columns than these, however wide the terminal: longer ones are hard to read.
pub(crate) const WIDTH: usize = 80;
/// Narrower than this nothing is laid out.
const NARROWEST: usize = 40;

/// Columns lines may take now.
static COLUMNS: AtomicUsize = AtomicUsize::new(WIDTH);

/// Lets all that is written from now on fit the terminal on standard output; where that is none, `COLUMNS` if it is set, else 80.
pub fn fit_terminal() {
    let terminal = console::Term::stdout();
    let of_terminal = terminal.is_term().then(|| usize::from(terminal.size().1)).filter(|columns| *columns > 0);
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    if let Some(columns) = of_terminal.or_else(said) {
        COLUMNS.store(columns.clamp(NARROWEST, WIDTH), Relaxed);
    }
}

/// Returns the number of columns that every line fits.
pub(crate) fn columns() -> usize {
    COLUMNS.load(Relaxed)
}

/// The look of a piece of text where there is colour. Meaning never rests on colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Good,
    Warning,
    Bad,
}

/// Returns text with a style.
pub(crate) fn paint(text: &str, style: Style, colour: Colour) -> String {
    let code = match (colour, style) {
        (Colour::Never, _) | (_, Style::Plain) => return text.into(),
        (Colour::Always, Style::Bold) => "1",
        (Colour::Always, Style::Dim) => "2",
        (Colour::Always, Style::Good) => "32",
        (Colour::Always, Style::Warning) => "33",
        (Colour::Always, Style::Bad) => "31",
    };
    if text.trim().is_empty() { text.into() } else { format!("\x1b[{code}m{text}\x1b[0m") }
}

/// The side of its column a text stands on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Columns of a table: a side and a title each, with the blanks before it.
#[derive(Clone, Copy)]
pub(crate) struct Column<'a> {
    pub title: &'a str,
    pub side: Side,
    pub gap: usize,
}

/// The stretched column is never narrower.
const LEAST_STRETCH: usize = 8;

/// One row: a text and a style for every column.
pub(crate) type Row = Vec<(String, Style)>;

/// A table whose stretchable column takes what the others leave of a line, folding longer texts.
pub(crate) struct Table<'a> {
    columns: Vec<Column<'a>>,
    widths: Vec<usize>,
    stretch: usize,
    hidden: Vec<usize>,
    room: usize,
    longest_word: usize,
}

impl<'a> Table<'a> {
    /// Fits the columns to all rows; the column at index `stretch` gets at most what is left.
    pub(crate) fn fit<'r>(columns: &[Column<'a>], stretch: usize, rows: impl Iterator<Item = &'r Row>) -> Table<'a> {
        Table::fit_without(columns, stretch, &[], rows)
    }

    /// Returns the same; without the columns of `spare`, as many of them as it takes, in that order, to cut no word.
    pub(crate) fn fit_without<'r>(
        columns: &[Column<'a>],
        stretch: usize,
        spare: &[usize],
        rows: impl Iterator<Item = &'r Row>,
    ) -> Table<'a> {
        let mut longest_word = LEAST_STRETCH;
        let mut widths: Vec<usize> = columns.iter().map(|column| width(column.title)).collect();
        for row in rows {
            let words = row[stretch].0.split([' ', ',', '=', '/', ':']);
            longest_word = words.map(|word| width(word) + 1).fold(longest_word, usize::max);
            for (widest, (text, _)) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(width(text));
            }
        }
        let line = self::columns();
        let left = |hidden: &[usize]| {
            let shown = (0..columns.len()).filter(|at| !hidden.contains(at));
            let taken: usize = shown.map(|at| columns[at].gap + if at == stretch { 0 } else { widths[at] }).sum();
            line.saturating_sub(taken)
        };
        let needed = longest_word.min(widths[stretch]);
        let least = (0..spare.len()).find(|n| left(&spare[..*n]) >= needed);
        let hidden = spare[..least.unwrap_or(spare.len())].to_vec();
        let room = left(&hidden);
        widths[stretch] = widths[stretch].min(room).max(LEAST_STRETCH);
        Table { columns: columns.to_vec(), widths, stretch, hidden, room, longest_word: needed.max(LEAST_STRETCH) }
    }

    /// Returns whether there is no room for the stretched column, or only for one narrower than a word in it.
    pub(crate) fn cuts_words(&self) -> bool {
        self.room < self.longest_word
    }

    /// Titles of the columns that are left out, in their order.
    pub(crate) fn left_out(&self) -> Vec<&'a str> {
        let columns = self.columns.iter().enumerate().filter(|(at, _)| self.hidden.contains(at));
        columns.map(|(_, column)| column.title).filter(|title| !title.is_empty()).collect()
    }

    /// Returns whether the column at this index is left out.
    pub(crate) fn leaves_out(&self, at: usize) -> bool {
        self.hidden.contains(&at)
    }

    /// Returns the line of titles.
    pub(crate) fn titles(&self, colour: Colour) -> String {
        let titles: Row = self.columns.iter().map(|column| (column.title.to_owned(), Style::Dim)).collect();
        self.row(&titles, colour)
    }

    /// Returns a row, on more than one line when the stretched text is too long; each line ends in `\n`.
    pub(crate) fn row(&self, row: &Row, colour: Colour) -> String {
        self.row_over(row, None, colour)
    }

    /// Returns the same with the texts of another row right beneath its own, beside what is left of the stretched text.
    pub(crate) fn row_over(&self, row: &Row, under: Option<&Row>, colour: Colour) -> String {
        let mut folded = fold(&row[self.stretch].0, self.widths[self.stretch]).into_iter();
        let first = folded.next().unwrap_or_default();
        let mut text = self.line(row, Some(&first), colour);
        let mut under = under;
        loop {
            let (rest, beneath) = (folded.next(), under.take());
            if rest.is_none() && beneath.is_none() {
                return text;
            }
            let blank: Row = row.iter().map(|(_, style)| (String::new(), *style)).collect();
            text += &self.line(beneath.unwrap_or(&blank), Some(&rest.unwrap_or_default()), colour);
        }
    }

    fn line(&self, row: &Row, stretched: Option<&str>, colour: Colour) -> String {
        let mut line = String::new();
        for (at, ((text, style), column)) in row.iter().zip(&self.columns).enumerate() {
            if self.hidden.contains(&at) {
                continue;
            }
            let text = if at == self.stretch { stretched.unwrap_or(text) } else { text };
            let blanks = " ".repeat(self.widths[at].saturating_sub(width(text)));
            line += &" ".repeat(column.gap);
            let painted = paint(text, *style, colour);
            line += &if column.side == Side::Left { painted + &blanks } else { blanks + &painted };
        }
        line.truncate(line.trim_end().len());
        line + "\n"
    }
}

/// Returns text in lines that fit, the first indented by `first`, the others by `rest` blanks; each ends in `\n`.
pub(crate) fn paragraph(text: &str, first: usize, rest: usize, style: Style, colour: Colour) -> String {
    let mut lines = String::new();
    let indented = format!("{}{text}", "\u{1}".repeat(first.saturating_sub(rest)));
    for (at, line) in fold(&indented, columns() - rest).iter().enumerate() {
        let blanks = if at == 0 { first } else { rest };
        lines += &" ".repeat(blanks);
        lines += &paint(line.trim_start_matches('\u{1}'), style, colour);
        lines.push('\n');
    }
    lines
}

/// Columns of a word that is explained, and the blank before it.
const ENTRY: usize = 11;

/// Returns a word, and beside it what it means, in lines that fit.
pub(crate) fn entry(word: &str, meaning: &str, colour: Colour) -> String {
    let width = ENTRY - 1;
    let lines = fold(meaning, columns().saturating_sub(ENTRY));
    let heads = std::iter::once(word).chain(std::iter::repeat(""));
    let line = |(head, line): (&str, String)| paint(&format!(" {head:width$}{line}"), Style::Dim, colour) + "\n";
    heads.zip(lines).map(line).collect()
}

/// Returns a sentence beneath tables.
pub fn sentence(text: &str, colour: Colour) -> String {
    paragraph(text, 1, 3, Style::Plain, colour)
}

/// Columns a text takes on a terminal: names may hold characters two columns wide.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The beginning of a text that takes at most this many columns.
fn beginning(text: &str, most: usize) -> &str {
    let mut columns = 0;
    let too_long = |&(_, c): &(usize, char)| {
        columns += c.width().unwrap_or(0);
        columns > most
    };
    text.char_indices().find(too_long).map_or(text, |(end, _)| &text[..end])
}

/// Returns a text in at most this many columns, its end cut off if it must be.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if width(text) <= most { text.to_owned() } else { beginning(text, most.saturating_sub(1)).to_owned() + "…" }
}

/// A blank that no line is broken at; it becomes an ordinary one when the text is folded.
pub(crate) const FIXED_BLANK: char = '\u{a0}';

/// Breaks a text at blanks, and after commas or within a word where there is no other way.
pub(crate) fn fold(text: &str, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let mut word = word.to_owned();
        if !line.is_empty() && width(&line) + 1 + width(&word) > most {
            lines.push(std::mem::take(&mut line));
        }
        while width(&word) > most {
            let cut = breaking_point(&word, most);
            lines.push(word[..cut].to_owned());
            word.replace_range(..cut, "");
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += &word;
    }
    lines.push(line);
    lines.into_iter().map(|line| line.replace(FIXED_BLANK, " ")).collect()
}

/// Where names and values are broken, the best first.
const BREAKS: [&[char]; 2] = [&[','], &['=', '-', '/', ':', '·']];

/// Byte index after the last comma that fits, else after another character that separates; only a word that has none is cut within.
fn breaking_point(word: &str, most: usize) -> usize {
    let first = word.chars().next().map_or(0, char::len_utf8);
    let fitting = beginning(word, most).len().max(first); // at least a character, however narrow the column
    let after = |breaks: &&[char]| {
        let (at, found) = word[..fitting].char_indices().rfind(|(_, c)| breaks.contains(c))?;
        Some(at + found.len_utf8())
    };
    BREAKS.iter().find_map(after).unwrap_or(fitting)
}

#[cfg(test)]
mod tests {
    use super::{Colour, Column, Side, Style, Table, fold, paragraph, shortened, width};

    #[test]
    fn text_is_folded_at_blanks_then_commas_then_anywhere() {
        assert_eq!(fold("one two three", 7), ["one two", "three"]);
        assert_eq!(fold("redis,durability=commit", 12), ["redis,", "durability=", "commit"]);
        assert_eq!(fold("mysql-memcached-unix", 12), ["mysql-", "memcached-", "unix"]);
        assert_eq!(fold("µµµµµ", 2), ["µµ", "µµ", "µ"]);
        assert_eq!(fold("", 5), [""]);
        assert_eq!(fold("数据库", 5), ["数据", "库"]);
    }

    #[test]
    fn what_is_too_long_ends_in_an_ellipsis() {
        assert_eq!(shortened("lmdb,durability=os", 18), "lmdb,durability=os");
        assert_eq!(shortened("postgres,layout=hstore,durability=commit", 18), "postgres,layout=h…");
        assert_eq!(shortened("数据库", 4), "数…");
    }

    #[test]
    fn what_a_word_means_stands_in_one_column_and_uses_the_whole_line() {
        let text = super::entry("LOST", &"word ".repeat(40), Colour::Never);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with(" LOST      word ") && lines[1].starts_with("           word "), "{text}");
        assert!(lines.iter().all(|line| width(line) <= super::WIDTH) && width(lines[0]) > super::WIDTH - 6, "{text}");
    }

    #[test]
    fn no_line_of_a_paragraph_is_wider_than_the_page() {
        let text = "word ".repeat(60) + &"x".repeat(200);
        for line in paragraph(&text, 4, 6, Style::Plain, Colour::Never).lines() {
            assert!(width(line) <= super::WIDTH && line.starts_with("    "), "{line}");
        }
    }

    #[test]
    fn colours_change_no_width_and_plain_text_has_none() {
        let columns =
            [Column { title: "NAME", side: Side::Left, gap: 0 }, Column { title: "N", side: Side::Right, gap: 2 }];
        let row = vec![("a".to_owned(), Style::Good), ("10".to_owned(), Style::Plain)];
        let table = Table::fit(&columns, 0, std::iter::once(&row));
        assert_eq!(table.row(&row, Colour::Never), "a         10\n");
        assert_eq!(table.row(&row, Colour::Always), "\x1b[32ma\x1b[0m         10\n");
    }
}
