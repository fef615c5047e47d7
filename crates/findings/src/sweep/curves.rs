//! The rate over the values of a parameter that was varied.

use crate::chart::{LinePlot, PlotLine};
use analysis::Metric;
use std::collections::{BTreeMap, BTreeSet};
use study::{Cell, Study};

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
fn metric(study: &Study) -> Metric {
    let timed = |cell: &Cell| cell.by_phase.iter().find(|phase| phase.timed).map(|it| (it.records, it.operations));
    let mut batches = drawn(study).filter_map(timed).map(|(records, operations)| records.div_ceil(operations.max(1)));
    let first = batches.next();
    if batches.any(|batch| Some(batch) != first) { Metric::Makespan } else { Metric::OpsPerS }
}

/// Returns the rate (or the time, see [`metric`]) over the parameter with the most values, for each combination of the others; nothing
/// when no parameter has at least three values that are numbers.
pub(super) fn curves(study: &Study) -> Vec<LinePlot> {
    let varied = varied(study);
    let numeric = |values: &BTreeSet<&str>| values.iter().all(|value| value.parse::<f64>().is_ok());
    let swept = varied.iter().filter(|(_, values)| values.len() > 2 && numeric(values)).max_by_key(|(_, it)| it.len());
    let Some((&swept, values)) = swept else { return Vec::new() };
    let mut values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    values.sort_by(|a, b| a.parse().unwrap_or(0.0f64).total_cmp(&b.parse().unwrap_or(0.0)));

    let metric = metric(study);
    let mut all: BTreeMap<String, Vec<PlotLine>> = BTreeMap::new();
    for cell in drawn(study) {
        let at = cell.params.get(swept).and_then(|value| values.iter().position(|known| known == value));
        let Some((at, figure)) = at.zip(metric.of_cell(cell)) else { continue };
        let others = varied.keys().filter(|name| **name != swept);
        let others: Vec<String> =
            others.filter_map(|name| Some(format!("{name}={}", cell.params.get(*name)?))).collect();
        let lines = all.entry(others.join(" · ")).or_default();
        match lines.iter_mut().find(|line| line.name == cell.store) {
            Some(line) => line.points.push((at, figure.value)),
            None => lines.push(PlotLine { name: cell.store.clone(), points: vec![(at, figure.value)] }),
        }
    }
    let of = |(label, lines)| LinePlot { label, metric, parameter: swept.to_owned(), values: values.clone(), lines };
    all.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::curves;
    use analysis::Metric;
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
        let plots = curves(&Study { cells: batches, ..Study::default() });
        assert_eq!((plots[0].metric, &plots[0].lines[0].points[2]), (Metric::Makespan, &(2, 0.1)));
        let clients = (1..4).map(|clients| {
            let mut cell = batched(1, 1.0 / f64::from(clients));
            cell.params = [("clients".to_owned(), clients.to_string())].into();
            cell
        });
        let plots = curves(&Study { cells: clients.collect(), ..Study::default() });
        assert_eq!((plots.len(), plots[0].metric, plots[0].values.join(" ")), (1, Metric::OpsPerS, "1 2 3".to_owned()));
        assert!((plots[0].lines[0].points[2].1 - 3000.0).abs() < 1.0, "{plots:?}");
    }
}
