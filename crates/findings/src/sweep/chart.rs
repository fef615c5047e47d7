//! What a swept parameter does: a figure against its values, a line for each store; and a grid of store x operation.

use super::without;
use crate::chart::{Chart, DataTable};
use crate::draw::facets::{FacetAxis, Facets, Point, number};
use crate::figures;
use crate::identity::{Identities, study_label};
use analysis::{Metric, Unit};
use std::collections::BTreeSet;
use study::{Cell, Study};
use words::{Batches, distinct};

/// Most pictures side by side.
const MOST_ACROSS: usize = 4;

/// Pictures in one grid.
const MOST_FACETS: usize = 48;
/// Combinations of other parameters that get a picture.
const MOST_COMBINATIONS: usize = 24;

/// Returns all charts of a study in which something varies.
pub(crate) fn charts(study: &Study, identities: &Identities) -> Vec<Chart> {
    let cells: Vec<&Cell> = study.cells.iter().filter(|cell| !cell.baseline).collect();
    let axes = axes(study, &cells);
    // The parameter with the most values is the horizontal axis; numbers before words.
    let Some(along) = axes.iter().max_by_key(|axis| (axis.numbers().is_some(), axis.values.len())) else {
        return Vec::new();
    };
    let others: Vec<&FacetAxis> = axes.iter().filter(|axis| axis.key != along.key).collect();
    let mut metrics: Vec<Metric> = cells.iter().map(|cell| Metric::ranking(cell)).collect();
    metrics.extend([Metric::OpsPerS, Metric::P99]);
    let mut known = BTreeSet::new();
    metrics.retain(|metric| known.insert(*metric) && cells.iter().any(|cell| metric.of_cell(cell).is_some()));
    let batches = Batches::of(study);
    let mut charts: Vec<Chart> =
        metrics.into_iter().filter_map(|metric| overlay(metric, batches, &cells, along, &others, identities)).collect();
    if others.is_empty() {
        charts.extend(by_operation(&cells, batches, along, identities));
    }
    charts
}

/// The keys that vary: those the study names, else the parameters that differ between cells.
fn axes(study: &Study, cells: &[&Cell]) -> Vec<FacetAxis> {
    let mut keys: Vec<String> = study.varied.iter().map(|varied| varied.key.clone()).collect();
    if keys.is_empty() {
        keys = cells.iter().flat_map(|cell| cell.params.keys()).cloned().collect::<BTreeSet<_>>().into_iter().collect();
        // A search tries rates of its own; it has a chart of its own.
        keys.retain(|key| study.rate_search.is_empty() || key != "rate");
    }
    let axis = |key: String| {
        let values = distinct(cells.iter().filter_map(|cell| value_of(cell, &key)));
        let mut values: Vec<String> = values.into_iter().map(str::to_owned).collect();
        if values.iter().all(|value| number(value).is_some()) {
            values.sort_by(|a, b| number(a).unwrap_or_default().total_cmp(&number(b).unwrap_or_default()));
        }
        FacetAxis { key, values }
    };
    keys.into_iter().map(axis).filter(|axis| axis.values.len() > 1).collect()
}

fn value_of<'a>(cell: &'a Cell, key: &str) -> Option<&'a str> {
    cell.varied.get(key).or_else(|| cell.params.get(key)).map(String::as_str)
}

/// The store's spec without the options that vary, so that its cells are one line.
fn line_name(cell: &Cell) -> String {
    let name = cell.varied.iter().fold(cell.store.clone(), |name, (key, value)| without(&name, key, value));
    match study_label(cell) {
        Some(study) => format!("{name} · {study}"),
        None => name,
    }
}

fn line_names(cells: &[&Cell]) -> Vec<String> {
    distinct(cells.iter().map(|cell| line_name(cell)))
}

/// A metric against the values: one picture for each combination of the other parameters, a line for each store.
fn overlay(
    metric: Metric,
    batches: Option<Batches>,
    cells: &[&Cell],
    along: &FacetAxis,
    others: &[&FacetAxis],
    identities: &Identities,
) -> Option<Chart> {
    let mut combinations = distinct(cells.iter().map(|cell| combination(cell, others)));
    let all = combinations.len();
    combinations.truncate(MOST_COMBINATIONS);
    let of_cell = |cell: &Cell| match metric {
        Metric::OpsPerS => words::shown_rate(cell, batches),
        _ => metric.of_cell(cell),
    };
    let figure = |cell: &Cell| of_cell(cell).filter(|_| cell.verdict.is_ranked());
    let mut facets = Facets::new(along, metric.unit());
    let mut rows = Vec::new();
    for title in &combinations {
        facets.begin(title, "all");
        for name in line_names(cells) {
            let own: Vec<&Cell> = cells
                .iter()
                .copied()
                .filter(|cell| line_name(cell) == name && combination(cell, others) == *title)
                .collect();
            let Some(first) = own.first() else { continue };
            let points: Vec<Point> = own
                .iter()
                .filter_map(|cell| {
                    let it = figure(cell).filter(|it| !it.is_not_reached())?;
                    Some(Point {
                        value: value_of(cell, &along.key)?,
                        figure: it.value,
                        interval: (it.level > 0.0 && it.high.is_finite()).then_some((it.low, it.high)),
                    })
                })
                .collect();
            facets.line(&name, identities.line(first), points);
            for cell in own {
                let it = figure(cell);
                let [value, interval] = figures::pair(it, metric.unit());
                let value = if it.is_some() { value } else { cell.verdict.status.to_string() };
                let at = value_of(cell, &along.key).unwrap_or("–").to_owned();
                rows.push([name.clone(), at, title.clone(), value, interval]);
            }
        }
    }
    let drawn = if all > MOST_COMBINATIONS {
        format!(
            " {MOST_COMBINATIONS} of {} combinations are drawn; all are in the table of cells.",
            words::units::whole(all as u64)
        )
    } else {
        String::new()
    };
    facets.chart(
        format!("{} against {}", figures::title_of(metric, batches), along.key),
        format!("One line per store, medians with their intervals. Void cells are left out.{drawn}"),
        DataTable::of(["Store", &along.key, "Others", "Median", "Interval"], rows),
    )
}

