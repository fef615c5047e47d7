//! What findings are made of.

use crate::chart::{Chart, Sketch};
use crate::figures;
use analysis::Unit;
use std::borrow::Cow;
use study::Quantity;

/// A piece of a finding, which every medium can draw or has a reason to leave out.
#[derive(Clone, Debug)]
pub enum Block {
    /// A sentence that stands at the head of a medium that has one, and in its place in all others.
    Headline(Sentence),
    /// A sentence.
    Sentence(Sentence),
    /// A table of figures.
    Table(FigureTable),
    /// A picture, with its figures.
    Chart(Chart),
    /// The same for media that have no pictures.
    Sketch(Sketch),
}

/// A sentence and its weight. After a line break follow lines to be copied, which are never broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The text.
    pub text: String,
    /// Its weight.
    pub tone: Tone,
}

/// The weight of a sentence, or of a text in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// What was found.
    Plain,
    /// What was looked for.
    Strong,
    /// What is as it should be.
    Good,
    /// What makes a figure doubtful, or a store unfit.
    Warning,
    /// What is not as it should be.
    Bad,
    /// How to read the others.
    Faint,
    /// More of the same, for media with room.
    Detail,
}

/// A table of figures, as text.
#[derive(Clone, Debug, Default)]
pub struct FigureTable {
    /// What it shows.
    pub title: String,
    /// The columns. The one of names takes what the others leave: the first of words where none is declared to be it.
    pub columns: Vec<FigureColumn>,
    /// Rows of as many texts as there are columns.
    pub rows: Vec<Vec<FigureText>>,
    /// Words and signs in it, each with what it means.
    pub signs: Vec<(&'static str, String)>,
}

/// A column of such a table.
#[derive(Clone, Debug)]
pub struct FigureColumn {
    /// The heading, short enough for a terminal.
    pub title: Cow<'static, str>,
    /// The heading where there is room; empty where the short one is used.
    pub heading: Cow<'static, str>,
    /// What it means, where the heading does not say it. That of a column without a title ends that of the column before.
    pub meaning: Cow<'static, str>,
    /// What stands in it.
    pub role: ColumnRole,
    /// The media that have it.
    pub breadth: Breadth,
    /// When a medium without room for all leaves it out: 1 is the first to go, 0 stays.
    pub spare: u8,
}

/// The role of a column: what stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRole {
    /// Words.
    Words,
    /// Names of the rows.
    Names,
    /// Names of the rows as they are typed: specs of stores.
    Specs,
    /// Figures.
    Figures,
}

/// The breadth that media have for columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breadth {
    /// Any.
    Any,
    /// That of a terminal: figures in sum.
    Narrow,
    /// That of a page or a document: figures one by one.
    Wide,
    /// That of a page alone: figures that few readers look for.
    Widest,
}

/// A text of such a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureText {
    /// The text.
    pub text: String,
    /// Its weight.
    pub tone: Tone,
    /// More of it, for media with room.
    pub note: String,
    /// Still more, a line each, for a page.
    pub details: Vec<String>,
}

impl Block {
    /// Makes a sentence.
    pub fn plain(text: impl Into<String>) -> Block {
        Block::Sentence(Sentence::toned(text, Tone::Plain))
    }

    /// Makes a sentence that warns.
    pub fn warning(text: impl Into<String>) -> Block {
        Block::Sentence(Sentence::toned(text, Tone::Warning))
    }

    /// Makes a sentence for media with room.
    pub fn detail(text: impl Into<String>) -> Block {
        Block::Sentence(Sentence::toned(text, Tone::Detail))
    }

    /// Makes a sentence on how to read the others.
    pub fn faint(text: impl Into<String>) -> Block {
        Block::Sentence(Sentence::toned(text, Tone::Faint))
    }

    /// Makes a sentence for the head.
    pub fn headline(text: impl Into<String>, tone: Tone) -> Block {
        Block::Headline(Sentence::toned(text, tone))
    }
}

impl Sentence {
    /// Makes a sentence of this weight.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Sentence {
        Sentence { text: text.into(), tone }
    }

    /// Returns its words, and the lines to be copied.
    pub fn parts(&self) -> (&str, &str) {
        self.text.split_once('\n').unwrap_or((&self.text, ""))
    }
}

