//! What each phase of a job took, one line per cell, where more than one phase is shown.

use crate::layout::{Colour, Style, paragraph};
use analysis::Group;
use study::{Cell, PhaseSummary};
use words::units;

/// Less than this on disk is a directory, a socket or a lock file.
const LEAST_BYTES: u64 = 64 << 10;

/// Rates of the timed phases, times of what was asked of the store as a whole, and the size on disk after either.
pub(crate) fn of_cells(groups: &[Group<'_>], noun: &str, colour: Colour) -> String {
    let cells: Vec<&Cell> = groups.iter().flat_map(|group| group.cells.iter().map(|ranked| ranked.cell)).collect();
    let shown: Vec<(&str, String)> = cells.iter().map(|cell| (cell.store.as_str(), line(cell))).collect();
    if cells.iter().all(|cell| cell.by_phase.iter().filter(|phase| is_shown(phase)).count() < 2) {
        return String::new();
    }
    let width = shown.iter().map(|(store, _)| store.chars().count()).max().unwrap_or(0).min(24);
    let title = format!("By phase: {noun} per second, or time; size on disk");
    let mut text = "\n".to_owned() + &paragraph(&title, 1, 3, Style::Bold, colour);
    for (store, line) in shown.iter().filter(|(_, line)| !line.is_empty()) {
        text += &paragraph(&format!("{store:width$}  {line}"), 1, width + 3, Style::Plain, colour);
    }
    text
}

/// Phases that only verify are not shown.
fn is_shown(phase: &PhaseSummary) -> bool {
    phase.timed || ["compact", "reduce"].contains(&phase.name.as_str())
}

fn line(cell: &Cell) -> String {
    let mut words = Vec::new();
    let mut size = None;
    for phase in cell.by_phase.iter().filter(|phase| is_shown(phase)) {
        let figure = match (phase.timed, phase.records_per_s, phase.elapsed_s) {
            (true, Some(rate), _) if rate.value > 0.0 => format!("{}/s", units::count(rate.value)),
            (_, _, Some(elapsed)) => units::duration(elapsed.value),
            _ => continue,
        };
        let mut word = format!("{} {figure}", phase.name);
        // A store in memory has a directory like every store, and nothing in it.
        let bytes = phase.disk_bytes.map(|bytes| bytes.value as u64).filter(|bytes| *bytes >= LEAST_BYTES);
        if bytes.is_some() && bytes != size && phase.name != "reduce" {
            size = bytes;
            word += &bytes.map(|bytes| format!(", {}", units::bytes(bytes))).unwrap_or_default();
        }
        words.push(word.replace(' ', "\u{a0}"));
    }
    words.join("\u{a0}· ")
}
