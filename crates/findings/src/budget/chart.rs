//! The cost budget: what an operation's time went into, a stacked bar for each cell.

use super::Budgeted;
use crate::chart::{Chart, DataTable, slug};
use crate::draw::axes::{stack, stacked};
use crate::draw::bars::{WIDEST_LINEAR, first, left_out, rows_height};
use crate::figures;
use crate::identity::label;
use analysis::Unit;
use serde_json::{Value, json};
use study::{Budget, BudgetLayer, BudgetPart};
use words::Batches;

/// Colours of bars that are several layers at once.
const TOGETHER: [&str; 3] = ["$m1", "$m2", "$m0"];

/// What the bars' lengths mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Nanoseconds per operation.
    Time,
    /// Percent of the operation's time: where some stores would have no visible bar beside the slowest.
    Share,
}

/// Returns the budgets of one part's cells.
pub(super) fn chart(rows: &[Budgeted<'_>], part: &str, batches: Option<Batches>) -> Option<Chart> {
    let one = if batches.is_some() { "batch" } else { "operation" };
    let (quickest, slowest) = (rows.first()?, rows.last()?);
    let wide = slowest.1.time_per_operation_ns.value > WIDEST_LINEAR * quickest.1.time_per_operation_ns.value;
    let (scale, note) = if wide {
        (
            Scale::Share,
            format!(
                "Percent of the time per {one}. The times themselves differ too much for one chart; they are in the figures."
            ),
        )
    } else {
        (
            Scale::Time,
            format!("Time per {one}: the time of the job divided by their number. The parts of a bar add up to it."),
        )
    };
    Some(Chart {
        id: slug(&format!("budget {part}")),
        title: format!("Where the time per {one} goes"),
        note: note + &left_out(rows.len()),
        description: rows
            .iter()
            .take(8)
            .map(|row| super::sentence(&label(row.0), row.0, &row.1))
            .collect::<Vec<_>>()
            .join(" "),
        height: rows_height(first(rows).len()) + 28,
        option: option(first(rows), scale),
        table: table(rows),
    })
}

/// The parts there are, from the inside out; one bar may be two layers: `wire + store`.
fn names(rows: &[Budgeted<'_>]) -> Vec<String> {
    let mut parts: Vec<&BudgetPart> = rows.iter().flat_map(|(_, budget)| &budget.parts).collect();
    parts.sort_by(|a, b| a.layers.cmp(&b.layers));
    parts.dedup_by(|a, b| a.layers == b.layers);
    parts.into_iter().map(BudgetPart::name).collect()
}

fn colour(name: &str, names: &[String]) -> &'static str {
    let of_layer = |layer: BudgetLayer| match layer {
        BudgetLayer::Generator => "$l0",
        BudgetLayer::Client => "$l1",
        BudgetLayer::Wire => "$l2",
        BudgetLayer::Store => "$l3",
    };
    if let Some(layer) = BudgetLayer::ALL.into_iter().find(|layer| layer.name() == name) {
        return of_layer(layer);
    }
    let together = names.iter().filter(|it| it.contains('+')).position(|it| it == name).unwrap_or_default();
    TOGETHER[together % TOGETHER.len()]
}

fn option(rows: &[Budgeted<'_>], scale: Scale) -> Value {
    let names = names(rows);
    let unit = match scale {
        Scale::Time => "ns",
        Scale::Share => "percent",
    };
    let length = |budget: &Budget, name: &str| {
        let part = budget.parts.iter().find(|part| part.name() == name)?;
        match scale {
            Scale::Time => Some(part.bar_ns),
            Scale::Share => Some(100.0 * part.bar_ns / budget.time_per_operation_ns.value).filter(|it| it.is_finite()),
        }
    };
    let series: Vec<Value> = names
        .iter()
        .map(|name| {
            let data: Vec<Option<f64>> = rows.iter().map(|(_, budget)| length(budget, name)).collect();
            stack(name, json!(data), colour(name, &names))
        })
        .collect();
    let most = (scale == Scale::Share).then_some(100);
    let stores: Vec<String> = rows.iter().map(|(cell, _)| label(cell)).collect();
    stacked(stores, unit, most, &names, series)
}

fn table(rows: &[Budgeted<'_>]) -> DataTable {
    let names = names(rows);
    let part = |budget: &Budget, name: &String| match budget.parts.iter().find(|part| part.name() == *name) {
        None => "–".into(),
        Some(part) if !part.separated => "no measurable effect".into(),
        Some(part) => figures::with_interval(&part.time_ns, Unit::Nanoseconds),
    };
    let row = |(cell, budget): &Budgeted<'_>| {
        let whole = figures::with_interval(&budget.time_per_operation_ns, Unit::Nanoseconds);
        [label(cell), whole].into_iter().chain(names.iter().map(|name| part(budget, name))).collect::<Vec<_>>()
    };
    let columns = ["Store", "Time per operation"].map(str::to_owned).into_iter().chain(names.iter().cloned());
    DataTable::of(columns, rows.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::{chart, names};
    use crate::budget::budgeted;
    use study::{Budget, BudgetLayer, BudgetPart, Cell, Quantity};

    fn cell(store: &str, parts: &[(&[BudgetLayer], f64)]) -> Cell {
        let part = |(layers, ns): &(&[BudgetLayer], f64)| BudgetPart {
            layers: layers.to_vec(),
            of: store.into(),
            time_ns: Quantity::single(*ns),
            separated: true,
            bar_ns: *ns,
            ..BudgetPart::default()
        };
        let whole = Quantity::single(parts.iter().map(|(_, ns)| ns).sum());
        let budget =
            Budget { time_per_operation_ns: whole, parts: parts.iter().map(part).collect(), ..Budget::default() };
        Cell { store: store.into(), budget: Some(budget), verdict: study::Verdict::of([]), ..Cell::default() }
    }

    #[test]
    fn a_bar_that_is_two_layers_has_a_name_and_a_colour_of_its_own() {
        let near = cell(
            "redis",
            &[(&[BudgetLayer::Generator], 100.0), (&[BudgetLayer::Wire], 5000.0), (&[BudgetLayer::Store], 2000.0)],
        );
        let far = cell(
            "redis://far",
            &[(&[BudgetLayer::Generator], 100.0), (&[BudgetLayer::Wire, BudgetLayer::Store], 90_000.0)],
        );
        let cells = [&far, &near];
        assert_eq!(names(&budgeted(&cells)), ["generator", "wire", "wire + store", "store"]);
        let option = chart(&budgeted(&cells), "", None).map(|chart| chart.option).unwrap_or_default();
        let colours: Vec<&str> = option["series"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|it| it["itemStyle"]["color"].as_str())
            .collect();
        let distinct: std::collections::BTreeSet<_> = colours.iter().collect();
        assert_eq!((colours.len(), distinct.len()), (4, 4), "{colours:?}");
        // Stores have `$c0` to `$c7` and `$baseline`: a layer that looks like one would be taken for it.
        let of_stores = |colour: &&&str| colour.starts_with("$c") || **colour == "$baseline";
        assert_eq!(colours.iter().filter(of_stores).count(), 0, "{colours:?}");
    }

    #[test]
    fn stores_a_hundredfold_apart_are_drawn_by_shares_that_end_at_100() {
        let quick = cell("lmdb", &[(&[BudgetLayer::Generator], 100.0), (&[BudgetLayer::Store], 300.0)]);
        let slow = cell("sqlite", &[(&[BudgetLayer::Generator], 100.0), (&[BudgetLayer::Store], 99_900.0)]);
        let option = chart(&budgeted(&[&slow, &quick]), "", None).map(|chart| chart.option).unwrap_or_default();
        assert_eq!(option["series"][0]["data"], serde_json::json!([25.0, 0.1]));
        assert_eq!(option["xAxis"]["max"], 100);
    }
}
