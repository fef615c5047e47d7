//! Why cells are void or degraded, as text.

use crate::layout::{Colour, Style, paragraph};
use study::{Cell, Reason, ReasonKind, Status, Study, Verdict};
use words::{advice, meaning, remedy, units};

/// Says why a cell is void, degraded or was not run, beneath its row: what and how often, the first example, what to do. A reason that is
/// the same for many cells is printed once, beneath the table.
pub(crate) fn of_cell(cell: &Cell, widespread: &[ReasonKind], colour: Colour) -> String {
    let own = cell.verdict.reasons.iter().filter(|reason| !widespread.contains(&reason.kind));
    own.map(|reason| paragraphs(reason, remedy(cell, reason), "", 5, colour)).collect()
}

fn paragraphs(reason: &Reason, remedy: &str, whom: &str, indent: usize, colour: Colour) -> String {
    let style = if reason.kind.status() == Status::Void { Style::Bad } else { Style::Warning };
    let example = if reason.example.is_empty() { String::new() } else { format!(": {}", reason.example) };
    let what = format!("{whom}{}{example}", sentence(&meaning(reason)));
    let what = paragraph(&what, indent, indent + 2, style, colour);
    what + &paragraph(&format!("→ {remedy}"), indent + 2, indent + 4, Style::Plain, colour)
}

/// Whether a reason stops all cells that have not run yet, not just one.
fn stops_all(kind: ReasonKind) -> bool {
    matches!(kind, ReasonKind::NoTrial | ReasonKind::Interrupted | ReasonKind::StudyStopped)
}

/// Kinds of reasons that more than two cells share and that say nothing about a store: what degrades (the machine), and what ended
/// the study.
pub(crate) fn widespread(study: &Study) -> Vec<ReasonKind> {
    let shared = |kind: &ReasonKind| kind.status() == Status::Degraded || stops_all(*kind);
    let reasons = study.cells.iter().flat_map(|cell| &cell.verdict.reasons);
    let mut kinds: Vec<ReasonKind> = reasons.map(|reason| reason.kind).filter(shared).collect();
    kinds.sort_unstable();
    kinds.chunk_by(|a, b| a == b).filter(|cells| cells.len() > 2).map(|cells| cells[0]).collect()
}

/// Says what degraded many cells or kept them from running, with how many, and the first example.
pub(crate) fn of_many(study: &Study, widespread: &[ReasonKind], colour: Colour) -> String {
    let mut text = String::new();
    for &kind in widespread {
        let of_kind = |cell: &&Cell| cell.verdict.reasons.iter().any(|reason| reason.kind == kind);
        let cells = study.cells.iter().filter(of_kind).count();
        let all = Verdict::of(
            study.cells.iter().flat_map(|cell| &cell.verdict.reasons).filter(|it| it.kind == kind).cloned(),
        );
        let what = if stops_all(kind) { "Not run" } else { "Degraded" };
        let whom =
            format!("{what}, {} of {} rows. ", units::whole(cells as u64), units::whole(study.cells.len() as u64));
        text += &all
            .reasons
            .iter()
            .map(|reason| paragraphs(reason, advice(reason.kind).1, &whom, 1, colour))
            .collect::<String>();
    }
    text
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
