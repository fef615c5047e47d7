//! Where the time per operation goes, in sentences.

use crate::units;
use study::{Budget, BudgetPart, Cell, SlowBaseline};

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
