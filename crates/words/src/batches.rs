//! Jobs whose operations carry several records each: their rates are in records.

use study::{Cell, Quantity, Study};

/// The records that an operation of a study carries several of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batches {
    /// Documents: the input counts them.
    Documents,
    /// Events that are summarized before anything is stored: one operation is all of them.
    Events,
    /// Something else.
    Records,
}

impl Batches {
    /// Returns `None` where every operation of every cell carries one record.
    pub fn of(study: &Study) -> Option<Batches> {
        let several = |cell: &Cell| each(cell).is_some();
        study.cells.iter().any(several).then(|| Batches::stored(study))
    }

    /// Returns the records that the study's job stores, whether or not an operation carries several.
    pub fn stored(study: &Study) -> Batches {
        match study.input.contains_key("documents") {
            true => Batches::Documents,
            false if study.input.contains_key("additions") => Batches::Events,
            false => Batches::Records,
        }
    }

    /// Returns the heading of the column of rates.
    pub fn title(self) -> &'static str {
        match self {
            Batches::Documents => "DOCS/S",
            Batches::Events => "EVENTS/S",
            Batches::Records => "RECORDS/S",
        }
    }

    /// Returns the unit of a rate.
    pub fn unit(self) -> &'static str {
        match self {
            Batches::Documents => "docs/s",
            Batches::Events => "events/s",
            Batches::Records => "records/s",
        }
    }

    /// Returns the noun for a batch's contents.
    pub fn noun(self) -> &'static str {
        match self {
            Batches::Documents => "documents",
            Batches::Events | Batches::Records => "records",
        }
    }

    /// Returns the sentence on what an operation is.
    pub fn operation(self) -> String {
        match self {
            Batches::Events => "An operation stores a counter.".into(),
            Batches::Documents | Batches::Records => format!("An operation is a batch of {}.", self.noun()),
        }
    }

    /// Returns how the column is to be read.
    pub fn meaning(self) -> String {
        if self == Batches::Events {
            return "events per second, until the last counter is stored; P99 is that of storing a counter".into();
        }
        format!("{} per second; an operation is a batch of them, and P99 is that of a batch", self.noun())
    }
}

/// Records per operation in the cell's trials; `None` where each carries one.
fn each(cell: &Cell) -> Option<f64> {
    let each: Vec<f64> = cell.counted().filter_map(analysis::records_per_operation).collect();
    stats::median(&each)
}

/// Returns the rate to be shown: of records where operations carry several, else of operations.
pub fn shown_rate(cell: &Cell, batches: Option<Batches>) -> Option<Quantity> {
    let each = batches.and_then(|_| each(cell)).unwrap_or(1.0);
    let scaled =
        |rate: Quantity| Quantity { value: rate.value * each, low: rate.low * each, high: rate.high * each, ..rate };
    cell.ops_per_s.map(scaled)
}
