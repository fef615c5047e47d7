//! The job `sets` in the terminal: what each step took, bytes per id, and how far counts were off.

use crate::layout::{Colour, Column, Row, Side, Style, Table, paragraph};
use study::Cell;
use words::sets::{CountError, SetFigures, TITLE, figures, step_text};

const COLUMNS: [Column; 8] = [
    Column { title: "STORE", side: Side::Left, gap: 1 },
    Column { title: "BUILD", side: Side::Right, gap: 2 },
    Column { title: "SIZE", side: Side::Right, gap: 2 },
    Column { title: "UNION", side: Side::Right, gap: 2 },
    Column { title: "COMMON", side: Side::Right, gap: 2 },
    Column { title: "B/ID", side: Side::Right, gap: 2 },
    Column { title: "ERR ∪", side: Side::Right, gap: 2 },
    Column { title: "ERR ∩", side: Side::Right, gap: 2 },
];

/// What a narrow terminal omits first: the time of sizes, the error of the union.
const SPARE: [usize; 2] = [2, 6];

/// Returns the table; empty where no cell is of the job.
pub(crate) fn of_cells(cells: &[&Cell], colour: Colour) -> String {
    let shown: Vec<SetFigures<'_>> = figures(cells).into_iter().filter(|it| !it.cell.baseline).collect();
    if shown.is_empty() {
        return String::new();
    }
    let rows: Vec<Row> = shown.iter().map(row).collect();
    let table = Table::fit_without(&COLUMNS, 0, &SPARE, rows.iter());
    let mut text = "\n".to_owned() + &paragraph(TITLE, 1, 3, Style::Bold, colour) + &table.titles(colour);
    text.extend(rows.iter().map(|row| table.row(row, colour)));
    text
}

fn row(figures: &SetFigures<'_>) -> Row {
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
    .map(|text| (text, Style::Plain))
    .into()
}
