//! Curves in the terminal: the rate over time, and over the values of a parameter that was varied.

use crate::figure::Figure;
use crate::layout::{Colour, Column, Row, Side, Style, Table, WIDTH, columns, paragraph};
use crate::plot::{Line, plot};
use crate::spark::sparkline;
use analysis::median_trial;
use std::collections::{BTreeMap, BTreeSet};
use study::{Cell, Study, TrialRecord};
use words::units;

/// Fewer points are not a curve.
const FEWEST: usize = 5;
/// Nor is what a shorter trial shows.
const LEAST_S: f64 = 0.25;
/// More lines or plots than these are for the report, not for a terminal.
const MOST_LINES: usize = 24;
const MOST_PLOTS: usize = 4;
const BARS: usize = 32;
const FEWEST_BARS: usize = 12;
/// What a narrow terminal omits first: the lowest rate, the highest.
const SPARE: [usize; 2] = [3, 4];

const COLUMNS: [Column; 5] = [
    Column { title: "STORE", side: Side::Left, gap: 3 },
    Column { title: "OP/S OVER TIME", side: Side::Left, gap: 2 },
    Column { title: "FOR", side: Side::Right, gap: 2 },
    Column { title: "LOWEST", side: Side::Right, gap: 2 },
    Column { title: "HIGHEST", side: Side::Right, gap: 2 },
];

/// Returns a line for each of these cells that is ranked and ran long enough, and each with faults: the rate of good answers of its median
/// trial, each line scaled to its own highest, or to twice the usual where that is a burst. Beneath, a `^` where nodes were made to fail.
pub(crate) fn over_time(study: &Study, cells: &[&Cell], colour: Colour) -> String {
    let varied = varied(study);
    let drawn = cells.iter().copied().filter(|cell| cell.verdict.is_ranked() || words::outages::was_done(cell));
    let lines: Vec<(&Cell, &TrialRecord, Vec<f64>)> = drawn.filter_map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let hidden = lines.len().saturating_sub(MOST_LINES);
    let fitted = |bars: usize| {
        let rows: Vec<(Row, Option<Row>)> =
            lines.iter().take(MOST_LINES).map(|line| (row(line, &varied, bars), marks(line, bars))).collect();
        (Table::fit_without(&COLUMNS, 0, &SPARE, rows.iter().map(|(row, _)| row)), rows)
    };
    let most = (columns() + BARS).saturating_sub(WIDTH).max(FEWEST_BARS);
    // A bar less is better than a name in two pieces.
    let fits = |(table, _): &(Table, Vec<(Row, Option<Row>)>)| !table.cuts_words() && table.left_out().is_empty();
    let whole = (FEWEST_BARS..=most).rev().map(fitted).find(fits);
    let (table, rows) = whole.unwrap_or_else(|| fitted(FEWEST_BARS));
    let mut text = table.titles(colour);
    text.extend(rows.iter().map(|(row, marks)| table.row_over(row, marks.as_ref(), colour)));
    text + &more(hidden, "cells", colour)
}

fn more(hidden: usize, what: &str, colour: Colour) -> String {
    match hidden {
        0 => String::new(),
        _ => paragraph(&format!("and {hidden} more {what}: they are in study.json"), 3, 5, Style::Dim, colour),
    }
}

/// A cell whose median trial ran long enough, with its rates.
fn line(cell: &Cell) -> Option<(&Cell, &TrialRecord, Vec<f64>)> {
    let trial = median_trial(cell).filter(|trial| !trial.series.is_empty() && trial.makespan_s >= LEAST_S)?;
    let rates = rates(trial);
    (rates.len() >= FEWEST).then_some((cell, trial, rates))
}

fn row(
    (cell, trial, rates): &(&Cell, &TrialRecord, Vec<f64>),
    varied: &BTreeMap<&str, BTreeSet<&str>>,
    bars: usize,
) -> Row {
    let (lowest, highest) =
        (rates.iter().copied().fold(f64::INFINITY, f64::min), rates.iter().copied().fold(0.0, f64::max));
    let params = varied.keys().filter_map(|name| Some(format!(" {name}={}", cell.params.get(*name)?)));
    vec![
        (cell.store.clone() + &params.collect::<String>(), Style::Plain),
        (sparkline(rates, bars), Style::Plain),
        (units::duration(trial.makespan_s), Style::Plain),
        (units::count(lowest), Style::Plain),
        (units::count(highest), Style::Plain),
    ]
}

