//! Where the time per operation goes, as a bar per store and as a sentence.

use crate::layout::{Colour, FIXED_BLANK, Style, columns, paragraph, width};
use std::borrow::Cow;
use study::{Budget, BudgetLayer, BudgetPart, Cell};
use words::budget::{self, carries_batches};
use words::units;

/// Columns of a bar: the whole time of an operation.
const BAR: usize = 40;

/// Columns of a store's name at most.
const NAME: usize = 24;

/// The cell's budget: the one in the study, or what its cells come to where an older study has none.
fn budget<'a>(cell: &'a Cell, cells: &[&Cell]) -> Option<Cow<'a, Budget>> {
    cell.budget.as_ref().map(Cow::Borrowed).or_else(|| analysis::budget(cell, cells).map(Cow::Owned))
}

/// Returns a bar for each ranked store that has a budget, in the order given, beneath what its signs mean.
pub(crate) fn bars(ranked: &[&Cell], cells: &[&Cell], colour: Colour) -> String {
    let budgets: Vec<(&Cell, Cow<'_, Budget>)> =
        ranked.iter().filter_map(|cell| Some((*cell, budget(cell, cells)?))).collect();
    if budgets.is_empty() {
        return String::new();
    }
    let operation =
        if budgets.iter().any(|(cell, _)| carries_batches(cell)) { "operation (a batch)" } else { "operation" };
    let parts = || budgets.iter().flat_map(|(_, budget)| &budget.parts);
    let legend: Vec<String> = BudgetLayer::ALL
        .iter()
        .filter_map(|layer| {
            let mut names: Vec<String> =
                parts().filter(|part| outermost(part) == *layer).map(BudgetPart::name).collect();
            names.sort_by_key(|name| (name.len(), name.clone()));
            names.dedup();
            let drawn = !names.is_empty();
            drawn.then(|| format!("{}{FIXED_BLANK}{}", sign(*layer), names.join(" or ")))
        })
        .collect();
    let mut text = paragraph(&format!("Time per {operation}: {}", legend.join(", ")), 1, 3, Style::Plain, colour);
    let name = budgets.iter().map(|(cell, _)| width(&short(cell))).max().unwrap_or_default();
    let most = BAR.min(columns().saturating_sub(name + 15));
    for (cell, budget) in &budgets {
        let time = units::duration(budget.time_per_operation_ns.value * 1e-9);
        text += &format!("   {:name$}  {time:>8}  {}\n", short(cell), bar(budget, most));
    }
    text
}

fn short(cell: &Cell) -> String {
    let name = &cell.store;
    if width(name) <= NAME { name.clone() } else { name.chars().take(NAME - 1).chain(['…']).collect() }
}

/// The layer a part is drawn as: of several that no baseline splits, the last.
fn outermost(part: &BudgetPart) -> BudgetLayer {
    part.layers.last().copied().unwrap_or(BudgetLayer::Store)
}

fn sign(layer: BudgetLayer) -> char {
    match layer {
        BudgetLayer::Generator => '·',
        BudgetLayer::Client => '░',
        BudgetLayer::Wire => '▒',
        BudgetLayer::Store => '█',
    }
}

/// Each part rounds its end, not its length, so that the bar is as long as the sum.
/// The bar, `most` columns for the whole.
fn bar(budget: &Budget, most: usize) -> String {
    let whole: f64 = budget.parts.iter().map(|part| part.bar_ns).sum();
    let (mut bar, mut up_to_ns) = (String::new(), 0.0);
    for part in &budget.parts {
        up_to_ns += part.bar_ns;
        let end = (most as f64 * up_to_ns / whole.max(f64::MIN_POSITIVE)).round() as usize;
        bar.extend(std::iter::repeat_n(sign(outermost(part)), end.saturating_sub(width(&bar))));
    }
    bar
}

/// Returns the sentence on a cell, if it has a budget.
pub(crate) fn sentence(cell: &Cell, cells: &[&Cell]) -> Option<String> {
    Some(budget::sentence(&cell.store, cell, budget(cell, cells)?.as_ref()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{bars, sentence};
    use crate::layout::{Colour, width};
    use study::{Budget, BudgetLayer, BudgetPart, Cell, Quantity, SlowBaseline};

    fn part(layers: &[BudgetLayer], of: &str, ns: f64, bar_ns: f64) -> BudgetPart {
        BudgetPart {
            layers: layers.to_vec(),
            of: of.into(),
            beyond: None,
            time_ns: Quantity { value: ns, low: ns - 10.0, high: ns + 10.0, level: 0.75, n: 3 },
            separated: ns > 10.0,
            bar_ns,
        }
    }

    fn cell(store: &str, parts: Vec<BudgetPart>) -> Cell {
        let whole = parts.iter().map(|part| part.bar_ns).sum();
        let budget = Budget { time_per_operation_ns: Quantity::single(whole), parts, ..Budget::default() };
        Cell { store: store.into(), budget: Some(budget), ..Cell::default() }
    }

    #[test]
    fn a_budget_is_told_in_words_and_drawn_as_a_bar_of_one_length() {
        let redis = cell(
            "redis-unix,durability=none",
            vec![
                part(&[BudgetLayer::Generator], "null", 100.0, 100.0),
                part(&[BudgetLayer::Client], "ram", 1570.0, 1570.0),
                part(&[BudgetLayer::Wire], "echo-unix", 5120.0, 5120.0),
                part(&[BudgetLayer::Store], "redis-unix,durability=none", 2340.0, 2340.0),
            ],
        );
        assert_eq!(
            sentence(&redis, &[]).unwrap(),
            "On redis-unix,durability=none an operation takes 9.13 µs: 100 ns generator (null), 1.57 µs client (ram), \
             5.12 µs wire (echo-unix), 2.34 µs store."
        );
        let mut unsplit = cell(
            "redis-unix",
            vec![
                part(&[BudgetLayer::Generator], "null", 100.0, 100.0),
                part(&[BudgetLayer::Client], "ram", 1600.0, 1600.0),
                part(&[BudgetLayer::Wire, BudgetLayer::Store], "redis-unix", 31_700.0, 31_700.0),
            ],
        );
        if let Some(budget) = &mut unsplit.budget {
            let time_per_operation_ns = Quantity::single(203_000.0);
            budget.too_slow = vec![SlowBaseline { store: "echo-unix".into(), time_per_operation_ns }];
        }
        assert_eq!(
            sentence(&unsplit, &[]).unwrap(),
            "On redis-unix an operation takes 33.4 µs: 100 ns generator (null), 1.60 µs client (ram), 31.7 µs wire + store. \
             It cannot be split further, because a baseline was slower than what it is part of: echo-unix (203 µs)."
        );
        let far = cell(
            "redis://10.0.0.5:6379",
            vec![
                part(&[BudgetLayer::Generator], "null", 100.0, 100.0),
                part(&[BudgetLayer::Wire, BudgetLayer::Store], "redis", 5.0, 0.0),
            ],
        );
        assert!(sentence(&far, &[]).unwrap().ends_with("wire + store without measurable effect."));
        let text = bars(&[&redis, &far], &[], Colour::Never);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].trim(), "Time per operation: · generator, ░ client, ▒ wire, █ store or wire + store");
        let drawn = |line: &str, sign: char| line.chars().filter(|c| *c == sign).count();
        assert_eq!([drawn(lines[1], '░'), drawn(lines[1], '▒'), drawn(lines[1], '█')], [7, 23, 10]);
        assert_eq!(drawn(lines[2], '·'), 40, "a bar is never negative: {}", lines[2]);
        assert!(lines.iter().all(|line| width(line) <= 80), "{text}");
    }
}
