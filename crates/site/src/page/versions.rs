//! One store over its versions, as bars.

use super::figures::bar;
use crate::page::figures::Shares;
use crate::versions::VersionHistory;
use analysis::Better;
use findings::figures;
use maud::{Markup, html};

/// Returns the versions of a store, and those with which something changed.
pub(super) fn changes(history: &VersionHistory<'_>) -> Markup {
    let metric = history.metric;
    let figures: Vec<Option<study::Quantity>> = history.results.iter().map(|(_, cell)| metric.of_cell(cell)).collect();
    let values = || figures.iter().flatten().map(|it| it.value);
    let is_less_better = metric.better() == Better::Lower;
    let best = if is_less_better { values().fold(f64::INFINITY, f64::min) } else { values().fold(0.0, f64::max) };
    let share = |it: f64| if is_less_better { best / it } else { it / best }.clamp(0.0, 1.0);
    let shares = |it: study::Quantity| {
        let (one, other) = (share(it.low), share(it.high));
        Shares { value: share(it.value), low: one.min(other), high: one.max(other) }
    };
    html! {
        h3 { (history.store) " " small { "on " (history.key.job) " · " (history.key.class) " · " (history.key.machine) } }
        table.bars { tbody { @for (at, (_, cell)) in history.results.iter().enumerate() {
            tr {
                th scope="row" { (cell.store_version) }
                td.num { (figures[at].map_or("–".into(), |it| figures::value(it.value, metric.unit()))) }
                td.wide { (bar(figures[at].map(shares))) }
                td.change { (change(history, &cell.store_version)) }
            }
        } } }
        @if history.changes.is_empty() { p.note { "No change is shown between them." } }
    }
}

/// What changed with a version.
fn change(history: &VersionHistory<'_>, version: &str) -> Markup {
    let changed = history.changes.iter().find(|change| change.to == version);
    let ratio = words::units::ratio;
    html! {
        @if let Some(it) = changed.and_then(|change| change.better) {
            @let class = if it.value < 1.0 { "mark bad" } else { "mark good" };
            span class=(class) { (ratio(it.value)) " as good as before (" (ratio(it.low)) " to " (ratio(it.high)) ")" }
        }
    }
}