fn combination(cell: &Cell, others: &[&FacetAxis]) -> String {
    let each = others.iter().filter_map(|axis| Some(format!("{}={}", axis.key, value_of(cell, &axis.key)?)));
    each.collect::<Vec<_>>().join(" ")
}

/// A grid of pictures, operations (or phases) down, stores across: rate of each timed phase where there are several, else the 99th
/// percentile of each kind of operation. The pictures of one operation have one scale.
fn by_operation(
    cells: &[&Cell],
    batches: Option<Batches>,
    along: &FacetAxis,
    identities: &Identities,
) -> Option<Chart> {
    let phases = timed_phases(cells);
    let (names, unit, what): (Vec<String>, Unit, String) = if phases.len() > 1 {
        (phases, Unit::PerSecond, format!("{} of each phase", figures::rate_title(batches)))
    } else {
        let operations: BTreeSet<&String> = cells.iter().flat_map(|cell| cell.latency_ns.by_operation.keys()).collect();
        (
            operations.into_iter().cloned().collect(),
            Unit::Nanoseconds,
            "99th percentile of response time by operation".into(),
        )
    };
    let stores = line_names(cells);
    if names.len() < 2 || names.len() * stores.len() > MOST_FACETS {
        return None;
    }
    let figure = |cell: &Cell, name: &str| match unit {
        Unit::PerSecond => phase_rate(cell, name, batches),
        _ => cell.latency_ns.by_operation.get(name).filter(|it| it.asked_n() > 0)?.of_asked().p99.map(|ns| ns as f64),
    };
    let mut facets = Facets::new(along, unit);
    // A row of more pictures than this breaks: then the stores of an operation share one.
    let apart = stores.len() <= MOST_ACROSS;
    facets.columns = if apart { stores.len() } else { 2 };
    facets.legend = !apart;
    let mut rows = Vec::new();
    for name in &names {
        if !apart {
            facets.begin(name, name);
        }
        for store in &stores {
            if apart {
                facets.begin(&format!("{name} · {store}"), name);
            }
            let own: Vec<&Cell> =
                cells.iter().copied().filter(|cell| line_name(cell) == *store && cell.verdict.is_ranked()).collect();
            let Some(first) = own.first() else { continue };
            let points: Vec<Point> = own
                .iter()
                .filter_map(|cell| {
                    Some(Point { value: value_of(cell, &along.key)?, figure: figure(cell, name)?, interval: None })
                })
                .collect();
            let row =
                |it: &Point<'_>| [store.clone(), name.clone(), it.value.to_owned(), figures::value(it.figure, unit)];
            rows.extend(points.iter().map(row));
            facets.line(store, identities.line(first), points);
        }
    }
    let note = match apart {
        true => "Operations down, stores across; the charts of one operation share a scale.",
        false => "One chart per operation, one line per store.",
    };
    let table = DataTable::of(["Store", "Operation", &along.key, "Median"], rows);
    facets.chart(format!("{what}, against {}", along.key), note.into(), table)
}

fn timed_phases(cells: &[&Cell]) -> Vec<String> {
    let phases = cells.iter().flat_map(|cell| cell.counted()).flat_map(|trial| &trial.phases);
    distinct(phases.filter(|phase| phase.timed && phase.operations > 0).map(|phase| phase.name.clone()))
}

/// Median over trials of a phase's rate.
fn phase_rate(cell: &Cell, name: &str, batches: Option<Batches>) -> Option<f64> {
    let of_phase = |trial: &study::TrialRecord| {
        let phase = trial.phases.iter().find(|phase| phase.name == name && phase.elapsed_s > 0.0)?;
        let done = if batches.is_some() && phase.records > 0 { phase.records } else { phase.operations };
        Some(done as f64 / phase.elapsed_s)
    };
    stats::median(&cell.counted().filter_map(of_phase).collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::line_names;
    use study::Cell;

    #[test]
    fn values_of_a_varied_option_are_one_line_however_its_key_is_written() {
        for key in ["connections", "redis.connections"] {
            let cell = |value: &str| Cell {
                store: format!("redis,connections={value},io-threads=2"),
                varied: [(key.to_owned(), value.to_owned())].into(),
                ..Cell::default()
            };
            let (one, four) = (cell("1"), cell("4"));
            assert_eq!(line_names(&[&one, &four]), ["redis,io-threads=2"]);
        }
    }
}
