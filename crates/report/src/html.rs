//! The report as one HTML file. All text goes through the template, which escapes it; what is raw is code and data of our own making.

pub(crate) mod assets;
pub(crate) mod bare;
mod cells;
mod charts;
mod context;
mod data;

pub use assets::THEME;

use crate::downloads::{self, Download};
use crate::notices::{Severity, notices};
use crate::view::Report;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};
use std::borrow::Cow;

impl Report<'_> {
    /// Returns the page: one file that needs nothing else and asks nothing of any network. Embeds the study as downloads when they are not
    /// too large.
    pub fn html(&self) -> String {
        let page = page(self).into_string();
        match study::visible(&page) {
            Cow::Borrowed(_) => page,
            Cow::Owned(page) => page,
        }
    }
}

fn page(report: &Report<'_>) -> Markup {
    let study = &*report.study;
    let downloads: Vec<Download> = match report.named.as_slice() {
        [one] => downloads::of_study(one.study, None, 0),
        several => {
            several.iter().enumerate().flat_map(|(at, it)| downloads::of_study(it.study, Some(&it.label), at)).collect()
        }
    };
    let scripts = assets::SCRIPTS;
    let title = title(report);
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, &study.kvtrial, &scripts, ""))
            body {
                a.skip href="#content" { "Skip to the report" }
                (navigation(report))
                div.wrap {
                    main id="content" tabindex="-1" class=[report.is_large().then_some("large")] {
                        (opening(report, &title))
                        (charts::sections(&report.findings))
                        @if has_cells(report) { (cells::section(report)) }
                        (context::sections(report))
                        (data::sections(report, &downloads))
                    }
                    footer {
                        p { "Made by kvtrial " (study.kvtrial) ". This page needs no network; charts by Apache ECharts (Apache License 2.0)." }
                    }
                }
                @for file in &downloads {
                    @if let Some(packed) = &file.packed { script type="application/gzip+base64" id=(file.id) { (PreEscaped(packed)) } }
                }
                @for source in scripts { script { (PreEscaped(source)) } }
            }
        }
    }
}

/// Returns what stands before the content of every page: its title, the version that made it, what may run in it, and the style of all pages with
/// what this one has beside it.
pub fn head(title: &str, version: &str, scripts: &[&str], own_style: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy(scripts));
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="generator" content=(format!("kvtrial {version}"));
            meta name="referrer" content="no-referrer";
            link rel="icon" href="data:,";
            title { (title) " · kvtrial" }
            style { (PreEscaped(assets::STYLE)) (PreEscaped(own_style)) }
        }
    }
}

/// Only these scripts run, and nothing is fetched from anywhere.
fn policy(scripts: &[&str]) -> String {
    let hash = |source: &&str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(source.as_bytes())));
    let scripts: Vec<String> = scripts.iter().map(hash).collect();
    format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'none'; base-uri 'none'; form-action 'none'",
        scripts.join(" ")
    )
}

/// Whether there is a table of cells: not of a study that only crashed stores.
fn has_cells(report: &Report<'_>) -> bool {
    report.study.crash.is_none() || !report.study.cells.is_empty()
}

fn title(report: &Report<'_>) -> String {
    let [jobs, input] = words::parameters::jobs_and_input(&report.study);
    let names: Vec<&str> = report.named.iter().map(|it| it.label.as_str()).collect();
    if names.len() == 1 { jobs + &input } else { format!("{jobs}: {}", names.join(" and ")) }
}

fn navigation(report: &Report<'_>) -> Markup {
    html! {
        nav aria-label="Sections" {
            div.wrap {
                strong { "kvtrial" }
                @for finding in &report.findings { a href=(format!("#{}", finding.id)) { (finding.title) } }
                @if has_cells(report) { a href="#cells" { "Cells" } }
                a href="#host" { "Machine" }
                a href="#commands" { "Commands" }
                a href="#files" { "Data" }
                button id="theme" type="button" hidden aria-pressed="false" title="Light or dark" { "Dark" }
            }
        }
    }
}

/// A sentence whose options stay whole at the end of a line: browsers break a line after a hyphen.
fn unbroken(sentence: &str) -> Markup {
    let (words, lines) = sentence.split_once('\n').unwrap_or((sentence, ""));
    html! {
        @for word in words.split_inclusive(' ') {
            @if word.starts_with("--") { span.option { (word) } } @else { (word) }
        }
        @if !lines.is_empty() { span.lines { (lines) } }
    }
}

fn opening(report: &Report<'_>, title: &str) -> Markup {
    let said = if report.compared.is_empty() { &report.headlines } else { &report.compared };
    let study = &*report.study;
    let counted = study.cells.iter().map(|cell| cell.counted().count()).max().unwrap_or_default();
    let several = |n: usize, what: &str| words::counted(n as u64, what);
    let mut facts = Vec::new();
    if let Some(crash) = &study.crash {
        let each = words::cuts(crash.means, crash.cuts as usize);
        facts.extend([
            several(crash.cases.len(), "level"),
            format!("{each} each"),
            several(crash.clients as usize, "client"),
        ]);
    }
    if has_cells(report) {
        facts.push(several(study.cells.len(), "cell"));
        facts.push(format!("{} per cell at most", several(counted, "counted trial")));
    }
    facts.extend(words::parameters::shared_parameters(study));
    html! {
        header {
            h1 { (title) }
            @for (at, sentence) in said.iter().enumerate() { p class=[(at == 0).then_some("headline")] { (unbroken(sentence)) } }
            p.facts { (facts.join(" · ")) }
            @if !study.host.cpu.is_empty() {
                p.facts { (study.host.cpu) " · " (study.host.cpus) " processors · " (words::units::bytes(study.host.memory_bytes)) " · " (study.host.kernel) " · " (study.started_at) }
            }
        }
        ul.notices aria-label="What to know first" {
            @for notice in notices(report) {
                li class=(match notice.severity { Severity::Bad => "bad", Severity::Warning => "warn", Severity::Good => "good" }) { (notice.text) }
            }
        }
        noscript { p { "Charts need JavaScript; every figure is in the tables." } }
    }
}
