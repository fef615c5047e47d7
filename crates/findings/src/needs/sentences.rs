//! Who meets the needs, who does not, and of whom nothing is shown, in words.

use crate::block::Tone;
use crate::identity::label;
use analysis::{DiskBound, Need, NeedKind, Unit, meets_all};
use study::{Cell, Meets, NeedShown, Study};
use words::{joined, units};

/// Returns the figure that was held against a need, as text; `None` where there is none.
pub(super) fn figure(need: &Need, shown: &NeedShown) -> Option<String> {
    let value = shown.seen?.value;
    Some(match (need.kind, need.unit()) {
        (NeedKind::Rate(_), _) => format!("{}/s", units::count(value)),
        (NeedKind::Disk(DiskBound::Times(_)), _) => format!("{}x", units::count(value)),
        (_, Some(Unit::Nanoseconds)) => units::duration(value * 1e-9),
        (_, Some(Unit::Seconds)) => units::duration(value),
        (_, Some(Unit::Bytes)) => units::bytes(value.round() as u64),
        (_, Some(Unit::Share)) => units::share(value),
        _ => units::count(value),
    })
}

/// Says which stores meet all needs; of none, which comes nearest.
pub(crate) fn verdict(cells: &[&Cell]) -> String {
    let meeting: Vec<String> = of_ruling(cells, Meets::Met).map(label).collect();
    let asked = asked(cells[0]);
    if !meeting.is_empty() {
        let verb = if meeting.len() == 1 { "meets" } else { "meet" };
        return format!("{} {verb} {asked}.", joined(&meeting));
    }
    let whom = if cells.len() == 1 { label(cells[0]) } else { "No store".into() };
    let not = if cells.len() == 1 { "is not shown to meet" } else { "is shown to meet" };
    let nearest = nearest(cells).filter(|_| cells.len() > 1);
    let nearest = nearest.map_or(String::new(), |cell| {
        let held = cell.meets.iter().filter(|one| one.meets == Meets::Met).count();
        format!(" Nearest is {}, with {held} of {}.", label(cell), cell.meets.len())
    });
    format!("{whom} {not} {asked}.{nearest}")
}

/// Says within what memory servers ran.
pub(super) fn limit(study: &Study) -> Option<String> {
    let limit = units::bytes(study.server_memory_bytes?);
    Some(format!(
        "Every server ran within a control group of {limit}, files it has in memory included: one that needs more is killed. Libraries were measured only."
    ))
}

/// Returns the weight of that.
pub(super) fn tone(cells: &[&Cell]) -> Tone {
    if of_ruling(cells, Meets::Met).next().is_some() { Tone::Good } else { Tone::Bad }
}

/// Says which stores miss a need, and by what.
pub(super) fn missed(cells: &[&Cell]) -> Option<String> {
    told("Not", of_ruling(cells, Meets::Missed), Meets::Missed)
}

/// Says of which stores it is not shown, and why.
pub(super) fn not_shown(cells: &[&Cell]) -> Option<String> {
    let more = if has_figures(cells) { " More trials (--repeats) may tell." } else { "" };
    told("Not shown", of_ruling(cells, Meets::NotShown), Meets::NotShown).map(|told| told + more)
}

/// Returns whether figures of which nothing is shown were seen: more trials may tell.
pub(crate) fn has_figures(cells: &[&Cell]) -> bool {
    let is_open = |one: &NeedShown| one.meets == Meets::NotShown && one.seen.is_some();
    cells.iter().any(|cell| cell.meets.iter().any(is_open))
}

fn of_ruling<'c>(cells: &'c [&'c Cell], ruling: Meets) -> impl Iterator<Item = &'c Cell> {
    cells.iter().copied().filter(move |cell| meets_all(&cell.meets) == ruling)
}

fn asked(cell: &Cell) -> String {
    match cell.meets.as_slice() {
        [one] => one.need.clone(),
        [one, other] => format!("both needs ({} and {})", one.need, other.need),
        all => format!("all {} needs", units::whole(all.len() as u64)),
    }
}

/// The store with the most needs met; of several the one whose worst margin is best.
fn nearest<'c>(cells: &[&'c Cell]) -> Option<&'c Cell> {
    let held = |cell: &Cell| cell.meets.iter().filter(|one| one.meets == Meets::Met).count();
    let worst = |cell: &Cell| cell.meets.iter().filter_map(|one| one.margin).fold(f64::INFINITY, f64::min);
    let ranked = cells.iter().copied().filter(|cell| cell.verdict.is_ranked() && held(cell) > 0);
    ranked.max_by(|a, b| held(a).cmp(&held(b)).then(worst(a).total_cmp(&worst(b))))
}

/// `Not: redb (p99<5ms: 9.3 ms), fjall (disk<5x: 7.1x).`
fn told<'c>(head: &str, cells: impl Iterator<Item = &'c Cell>, ruling: Meets) -> Option<String> {
    let each: Vec<String> = cells.map(|cell| format!("{} ({})", label(cell), whys(cell, ruling))).collect();
    (!each.is_empty()).then(|| format!("{head}: {}.", each.join(", ")))
}

/// Says which needs of a cell have this ruling, and what was seen.
pub(crate) fn whys(cell: &Cell, ruling: Meets) -> String {
    whys_of(&cell.meets, ruling)
}

/// Says which of these have this ruling, and what was seen.
pub(crate) fn whys_of(shown: &[NeedShown], ruling: Meets) -> String {
    let of_ruling: Vec<&NeedShown> = shown.iter().filter(|one| one.meets == ruling).collect();
    // A cell that was void or not run says so once.
    if let [first, more @ ..] = of_ruling.as_slice()
        && !more.is_empty()
        && of_ruling.iter().all(|one| one.seen.is_none() && one.because == first.because)
    {
        return first.because.clone();
    }
    let each = of_ruling.iter().map(|one| {
        let figure = one.need.parse().ok().and_then(|need: Need| figure(&need, one));
        format!("{}: {}", one.need, figure.unwrap_or_else(|| one.because.clone()))
    });
    each.collect::<Vec<_>>().join("; ")
}
