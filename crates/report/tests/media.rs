//! What the terminal, the page and Markdown say of one thing is the same, to the letter.
#![allow(clippy::unwrap_used)]

mod sample;

use findings::{Block, Finding, Grouped, Tone, View};
use report::{Named, Report};
use serde_json::json;
use std::collections::BTreeSet;
use study::Study;
use terminal::{Colour, crash_text, study_markdown, study_table};

/// Every kind of study: among them all subjects have something to say.
fn studies() -> Vec<Study> {
    vec![
        sample::usual(),
        sample::faulted(),
        sample::crashed(),
        sample::tuned(),
        sample::searched(),
        sample::sweep(3, 3, 2, 10),
        sample::troubled(),
        counted(
            "sets",
            &json!({
                "way": "hll", "bytes_per_id": 0.0218, "union_error": 0.0031, "union_standard_error": 0.0081,
                "intersection_error": 1.42, "intersection_standard_error": 1.98,
            }),
        ),
        counted(
            "events",
            &json!({
                "queue": "bounded", "queue_size": 1024, "queue_depth_mean": 12, "queue_depth_max": 900,
                "parsers_waiting_share": 0.01, "summarizers_waiting_share": 0.7, "summarized_events_per_s": 1e6,
            }),
        ),
    ]
}

/// A study of a job whose trials found these facts.
fn counted(job: &str, facts: &serde_json::Value) -> Study {
    let mut study = sample::usual();
    for cell in &mut study.cells {
        cell.job = job.into();
        cell.answer.facts = facts.as_object().unwrap().clone().into_iter().collect();
        let answer = cell.answer.clone();
        cell.trials.iter_mut().for_each(|trial| trial.answer = answer.clone());
    }
    study
}

/// Every finding of a study and the study in every medium.
struct Drawn {
    findings: Vec<Finding>,
    terminal: String,
    page: String,
    markdown: String,
}

fn drawn(study: &Study) -> Drawn {
    let grouped = Grouped::all(study);
    let crashes = study.crash.as_ref().map(|crash| crash_text(crash, Colour::Never)).unwrap_or_default();
    Drawn {
        findings: findings::all(&View::of(study, &grouped)),
        terminal: folded(&(crashes + &study_table(study, Colour::Never))),
        page: folded(&Report::new(vec![Named { label: String::new(), study }]).html()),
        markdown: folded(&study_markdown(study)),
    }
}

/// Text on one line: media break lines where they must.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn in_page(text: &str) -> String {
    folded(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn in_markdown(text: &str) -> String {
    let html = folded(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    html.chars().flat_map(|c| ("\\`*_[]|~#".contains(c).then_some('\\')).into_iter().chain([c])).collect()
}

#[test]
fn every_finding_says_the_same_in_every_medium() {
    let mut known = BTreeSet::new();
    for study in studies() {
        let it = drawn(&study);
        for finding in &it.findings {
            known.insert(finding.id);
            for block in finding.parts.iter().flat_map(|part| &part.blocks) {
                check(&it, finding, block);
            }
        }
    }
    let expected = [
        "budget",
        "caution",
        "crashes",
        "faults",
        "growth",
        "latency",
        "pipeline",
        "ranking",
        "rate",
        "resources",
        "sets",
        "setting",
        "sweep",
        "time",
    ];
    assert_eq!(known.into_iter().collect::<Vec<_>>(), expected, "a subject has no study here");
}

fn check(it: &Drawn, finding: &Finding, block: &Block) {
    let id = finding.id;
    match block {
        Block::Sentence(sentence) => {
            let text = &sentence.text;
            assert!(it.page.contains(&in_page(text)), "page, {id}: {text}");
            if sentence.tone != Tone::Detail {
                assert!(it.terminal.contains(&folded(text)), "terminal, {id}: {text}\n{}", it.terminal);
                let of_crashes = id == findings::crash::ID;
                assert!(of_crashes || it.markdown.contains(&in_markdown(text)), "Markdown, {id}: {text}");
            }
        }
        Block::Table(table) => {
            for row in &table.rows {
                let cells: Vec<String> = row.iter().map(|text| in_markdown(text)).collect();
                assert!(it.markdown.contains(&format!("| {} |", cells.join(" | "))), "Markdown, {id}: {row:?}");
                assert!(row.iter().all(|text| it.page.contains(&in_page(text))), "page, {id}: {row:?}");
                assert!(row.iter().all(|text| it.terminal.contains(&folded(text))), "terminal, {id}: {row:?}");
            }
        }
        Block::Chart(chart) => {
            assert!(it.page.contains(&format!("id=\"chart-{}\"", chart.id)), "page, {id}: {}", chart.title);
        }
        Block::Sketch(findings::Sketch::Curves(curves)) => {
            assert!(curves.iter().all(|curve| it.terminal.contains(&curve.name)), "terminal, {id}");
        }
        Block::Sketch(findings::Sketch::Bars(bars)) => {
            assert!(bars.rows.iter().all(|(_, whole, _)| it.terminal.contains(whole)), "terminal, {id}");
        }
    }
}
