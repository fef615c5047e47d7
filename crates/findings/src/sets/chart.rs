//! The job `sets`: bytes per id, and how far sketches were off beside what theory expects.

use super::sentences::{CountError, SetFigures, figures, step_text};
use crate::chart::{Chart, DataTable, slug};
use crate::draw::axes::marks;
use crate::draw::bars::{bars, rows_height};
use crate::identity::{Identities, label};
use serde_json::json;
use study::{Cell, Quantity};

/// Charts of one part.
pub(crate) fn charts(cells: &[&Cell], part: &str, identities: &Identities) -> Vec<Chart> {
    let shown: Vec<SetFigures<'_>> = figures(cells).into_iter().filter(|it| !it.cell.baseline).collect();
    let errors = [
        ("Error of the union", errors(&shown, |it| it.union)),
        ("Error of the intersection", errors(&shown, |it| it.intersection)),
    ];
    let errors = errors.into_iter().filter_map(|(title, errors)| error_chart(title, &errors, part, identities));
    bytes_chart(&shown, part, identities).into_iter().chain(errors).collect()
}

fn bytes_chart(shown: &[SetFigures<'_>], part: &str, identities: &Identities) -> Option<Chart> {
    let mut rows: Vec<(&Cell, Option<Quantity>)> =
        shown.iter().filter_map(|it| Some((it.cell, Some(Quantity::single(it.bytes_per_id?))))).collect();
    rows.sort_by(|a, b| a.1.map_or(0.0, |it| it.value).total_cmp(&b.1.map_or(0.0, |it| it.value)));
    if rows.is_empty() {
        return None;
    }
    let row = |it: &SetFigures<'_>| {
        let [build, size, union, common] = ["build", "size", "union", "intersection"].map(|step| step_text(it, step));
        [label(it.cell), build, size, union, common, it.bytes_text().unwrap_or_else(|| "–".into())]
    };
    let columns = ["Store", "Build", "Size", "Union", "Intersection", "Bytes per id"];
    let table = DataTable::of(columns, shown.iter().map(row));
    let words: Vec<String> = table.rows.iter().map(|row| format!("{} {}", row[0], row[5])).collect();
    Some(Chart {
        id: slug(&format!("bytes per id {part}")),
        title: "Bytes per id".into(),
        note: "The memory of the sets and of what belongs to them (an index of ids), per different id. The table also has the time of each step.".into(),
        description: format!("Bytes per id: {}.", words.join(", ")),
        height: rows_height(rows.len()),
        option: bars(&rows, &[], "number", identities),
        table,
    })
}

/// Cells that do not count exactly, with their errors.
fn errors<'a>(
    shown: &[SetFigures<'a>],
    of: impl Fn(&SetFigures<'a>) -> Option<CountError>,
) -> Vec<(&'a Cell, CountError)> {
    shown.iter().filter_map(|it| Some((it.cell, of(it).filter(|error| error.standard > 0.0)?))).collect()
}

fn error_chart(title: &str, errors: &[(&Cell, CountError)], part: &str, identities: &Identities) -> Option<Chart> {
    if errors.is_empty() {
        return None;
    }
    let rows: Vec<(&Cell, Option<Quantity>)> =
        errors.iter().map(|(cell, error)| (*cell, Some(Quantity::single(100.0 * error.found)))).collect();
    let mut option = bars(&rows, &[], "percent", identities);
    let theory: Vec<_> =
        errors.iter().enumerate().map(|(row, (_, error))| json!([100.0 * error.standard, row])).collect();
    if let Some(series) = option["series"].as_array_mut() {
        series.push(marks("diamond", theory));
    }
    let row = |(cell, error): &(&Cell, CountError)| [label(cell), error.found_text(), error.standard_text()];
    let words: Vec<String> = errors.iter().map(|(cell, error)| format!("{} {}", label(cell), error.text())).collect();
    Some(Chart {
        id: slug(&format!("{title} {part}")),
        title: title.into(),
        note: "For the ways that estimate: the error as a share of the true count. Diamonds: the standard error in theory; two of three counts \
               are within one, and a count more than four off makes the cell void."
            .into(),
        description: format!("{title}: {}.", words.join(", ")),
        height: rows_height(rows.len()),
        option,
        table: DataTable::of(["Store", "Error", "Standard error of theory"], errors.iter().map(row)),
    })
}
