//! The rate over the values of a parameter that was varied.

use crate::figure::Figure;
use crate::layout::{Colour, Style, paragraph};
use crate::plot::{Line, plot};
use crate::sketch;
use std::collections::{BTreeMap, BTreeSet};
use study::{Cell, Study};

/// More plots than these are for the report, not for a terminal.
const MOST_PLOTS: usize = 4;

/// Parameters that differ between cells, with their values.
fn varied(study: &Study) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in study.cells.iter().flat_map(|cell| &cell.params) {
        values.entry(name).or_default().insert(value);
    }
    values.retain(|_, values| values.len() > 1);
    values
}

/// Cells that have a place in a plot.
fn drawn(study: &Study) -> impl Iterator<Item = &Cell> {
    study.cells.iter().filter(|cell| cell.verdict.is_ranked() && !cell.baseline)
}

/// The time where operations carry more records in one cell than in another, as batches do: there a rate of operations says nothing.
/// The rate elsewhere.
fn figure(study: &Study) -> Figure {
    let timed = |cell: &Cell| cell.by_phase.iter().find(|phase| phase.timed).map(|it| (it.records, it.operations));
    let mut batches = drawn(study).filter_map(timed).map(|(records, operations)| records.div_ceil(operations.max(1)));
    let first = batches.next();
    if batches.any(|batch| Some(batch) != first) { Figure::Time } else { Figure::Rate }
}

/// Returns a plot of the rate (or the time, see [`figure`]) over the parameter with the most values, one for each combination of the
/// others; nothing when no parameter has at least three values that are numbers.
pub(crate) fn over_parameter(study: &Study, colour: Colour) -> String {
    let varied = varied(study);
    let numeric = |values: &BTreeSet<&str>| values.iter().all(|value| value.parse::<f64>().is_ok());
    let swept = varied.iter().filter(|(_, values)| values.len() > 2 && numeric(values)).max_by_key(|(_, it)| it.len());
    let Some((&swept, values)) = swept else { return String::new() };
    let mut values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    values.sort_by(|a, b| a.parse().unwrap_or(0.0f64).total_cmp(&b.parse().unwrap_or(0.0)));

    let figure = figure(study);
    let mut facets: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for cell in drawn(study) {
        let Some(at) = cell.params.get(swept).and_then(|value| values.iter().position(|known| known == value)) else {
            continue;
        };
        let Some(quantity) = figure.of(cell) else { continue };
        let others = varied.keys().filter(|name| **name != swept);
        let others: Vec<String> =
            others.filter_map(|name| Some(format!("{name}={}", cell.params.get(*name)?))).collect();
        let lines = facets.entry(others.join(" · ")).or_default();
        match lines.iter_mut().find(|line| line.name == cell.store) {
            Some(line) => line.points.push((at, quantity.value)),
            None => lines.push(Line { name: cell.store.clone(), points: vec![(at, quantity.value)] }),
        }
    }
    let hidden = facets.len().saturating_sub(MOST_PLOTS);
    let mut text = String::new();
    for (others, lines) in facets.iter().take(MOST_PLOTS) {
        if !text.is_empty() {
            text.push('\n');
        }
        if !others.is_empty() {
            text += &paragraph(others, 1, 3, Style::Bold, colour);
        }
        text += &plot(figure, swept, &values, lines, colour);
    }
    text + &sketch::more(hidden, "plots", colour)
}

#[cfg(test)]
mod tests {
    use super::over_parameter;
    use crate::layout::Colour;
    use study::{Cell, PhaseSummary, Quantity, Study};

    /// A cell that put a thousand records in batches of this size in `seconds`.
    fn batched(batch: u64, seconds: f64) -> Cell {
        let operations = 1000 / batch;
        let load = PhaseSummary { timed: true, operations, records: 1000, ..PhaseSummary::default() };
        Cell {
            store: "sqlite".into(),
            params: [("batch".to_owned(), batch.to_string())].into(),
            makespan_s: Some(Quantity::single(seconds)),
            ops_per_s: Some(Quantity::single(operations as f64 / seconds)),
            by_phase: vec![load],
            verdict: study::Verdict::of([]),
            ..Cell::default()
        }
    }

    #[test]
    fn where_batches_are_swept_the_time_is_plotted_and_the_rate_elsewhere() {
        let batches = vec![batched(1, 0.9), batched(10, 0.2), batched(100, 0.1)];
        let text = over_parameter(&Study { cells: batches, ..Study::default() }, Colour::Never);
        assert!(text.starts_with(" TIME\n") && text.contains("lowest 100 ms at 100"), "{text}");
        let clients = (1..4).map(|clients| {
            let mut cell = batched(1, 1.0 / f64::from(clients));
            cell.params = [("clients".to_owned(), clients.to_string())].into();
            cell
        });
        let text = over_parameter(&Study { cells: clients.collect(), ..Study::default() }, Colour::Never);
        assert!(text.starts_with(" OP/S\n") && text.contains("highest 3.00k at 3"), "{text}");
    }
}
