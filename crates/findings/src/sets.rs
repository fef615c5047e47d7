//! What counting sets of ids took, and how far estimates were off.

mod chart;
mod sentences;

use crate::block::{Block, FigureTable};
use crate::finding::{Arrangement, Finding};
use crate::view::{Grouped, View};
use sentences::{CountError, SetFigures, figures, sentences, step_text};

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    Some(Finding {
        id: "sets",
        title: "Sets of ids",
        intro: "What exact counts cost, what estimates save, and how far they are off.".into(),
        charts: Arrangement::Below,
        parts: view.by_part(|it| blocks(it, view)),
    })
}

fn blocks(it: &Grouped<'_>, view: &View<'_>) -> Vec<Block> {
    let charts = view.charts(|| chart::charts(it.cells(), it.label(), &view.identities));
    let sentences = sentences(it.cells()).map(Block::plain);
    table(it).map(Block::Table).into_iter().chain(sentences).chain(charts).collect()
}

/// What each step took; nothing where no cell is of the job.
fn table(it: &Grouped<'_>) -> Option<FigureTable> {
    let title = "Sets: time of each step, bytes per different id, error of the union and of the intersection";
    let columns = ["STORE", "BUILD", "SIZE", "UNION", "COMMON", "B/ID", "ERR ∪", "ERR ∩"];
    let found = figures(it.cells());
    let mut table = FigureTable::of_figures(title, columns, found.iter().filter(|it| !it.cell.baseline).map(row))?;
    // The time of sizes, the error of the union.
    (table.columns[2].spare, table.columns[6].spare) = (1, 2);
    Some(table)
}

fn row(figures: &SetFigures<'_>) -> [String; 8] {
    let error = |error: Option<CountError>| match error {
        None => "-".into(),
        Some(error) if error.standard == 0.0 && error.found == 0.0 => "0".into(),
        Some(error) => error.found_text(),
    };
    let step = |name| step_text(figures, name);
    [
        figures.cell.store.clone(),
        step("build"),
        step("size"),
        step("union"),
        step("intersection"),
        figures.bytes_text().unwrap_or_else(|| "-".into()),
        error(figures.union),
        error(figures.intersection),
    ]
}
