//! How a store is distinguished in every chart: one colour, symbol and dash wherever it appears.

use crate::view::STUDY;
use serde_json::{Value, json};
use study::{Cell, Study};
use words::distinct;

const COLOURS: usize = 8;
const SYMBOLS: [&str; 4] = ["circle", "rect", "triangle", "diamond"];
const DASHES: [&str; 3] = ["solid", "dashed", "dotted"];

/// The stores of a report in the order they first appear, and of how many studies they are.
#[derive(Clone, Debug, Default)]
pub struct Identities {
    stores: Vec<String>,
    baselines: Vec<String>,
    studies: Vec<String>,
}

impl Identities {
    /// Finds the stores of a study, in the order they first appear.
    pub fn of(study: &Study) -> Identities {
        let stores = |baselines: bool| {
            distinct(study.cells.iter().filter(|cell| cell.baseline == baselines).map(|cell| cell.store.clone()))
        };
        let studies = study.cells.iter().map(|cell| study_label(cell).unwrap_or_default().to_owned());
        Identities { stores: stores(false), baselines: stores(true), studies: distinct(studies) }
    }

    /// Returns `$c3`, a colour of the theme.
    pub fn colour(&self, cell: &Cell) -> String {
        if cell.baseline { "$baseline".into() } else { format!("$c{}", self.at(cell) % COLOURS) }
    }

    /// Returns the symbol of a store.
    pub fn symbol(&self, cell: &Cell) -> &'static str {
        SYMBOLS[self.at(cell) % SYMBOLS.len()]
    }

    fn dash(&self, cell: &Cell) -> &'static str {
        let of_study = self.studies.iter().position(|it| Some(it.as_str()) == study_label(cell)).unwrap_or_default();
        let turn = if cell.baseline { 1 + self.at(cell) } else { self.at(cell) / COLOURS };
        DASHES[(turn + of_study) % DASHES.len()]
    }

    fn at(&self, cell: &Cell) -> usize {
        let list = if cell.baseline { &self.baselines } else { &self.stores };
        list.iter().position(|store| *store == cell.store).unwrap_or_default()
    }

    /// Returns a line series with this cell's look, without data.
    pub fn line(&self, cell: &Cell) -> Value {
        json!({
            "type": "line", "name": label(cell), "symbol": self.symbol(cell), "symbolSize": 6,
            "lineStyle": { "width": 2, "type": self.dash(cell) }, "itemStyle": { "color": self.colour(cell) },
        })
    }
}

/// Returns the name of a cell: its store, and its study where there are several.
pub fn label(cell: &Cell) -> String {
    match study_label(cell) {
        Some(study) => format!("{} · {study}", cell.store),
        None => cell.store.clone(),
    }
}

/// Returns the study a cell is of, in a report on several.
pub fn study_label(cell: &Cell) -> Option<&str> {
    cell.more.get(STUDY).and_then(Value::as_str)
}
