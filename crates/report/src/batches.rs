//! Jobs whose operations carry several records each: their rates are told in records.

use study::{Cell, Study};

/// What the operations of a study carry several of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batches {
    /// Documents: the input counts them.
    Documents,
    /// Something else.
    Records,
}

impl Batches {
    /// `None` where every operation of every cell carries one record.
    pub(crate) fn of(study: &Study) -> Option<Batches> {
        let several = |cell: &Cell| each(cell).is_some_and(|each| each > 1.01);
        study.cells.iter().any(several).then(|| match study.input.contains_key("documents") {
            true => Batches::Documents,
            false => Batches::Records,
        })
    }

    /// As the column of rates is headed.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Batches::Documents => "DOCS/S",
            Batches::Records => "RECORDS/S",
        }
    }

    /// How the column is to be read.
    pub(crate) fn meaning(self) -> String {
        let what = match self {
            Batches::Documents => "documents",
            Batches::Records => "records",
        };
        format!("{what} per second; an operation is a batch of them, and P99 is that of a batch")
    }
}

/// Records per operation of the timed phases.
fn each(cell: &Cell) -> Option<f64> {
    let timed = || cell.by_phase.iter().filter(|phase| phase.timed);
    let (records, operations): (u64, u64) =
        (timed().map(|phase| phase.records).sum(), timed().map(|phase| phase.operations).sum());
    (records > 0 && operations > 0).then(|| records as f64 / operations as f64)
}

/// The rate to be shown: of records where operations carry several, else of operations.
pub(crate) fn rate(cell: &Cell, batches: Option<Batches>) -> Option<f64> {
    let each = batches.and_then(|_| each(cell)).unwrap_or(1.0);
    cell.ops_per_s.map(|rate| rate.value * each)
}