/// Where on its line of bars nodes were made to fail, and what was done.
fn marks((_, trial, rates): &(&Cell, &TrialRecord, Vec<f64>), bars: usize) -> Option<Row> {
    let bars = rates.len().min(bars.max(1));
    let end_s = trial.series.last()?.at_s;
    let mut line = vec![' '; bars];
    for at_s in trial.faults.iter().filter_map(|fault| fault.at_s).filter(|at_s| (0.0..end_s).contains(at_s)) {
        line[((at_s / end_s * bars as f64) as usize).min(bars - 1)] = '^';
    }
    let is_marked = line.contains(&'^');
    let blank = || (String::new(), Style::Plain);
    is_marked.then(|| vec![blank(), (String::from_iter(line), Style::Bad), blank(), blank(), blank()])
}

/// Good answers per second in each interval. What is left at the end of a phase, shorter than half an interval, says nothing.
fn rates(trial: &TrialRecord) -> Vec<f64> {
    let before = std::iter::once(0.0).chain(trial.series.iter().map(|point| point.at_s));
    let widths: Vec<f64> = before.zip(&trial.series).map(|(before, point)| point.at_s - before).collect();
    let usual = widths.iter().copied().fold(0.0, f64::max);
    let whole = |at: &usize| widths[*at] > usual / 2.0;
    let good = |at: usize| trial.series[at].operations.saturating_sub(trial.series[at].errors);
    (0..widths.len()).filter(whole).map(|at| good(at) as f64 / widths[at]).collect()
}

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
    text + &more(hidden, "plots", colour)
}

#[cfg(test)]
mod tests {
    use super::{over_parameter, over_time, rates};
    use crate::layout::Colour;
    use study::{Cell, PhaseSummary, Quantity, SeriesPoint, Study, TrialRecord};

    #[test]
    fn what_is_left_at_the_end_is_no_rate() {
        let point = |at_s, operations| SeriesPoint { at_s, operations, ..SeriesPoint::default() };
        let series = vec![point(1.0, 100), point(2.0, 0), point(3.0, 50), point(3.1, 40)];
        assert_eq!(rates(&TrialRecord { series, ..TrialRecord::default() }), [100.0, 0.0, 50.0]);
    }

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

    #[test]
    fn what_failed_is_no_answer_and_a_curve_shorter_than_a_quarter_of_a_second_is_none() {
        let point = |at: u32| SeriesPoint {
            at_s: f64::from(at),
            operations: 100,
            errors: if at == 3 { 100 } else { 0 },
            ..SeriesPoint::default()
        };
        let mut trial = TrialRecord { makespan_s: 5.0, series: (1..=5).map(point).collect(), ..TrialRecord::default() };
        assert_eq!(rates(&trial), [100.0, 100.0, 0.0, 100.0, 100.0]);
        let drawn = |trial: &TrialRecord| {
            let cell = Cell { trials: vec![trial.clone()], verdict: study::Verdict::of([]), ..Cell::default() };
            over_time(&Study::default(), &[&cell], Colour::Never)
        };
        trial.operations = 400;
        assert!(drawn(&trial).contains("██▁██"), "{}", drawn(&trial));
        trial.makespan_s = 0.2;
        assert_eq!(drawn(&trial), "");
    }

    #[test]
    fn a_long_name_takes_bars_and_is_not_cut() {
        let series =
            (1..=60).map(|at| SeriesPoint { at_s: f64::from(at), operations: 400_000, ..SeriesPoint::default() });
        let trial = TrialRecord { operations: 1, makespan_s: 60.0, series: series.collect(), ..TrialRecord::default() };
        let bars = |store: &str| {
            let cell = Cell {
                store: store.into(),
                trials: vec![trial.clone()],
                makespan_s: Some(Quantity::single(60.0)),
                verdict: study::Verdict::of([]),
                ..Cell::default()
            };
            let text = over_time(&Study::default(), &[&cell], Colour::Never);
            assert!(text.contains(store), "{text}");
            text.matches('█').count()
        };
        assert_eq!(bars("redis"), super::BARS);
        assert!(bars("mysql-memcached-unix-of-1234") < super::BARS);
    }
}
