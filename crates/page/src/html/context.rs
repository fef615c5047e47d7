//! Where and with what it was measured: the machine, the input, the stores' settings, whether the instrument was checked.

use crate::identity::label;
use crate::view::{Named, Report};
use maud::{Markup, html};
use serde_json::Value;
use std::collections::BTreeSet;
use study::{Cell, Study};

pub(super) fn sections(report: &Report<'_>) -> Markup {
    html! {
        section id="host" aria-labelledby="host-title" {
            h2 id="host-title" { "Machine and input" }
            @for Named { label, study } in &report.named {
                @if report.named.len() > 1 { h3 { (label) } }
                (list(&machine(study)))
                (instrument(study))
            }
        }
        (configuration(&report.study))
    }
}

fn machine(study: &Study) -> Vec<(String, String)> {
    let host = &study.host;
    let known = |fact: &Option<String>| fact.clone().unwrap_or_default();
    let mut facts: Vec<(String, String)> = [
        ("Processor", host.cpu.clone()),
        ("Processors", if host.cpus > 0 { host.cpus.to_string() } else { String::new() }),
        ("Memory", report::units::bytes(host.memory_bytes)),
        ("System", host.kernel.clone()),
        ("Virtual machine", known(&host.virtualisation)),
        ("Frequency governor", known(&host.governor)),
        ("File system", known(&host.filesystem)),
        ("Stores' directory", host.directory.clone()),
        ("Huge pages", known(&host.huge_pages)),
        ("Clock", host.clock.clone()),
        ("Begun", study.started_at.clone()),
        ("Seed", study.seed.to_string()),
        ("Trials a cell", format!("{} counted, {} warm-ups", study.repeats, study.warmups)),
        ("kvtrial", study.kvtrial.clone()),
    ]
    .map(|(name, fact)| (name.to_owned(), fact))
    .into();
    facts.extend(study.input.iter().map(|(name, value)| (format!("Input: {}", name.replace('_', " ")), plain(value))));
    facts.retain(|(_, fact)| !fact.is_empty());
    facts
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn list(facts: &[(String, String)]) -> Markup {
    html! { dl { @for (name, fact) in facts { dt { (name) } dd { (fact) } } } }
}

/// Whether kvtrial was proved right on this machine.
fn instrument(study: &Study) -> Markup {
    let Some(selftest) = study.more.get("selftest").filter(|it| !it.is_null()) else {
        return html! { p.note { "This instrument was not checked here: " code { "kvtrial selftest" } " proves it on a machine." } };
    };
    let proofs = selftest.get("proofs").and_then(Value::as_array).cloned().unwrap_or_default();
    let passed = |proof: &Value| proof.get("passed").and_then(Value::as_bool) == Some(true);
    let text = |proof: &Value, key: &str| proof.get(key).map(plain).unwrap_or_default();
    let failed = proofs.iter().filter(|proof| !passed(proof)).count();
    html! {
        h3 { "The instrument" }
        p { @if failed == 0 { "This instrument was checked here: all " (proofs.len()) " proofs held." }
            @else { strong.degraded { (failed) " of " (proofs.len()) " proofs of this instrument failed here." } } }
        div.scroll tabindex="0" role="region" aria-label="Self-test" { table {
            caption { "Self-test of kvtrial on this machine" }
            thead { tr { th scope="col" { "Proof" } th scope="col" { "Claim" } th.num scope="col" { "Measured" } th.num scope="col" { "Bound" } th scope="col" { "Result" } } }
            tbody { @for proof in &proofs { tr {
                th scope="row" { (text(proof, "name")) } td { (text(proof, "claim")) }
                td.num { (text(proof, "measured")) " " (text(proof, "unit")) } td.num { (text(proof, "bound")) }
                td { @if passed(proof) { span.status.valid { "held" } } @else { span.status.void { "failed" } } }
            } } }
        } }
    }
}

/// What was really measured and with which settings, each distinct set once.
fn configuration(study: &Study) -> Markup {
    let mut known = BTreeSet::new();
    let distinct = |cell: &&Cell| {
        let settings: Vec<_> = cell.store_config.iter().collect();
        !cell.product.is_empty() && known.insert((label(cell), format!("{settings:?}")))
    };
    let cells: Vec<&Cell> = study.cells.iter().filter(|cell| !cell.baseline).filter(distinct).take(60).collect();
    if cells.is_empty() {
        return html! {};
    }
    html! {
        section id="configuration" aria-labelledby="configuration-title" {
            h2 id="configuration-title" { "Stores and their settings" }
            p.note { "As the stores say themselves." }
            @for cell in cells {
                details {
                    summary { (label(cell)) ": " (cell.product) " " (cell.store_version) }
                    dl { @for (name, value) in &cell.store_config { dt { (name) } dd { (value) } }
                         @if cell.store_config.is_empty() { dt { "Settings" } dd { "none read back" } } }
                }
            }
        }
    }
}
