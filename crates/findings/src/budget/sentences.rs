//! Where the time per operation goes, in sentences.

use study::{Budget, BudgetPart, Cell, SlowBaseline};
use words::units;

/// Returns a budget in words, of a cell called `name`: `On redis-unix an operation takes 9.13 µs: 103 ns generator (null), 1.57 µs client
/// (ram), 5.12 µs wire (echo-unix), 2.34 µs store.`
pub fn sentence(name: &str, cell: &Cell, budget: &Budget) -> String {
    let operation = if carries_batches(cell) { "a batch" } else { "an operation" };
    let last = budget.parts.len().saturating_sub(1);
    let parts: Vec<String> = budget.parts.iter().enumerate().map(|(at, part)| told(part, at == last)).collect();
    let whole = units::duration(budget.time_per_operation_ns.value * 1e-9);
    let slow =
        |base: &SlowBaseline| format!("{} ({})", base.store, units::duration(base.time_per_operation_ns.value * 1e-9));
    let slow: Vec<String> = budget.too_slow.iter().map(slow).collect();
    let unsplit = match slow.len() {
        0 => String::new(),
        _ => format!(
            " It cannot be split further, because a baseline was slower than what it is part of: {}.",
            slow.join(", ")
        ),
    };
    format!("On {name} {operation} takes {whole}: {}.{unsplit}", parts.join(", "))
}

/// A part, with the baseline it was measured by; the last one is the store's own. Its time is the length of its bar, so that
/// the parts add up to the whole.
fn told(part: &BudgetPart, last: bool) -> String {
    let name = part.name();
    let measured_by = if last { String::new() } else { format!(" ({})", part.of) };
    if !part.separated {
        return format!("{name}{measured_by} without measurable effect");
    }
    format!("{} {name}{measured_by}", units::duration(part.bar_ns * 1e-9))
}

/// Returns whether an operation of the cell carries several records. Of the job events a single one does: all others store a counter each.
pub fn carries_batches(cell: &Cell) -> bool {
    cell.job != "events" && cell.counted().any(|trial| analysis::records_per_operation(trial).is_some())
}

#[cfg(test)]
mod tests {
    use super::sentence;
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

    fn said(cell: &Cell) -> String {
        cell.budget.as_ref().map(|budget| sentence(&cell.store, cell, budget)).unwrap_or_default()
    }

    #[test]
    fn a_budget_is_told_in_words() {
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
            said(&redis),
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
            said(&unsplit),
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
        assert!(said(&far).ends_with("wire + store without measurable effect."));
    }
}
