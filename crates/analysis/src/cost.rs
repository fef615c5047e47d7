//! What a store costs over the baselines.

use crate::Metric;
use study::{BudgetLayer, Cell, Quantity};

/// Returns the baseline cell of a layer among these cells (those of one part), if it can be compared with: not void, and with a time.
pub fn baseline<'a>(cells: &[&'a Cell], layer: BudgetLayer) -> Option<&'a Cell> {
    let of_layer = |cell: &&&Cell| cell.layer() == Some(layer);
    cells.iter().find(of_layer).copied().filter(|cell| cell.verdict.is_ranked() && cell.makespan_s.is_some())
}

/// Returns how many times the baseline's time a cell took; of the time per operation where the run had a fixed duration. `None` for void
/// cells, and under open loop, where the schedule decides how long it takes.
pub fn cost(cell: &Cell, baseline: Option<&Cell>) -> Option<f64> {
    let figure = |cell: &Cell, metric: Metric| metric.of_cell(cell).map(|it| it.value).filter(|value| *value > 0.0);
    let baseline = baseline.filter(|_| cell.verdict.is_ranked())?;
    match Metric::ranking(cell) {
        Metric::OpsPerS => Some(figure(baseline, Metric::OpsPerS)? / figure(cell, Metric::OpsPerS)?),
        Metric::Makespan => Some(figure(cell, Metric::Makespan)? / figure(baseline, Metric::Makespan)?),
        _ => None,
    }
}

/// Returns the longer arm of an interval as a share of the value (it can exceed 1); `None` without an interval.
pub fn spread(quantity: &Quantity) -> Option<f64> {
    let arm = (quantity.high - quantity.value).max(quantity.value - quantity.low);
    (quantity.level > 0.0 && quantity.value > 0.0).then(|| arm / quantity.value)
}