impl FigureTable {
    /// Makes a table whose first column has names and whose others have figures; nothing without rows.
    pub fn of_figures<const N: usize>(
        title: impl Into<String>,
        columns: [&'static str; N],
        rows: impl Iterator<Item = [String; N]>,
    ) -> Option<FigureTable> {
        let column = |(at, title)| if at == 0 { FigureColumn::words(title) } else { FigureColumn::figures(title) };
        let columns = columns.into_iter().enumerate().map(column).collect();
        let rows: Vec<_> = rows.map(|row| row.map(FigureText::from).into()).collect();
        (!rows.is_empty()).then(|| FigureTable { title: title.into(), columns, rows, ..FigureTable::default() })
    }

    /// Returns the columns of a medium of this breadth, by their indices.
    pub fn columns_in(&self, breadth: Breadth) -> Vec<usize> {
        let has = |at: &usize| match self.columns[*at].breadth {
            Breadth::Any => true,
            Breadth::Wide => breadth != Breadth::Narrow,
            only => only == breadth,
        };
        (0..self.columns.len()).filter(has).collect()
    }

    /// Returns what the columns and signs of a medium with room mean, as one text.
    pub fn meanings(&self, breadth: Breadth) -> String {
        let columns = self.columns_in(breadth).into_iter().map(|at| &self.columns[at]);
        let columns = columns.map(|column| (column.heading(), &*column.meaning));
        let signs = self.signs.iter().map(|(sign, meaning)| (*sign, meaning.as_str()));
        let said = columns.chain(signs).filter(|(_, meaning)| !meaning.is_empty());
        said.map(|(word, meaning)| format!("{word}: {meaning}.")).collect::<Vec<_>>().join(" ")
    }
}

impl FigureColumn {
    /// Makes a column of words.
    pub fn words(title: impl Into<Cow<'static, str>>) -> FigureColumn {
        let (heading, meaning) = ("".into(), "".into());
        FigureColumn { title: title.into(), heading, meaning, role: ColumnRole::Words, breadth: Breadth::Any, spare: 0 }
    }

    /// Makes a column of figures.
    pub fn figures(title: impl Into<Cow<'static, str>>) -> FigureColumn {
        FigureColumn::words(title).role(ColumnRole::Figures)
    }

    /// Returns the same for what has this role.
    pub fn role(self, role: ColumnRole) -> FigureColumn {
        FigureColumn { role, ..self }
    }

    /// Returns the same with a longer heading.
    pub fn headed(self, heading: impl Into<Cow<'static, str>>) -> FigureColumn {
        FigureColumn { heading: heading.into(), ..self }
    }

    /// Returns the same with what it means.
    pub fn meaning(self, meaning: impl Into<Cow<'static, str>>) -> FigureColumn {
        FigureColumn { meaning: meaning.into(), ..self }
    }

    /// Returns the same for media of this breadth.
    pub fn only(self, breadth: Breadth) -> FigureColumn {
        FigureColumn { breadth, ..self }
    }

    /// Returns the same, to be left out as the first, second or third.
    pub fn spare(self, spare: u8) -> FigureColumn {
        FigureColumn { spare, ..self }
    }

    /// Returns the heading for media with room.
    pub fn heading(&self) -> &str {
        if self.heading.is_empty() { &self.title } else { &self.heading }
    }
}

impl FigureText {
    /// Makes a text of this weight.
    pub fn toned(text: impl Into<String>, tone: Tone) -> FigureText {
        FigureText { text: text.into(), tone, note: String::new(), details: Vec::new() }
    }

    /// Makes the text of a figure: beside it the ends of its interval, beneath how many trials are behind it. `-` where it is not known.
    pub fn quantity(quantity: Option<Quantity>, unit: Unit) -> FigureText {
        let Some(it) = quantity else { return "-".into() };
        let text = |value| figures::plain(value, unit);
        match it.level > 0.0 {
            true => FigureText::from(text(it.value))
                .noted(format!("{} to {}", text(it.low), text(it.high)))
                .detailed(format!("n = {}, {:.0} %", it.n, it.level * 100.0)),
            false => FigureText::from(text(it.value)).detailed(format!("n = {}", it.n)),
        }
    }

    /// Returns the same with a note.
    pub fn noted(self, note: impl Into<String>) -> FigureText {
        FigureText { note: note.into(), ..self }
    }

    /// Returns the same with one more detail.
    pub fn detailed(mut self, detail: impl Into<String>) -> FigureText {
        self.details.push(detail.into());
        self
    }
}

impl<T: Into<String>> From<T> for FigureText {
    fn from(text: T) -> FigureText {
        FigureText::toned(text, Tone::Plain)
    }
}
