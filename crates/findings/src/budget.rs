//! Where the time of an operation goes, by difference with the baselines.

mod chart;
mod sentences;

use crate::block::Block;
use crate::chart::{BarPart, Bars, Sketch};
use crate::finding::{Arrangement, Finding};
use crate::identity::label;
use crate::view::{Grouped, View};
pub use sentences::{carries_batches, sentence};
use std::borrow::Cow;
use study::{Budget, BudgetLayer, BudgetPart, Cell, Class};
use words::units;

/// Sentences on one part at most.
const MOST_SENTENCES: usize = 12;

/// A cell with its budget.
type Budgeted<'a> = (&'a Cell, Cow<'a, Budget>);

pub(crate) fn find(view: &View<'_>) -> Option<Finding> {
    Some(Finding {
        id: "budget",
        title: "Cost budget",
        intro: "Where the time of an operation goes, by difference with the baselines. Generator: kvtrial and the job, with nothing kept. Client: \
                work on kept values, as a map in memory needs it. Wire: codec, system calls and socket, to a minimal server. Store: \
                the rest. If a baseline is missing, one bar stands for two layers, and says so."
            .into(),
        charts: Arrangement::Below,
        parts: view.by_part(|it| blocks(it, view)),
    })
}

fn blocks(it: &Grouped<'_>, view: &View<'_>) -> Vec<Block> {
    let sentence = |(cell, budget): &Budgeted<'_>| sentence(&label(cell), cell, budget);
    let budgeted = budgeted(it.cells());
    let best = best(it).filter(|best| budgeted.iter().any(|(cell, _)| std::ptr::eq(*cell, *best)));
    let (first, others): (Vec<&Budgeted<'_>>, Vec<&Budgeted<'_>>) =
        budgeted.iter().partition(|(cell, _)| best.is_some_and(|best| std::ptr::eq(*cell, best)));
    let sketch = bars(it).map(Block::Sketch);
    let first = first.into_iter().map(|one| Block::plain(sentence(one)));
    let others = others.into_iter().take(MOST_SENTENCES - 1).map(|one| Block::detail(sentence(one)));
    let chart = view.charts(|| chart::chart(&budgeted, it.label(), view.batches));
    sketch.into_iter().chain(first).chain(others).chain(chart).collect()
}

/// The store most readers ask about: the best server, else the best library.
fn best<'a>(it: &Grouped<'a>) -> Option<&'a Cell> {
    let listed = || it.groups.iter().flat_map(|group| &group.cells).filter(|ranked| ranked.rank.is_listed());
    let best = |class: Class| listed().find(|ranked| ranked.cell.class == class).map(|ranked| ranked.cell);
    best(Class::Network).or_else(|| best(Class::Embedded))
}

/// The cell's budget: the one in the study, or what its cells come to where an older study has none.
fn budget<'a>(cell: &'a Cell, cells: &[&Cell]) -> Option<Cow<'a, Budget>> {
    cell.budget.as_ref().map(Cow::Borrowed).or_else(|| analysis::budget(cell, cells).map(Cow::Owned))
}

/// The cells of one part that have a budget, quickest first; baselines and void cells have none here.
fn budgeted<'a>(cells: &[&'a Cell]) -> Vec<Budgeted<'a>> {
    let mut budgeted: Vec<Budgeted<'a>> = cells
        .iter()
        .filter(|cell| !cell.baseline && cell.verdict.is_ranked())
        .filter_map(|&cell| Some((cell, budget(cell, cells)?)))
        .collect();
    budgeted.sort_by(|a, b| a.1.time_per_operation_ns.value.total_cmp(&b.1.time_per_operation_ns.value));
    budgeted
}

/// A bar for each ranked store that has a budget, in the order of the ranking.
fn bars(it: &Grouped<'_>) -> Option<Sketch> {
    let ranked = it.groups.iter().flat_map(|group| &group.cells).filter(|ranked| ranked.rank.is_listed());
    let budgets: Vec<Budgeted<'_>> =
        ranked.filter_map(|ranked| Some((ranked.cell, budget(ranked.cell, it.cells())?))).collect();
    let has_batches = budgets.iter().any(|(cell, _)| carries_batches(cell));
    let operation = if has_batches { "operation (a batch)" } else { "operation" };
    let legend = BudgetLayer::ALL.iter().filter_map(|layer| Some((*layer, layer_name(*layer, &budgets)?)));
    let row = |(cell, budget): &Budgeted<'_>| {
        let part = |part: &BudgetPart| BarPart { layer: outermost(part), length: part.bar_ns };
        let time = units::duration(budget.time_per_operation_ns.value * 1e-9);
        (cell.store.clone(), time, budget.parts.iter().map(part).collect())
    };
    let bars = Bars {
        title: format!("Time per {operation}"),
        legend: legend.collect(),
        rows: budgets.iter().map(row).collect(),
    };
    (!bars.rows.is_empty()).then_some(Sketch::Bars(bars))
}

/// The names of the parts that are drawn as this layer: `store or wire + store`.
fn layer_name(layer: BudgetLayer, budgets: &[Budgeted<'_>]) -> Option<String> {
    let parts = budgets.iter().flat_map(|(_, budget)| &budget.parts);
    let mut names: Vec<String> = parts.filter(|part| outermost(part) == layer).map(BudgetPart::name).collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names.dedup();
    (!names.is_empty()).then(|| names.join(" or "))
}

/// The layer a part is drawn as: of several that no baseline splits, the last.
fn outermost(part: &BudgetPart) -> BudgetLayer {
    part.layers.last().copied().unwrap_or(BudgetLayer::Store)
}
