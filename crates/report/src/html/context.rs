//! Where and with what it was measured: the machine, the input, the stores' settings, whether the instrument was checked.

use crate::view::{Named, Report};
use findings::label;
use maud::{Markup, html};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use study::{Cell, CrashCase, HostFacts, Study};

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
        ("Memory", words::units::bytes(host.memory_bytes)),
        ("System", host.kernel.clone()),
        ("Virtual machine", known(&host.virtualisation)),
        ("Microcode", known(&host.microcode)),
        ("Processor's weaknesses", weaknesses(host)),
        ("Frequency governor", known(&host.governor)),
        ("Idle processors", known(&host.idle)),
        ("File system", known(&host.filesystem)),
        ("Stores' directory", host.directory.clone()),
        ("Huge pages", known(&host.huge_pages)),
        ("Clock", host.clock.clone()),
        ("Begun", study.started_at.clone()),
        ("Seed", study.seed.to_string()),
        ("Trials per cell", trials(study)),
        ("kvtrial", study.kvtrial.clone()),
    ]
    .map(|(name, fact)| (name.to_owned(), fact))
    .into();
    facts.extend(study.input.iter().map(|(name, value)| (format!("Input: {}", name.replace('_', " ")), plain(value))));
    facts.retain(|(_, fact)| !fact.is_empty());
    facts
}

/// Empty where none were planned: a study that only crashed stores.
fn trials(study: &Study) -> String {
    match study.crash {
        Some(_) if study.cells.is_empty() => String::new(),
        _ => format!("{} counted, {} warm-ups", study.repeats, study.warmups),
    }
}

/// What the kernel does about each weakness of the processor, a line each.
fn weaknesses(host: &HostFacts) -> String {
    let all = host.mitigations.iter().flatten().map(|(weakness, said)| format!("{weakness}: {said}"));
    all.collect::<Vec<_>>().join("\n")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn list(facts: &[(String, String)]) -> Markup {
    html! {
        dl {
            @for (name, fact) in facts {
                dt { (name) }
                dd { @if fact.contains('\n') { pre { (fact) } } @else { (fact) } }
            }
        }
    }
}

/// Whether kvtrial was proved right on this machine.
fn instrument(study: &Study) -> Markup {
    let Some(selftest) = &study.selftest else {
        return html! { p.note { "This instrument was not checked here: " code { "kvtrial selftest" } " proves it on a machine." } };
    };
    let failed = selftest.proofs.iter().filter(|proof| !proof.passed).count();
    html! {
        h3 { "The instrument" }
        p {
            @if failed == 0 { "This instrument was checked here (" (selftest.scope) " self-test): all " (selftest.proofs.len()) " proofs held." }
            @else { strong.degraded { (failed) " of " (selftest.proofs.len()) " proofs of this instrument failed here." } }
        }
        p.note { (selftest.checked_at) " · " (selftest.machine) " · " (selftest.build) }
        div.scroll tabindex="0" role="region" aria-label="Self-test" { table {
            caption { "Self-test of kvtrial on this machine" }
            thead { tr { th scope="col" { "Proof" } th scope="col" { "Claim" } th.num scope="col" { "Measured" } th scope="col" { "Result" } } }
            tbody { @for proof in &selftest.proofs { tr {
                th scope="row" { (proof.name) }
                td { (proof.claim) @if !proof.problem.is_empty() { br; span.note { (proof.problem) } } }
                td.num { (proof.measured.map_or("–".into(), |it| format!("{} {}", shown(it), proof.unit))) }
                td { @if proof.passed { span.status.valid { "held" } } @else { span.status.void { "failed" } } }
            } } }
        } }
    }
}

/// Four significant digits.
fn shown(number: f64) -> String {
    let digits = if number == 0.0 { 0 } else { (3 - number.abs().log10().floor() as i32).clamp(0, 6) as usize };
    format!("{number:.digits$}")
}

/// A store as it was really started.
struct Configured<'a> {
    name: String,
    product: &'a str,
    version: &'a str,
    settings: &'a BTreeMap<String, String>,
}

impl<'a> Configured<'a> {
    fn cell(cell: &'a Cell) -> Configured<'a> {
        let (product, version) = (&cell.product, &cell.store_version);
        Configured { name: label(cell), product, version, settings: &cell.store_config }
    }

    fn case(case: &'a CrashCase) -> Configured<'a> {
        let (product, version) = (&case.product, &case.store_version);
        Configured { name: case.name(), product, version, settings: &case.store_config }
    }
}

/// What was really measured and with which settings, each distinct set once.
fn configuration(study: &Study) -> Markup {
    let mut known = BTreeSet::new();
    let cells = study.cells.iter().filter(|cell| !cell.baseline).map(Configured::cell);
    let cases = study.crash.iter().flat_map(|crash| &crash.cases).map(Configured::case);
    let distinct = |it: &Configured<'_>| {
        let settings: Vec<_> = it.settings.iter().collect();
        !it.product.is_empty() && known.insert((it.name.clone(), format!("{settings:?}")))
    };
    let stores: Vec<Configured<'_>> = cells.chain(cases).filter(distinct).take(60).collect();
    if stores.is_empty() {
        return html! {};
    }
    html! {
        section id="configuration" aria-labelledby="configuration-title" {
            h2 id="configuration-title" { "Stores and their settings" }
            p.note { "As the stores themselves report." }
            @for store in stores {
                details {
                    summary { (store.name) ": " (store.product) " " (store.version) }
                    dl { @for (name, value) in store.settings { dt { (name) } dd { (value) } }
                         @if store.settings.is_empty() { dt { "Settings" } dd { "none read back" } } }
                }
            }
        }
    }
}
