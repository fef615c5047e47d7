//! What findings are made of.

use crate::chart::{Chart, Sketch};

/// A piece of a finding, which every medium can draw or has a reason to leave out.
#[derive(Clone, Debug)]
pub enum Block {
    /// A sentence.
    Sentence(Sentence),
    /// A table of figures.
    Table(FigureTable),
    /// A picture, with its figures.
    Chart(Chart),
    /// The same for media that have no pictures.
    Sketch(Sketch),
}

/// A sentence and its weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The text, which ends in a full stop.
    pub text: String,
    /// Its weight.
    pub tone: Tone,
}

/// The weight of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// What was found.
    Plain,
    /// What makes a figure doubtful, or a store unfit.
    Warning,
    /// More of the same, for media with room.
    Detail,
}

/// A table of figures, as text.
#[derive(Clone, Debug, Default)]
pub struct FigureTable {
    /// What it shows.
    pub title: String,
    /// The columns; the first has the names of the rows, and takes what the others leave.
    pub columns: Vec<FigureColumn>,
    /// Indices of the columns a narrow medium leaves out first.
    pub spare: Vec<usize>,
    /// Rows of as many texts as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// A column of such a table.
#[derive(Clone, Copy, Debug)]
pub struct FigureColumn {
    /// The heading, short enough for a terminal.
    pub title: &'static str,
    /// The side its texts stand on.
    pub side: Side,
}

/// The side of its column a text stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// As words do.
    Left,
    /// As figures do.
    Right,
}

impl Block {
    /// Makes a sentence.
    pub fn plain(text: impl Into<String>) -> Block {
        Block::Sentence(Sentence { text: text.into(), tone: Tone::Plain })
    }

    /// Makes a sentence that warns.
    pub fn warning(text: impl Into<String>) -> Block {
        Block::Sentence(Sentence { text: text.into(), tone: Tone::Warning })
    }

    /// Makes a sentence for media with room.
    pub fn detail(text: impl Into<String>) -> Block {
        Block::Sentence(Sentence { text: text.into(), tone: Tone::Detail })
    }
}

impl FigureTable {
    /// Makes a table whose first column has names and whose others have figures.
    pub fn of_figures<const N: usize>(title: impl Into<String>, columns: [&'static str; N]) -> FigureTable {
        let side = |at| if at == 0 { Side::Left } else { Side::Right };
        let columns = columns.into_iter().enumerate().map(|(at, title)| FigureColumn { title, side: side(at) });
        FigureTable { title: title.into(), columns: columns.collect(), ..FigureTable::default() }
    }
}
