//! The table of what stores still held after crashes.

use analysis::Unit;
use findings::figures;
use maud::{Markup, html};
use study::{Crash, CrashCase, Promise};
use words::units;

pub(super) fn table(crash: &Crash) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Table of crashes" {
            table #crash-table {
                caption { "Every level of every store: what was found after its crashes" }
                thead { tr {
                    th scope="col" { "Store" } th scope="col" { "Level" } th scope="col" { "Promise" }
                    th.num scope="col" { "Cuts" } th.num scope="col" { "Acknowledged" }
                    th.num scope="col" { "Lost" } th.num scope="col" { "Oldest lost" }
                    th.num scope="col" { "Torn" } th.num scope="col" { "Resurrected" } th.num scope="col" { "Invented" }
                    th.num scope="col" { "Holes" } th.num scope="col" { "Not started" }
                    th.num scope="col" { "Recovery" } th.num scope="col" { "May still break" }
                } }
                tbody { @for case in &crash.cases { (row(case)) } }
            }
        }
        p.note {
            "Lost: acknowledged, and nothing of it is there. Torn: checksum or length is wrong. Resurrected: back after an acknowledged delete. \
             Invented: never written. Holes: lost, though a later write of the same client is there. May still break: the largest share of crashes \
             these cuts cannot rule out, at 95 %."
        }
    }
}

fn row(case: &CrashCase) -> Markup {
    let found = case.found();
    let is_bad = |count: u64| count > 0 && case.promise == Promise::Broken;
    let count = |count: u64| html! { td.num { @if is_bad(count) { strong.bad { (units::whole(count)) } } @else { (units::whole(count)) } } };
    html! {
        tr {
            th scope="row" {
                (case.store)
                @if !case.product.is_empty() { br; span.note { (case.product) " " (case.store_version) } }
            }
            td { (case.level.map_or("–", study::Durability::name)) }
            td { span class=(format!("status {}", style(case.promise))) { (findings::crash::outcome(case)) } }
            td.num { (case.cuts.len()) }
            td.num { (units::whole(found.acknowledged)) }
            (count(found.lost))
            td.num { (found.oldest_lost_s.map_or("–".into(), units::duration)) }
            (count(found.torn)) (count(found.resurrected)) (count(found.invented)) (count(found.holes)) (count(case.not_started() as u64))
            td.num {
                @match case.recovery_s {
                    None => "–",
                    Some(it) => { (figures::value(it.value, Unit::Seconds)) br; span.note { "n = " (it.n) } }
                }
            }
            td.num { (case.not_ruled_out.map_or("–".into(), |share| format!("{:.0} %", share * 100.0))) }
        }
    }
}

/// The class of the verdict that looks alike.
fn style(promise: Promise) -> &'static str {
    match promise {
        Promise::Kept => "valid",
        Promise::Broken => "void",
        Promise::NotShown | Promise::NothingToShow => "not_run",
    }
}
