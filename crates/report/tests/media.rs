//! What the terminal, the page and Markdown say of one thing is the same, to the letter.
#![allow(clippy::unwrap_used)]

mod sample;

use findings::{Block, Breadth, FigureText, Finding, Grouped, Tone, View};
use report::{Named, Report};
use serde_json::json;
use std::collections::BTreeSet;
use study::{Alternative, Decision, Quantity, Rejection, RejectionKind, StoreChoice, Study, Varied};
use terminal::{Colour, crash_text, rate_search, study_markdown, study_table, tune_text};

/// Every kind of study: among them all subjects have something to say.
fn studies() -> Vec<Study> {
    vec![
        sample::usual(),
        sample::faulted(),
        sample::crashed(),
        sample::tuned(),
        sample::searched(),
        varied(),
        sample::troubled(),
        needed(),
        chosen(),
        counted(
            "sets",
            &json!({
                "way": "hll", "bytes_per_id": 0.0218, "union_error": 0.0031, "union_standard_error": 0.0081,
                "intersection_error": 1.42, "intersection_standard_error": 1.98,
            }),
        ),
        counted(
            "replay",
            &json!({
                "get_hits": 50_000, "get_misses": 45_607, "fills": 45_607, "keys_at_end": 1000, "bytes_at_end": 105_000,
                "hits_of_all_kept": 81_851, "hits_of_exact_lru": 61_882, "hits_of_exact_fifo": 58_152,
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

/// A study whose stores are held against needs.
fn needed() -> Study {
    let mut study = sample::usual();
    study.needs = ["p99<5ms", "rate>=1000", "disk<5x", "durability=commit", "memory<1KiB"].map(str::to_owned).into();
    analysis::fill_needs(&mut study);
    study
}

/// The same, decided.
fn chosen() -> Study {
    let mut study = needed();
    let names: Vec<String> = study.cells.iter().filter(|cell| !cell.baseline).map(|cell| cell.store.clone()).collect();
    let decision = Decision {
        take: names[..1].to_vec(),
        set_up: vec!["PRAGMA synchronous = off;".into()],
        also: vec![Alternative { store: names[1].clone(), times: Some(Quantity::single(1.5)) }],
        out: vec![Rejection { store: "redb".into(), kind: RejectionKind::Void, because: "wrong_value".into() }],
        not_shown: names[2..].to_vec(),
        ..Decision::default()
    };
    study.choice = Some(StoreChoice { budget_s: 60.0, used_s: 48.0, trials: 17, decisions: vec![decision] });
    study
}

/// A sweep, with the values that were asked for.
fn varied() -> Study {
    let mut study = sample::sweep(3, 3, 3, 10);
    for cell in &mut study.cells {
        cell.varied = [("clients".to_owned(), cell.params["clients"].clone())].into();
    }
    let values = ["1", "2", "4"].map(str::to_owned).into();
    study.varied = vec![Varied { key: "clients".into(), values, not_taken: vec!["ram does not have it".into()] }];
    study
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
    let searches = [crash_text, tune_text, rate_search].map(|text| text(study, Colour::Never)).concat();
    let page = Report::new(vec![Named { label: String::new(), study }]).html();
    Drawn {
        findings: findings::all(&View::of(study, &grouped)),
        terminal: folded(&(searches + &study_table(study, Colour::Never))),
        // Options in the head are kept whole.
        page: folded(
            &page.replace("<span class=\"option\">", "").replace("<span class=\"lines\">", " ").replace("</span>", ""),
        ),
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

fn cell_in_markdown(it: &FigureText) -> String {
    let text = in_markdown(&it.text);
    let text = if it.tone == Tone::Bad { format!("**{text}**") } else { text };
    if it.note.is_empty() { text } else { format!("{text} ({})", in_markdown(&it.note)) }
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
        "choice",
        "crashes",
        "faults",
        "growth",
        "hits",
        "latency",
        "needs",
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
        Block::Headline(sentence) | Block::Sentence(sentence) => {
            let text = &sentence.text;
            assert!(it.page.contains(&in_page(text)), "page, {id}: {text}");
            if sentence.tone != Tone::Detail {
                assert!(it.terminal.contains(&folded(text)), "terminal, {id}: {text}\n{}", it.terminal);
                assert!(it.markdown.contains(&in_markdown(text)), "Markdown, {id}: {text}");
            }
        }
        Block::Table(table) => {
            let (wide, narrow) = (table.columns_in(Breadth::Wide), table.columns_in(Breadth::Narrow));
            let narrow = || narrow.iter().filter(|at| !table.spare.contains(at));
            for row in &table.rows {
                let cells: Vec<String> = wide.iter().map(|at| cell_in_markdown(&row[*at])).collect();
                assert!(it.markdown.contains(&format!("| {} |", cells.join(" | "))), "Markdown, {id}: {row:?}");
                assert!(wide.iter().all(|at| it.page.contains(&in_page(&row[*at].text))), "page, {id}: {row:?}");
                let is_there = |at: &usize| it.terminal.contains(&folded(&row[*at].text));
                assert!(narrow().all(is_there), "terminal, {id}: {row:?}");
            }
            assert!(it.page.contains(&in_page(&table.meanings())), "page, {id}: {}", table.meanings());
            assert!(it.markdown.contains(&in_markdown(&table.meanings())), "Markdown, {id}: {}", table.meanings());
            for column in narrow().map(|at| &table.columns[*at]) {
                assert!(it.terminal.contains(&folded(column.meaning)), "terminal, {id}: {}", column.meaning);
            }
        }
        Block::Chart(chart) => {
            assert!(it.page.contains(&format!("id=\"chart-{}\"", chart.id)), "page, {id}: {}", chart.title);
        }
        Block::Sketch(findings::Sketch::Curves(curves)) => {
            assert!(curves.iter().all(|curve| it.terminal.contains(&curve.name)), "terminal, {id}");
        }
        Block::Sketch(findings::Sketch::Plots(plots)) => {
            let mut lines = plots.iter().flat_map(|plot| &plot.lines);
            assert!(lines.all(|line| it.terminal.contains(&line.name)), "terminal, {id}");
        }
        Block::Sketch(findings::Sketch::Bars(bars)) => {
            assert!(bars.rows.iter().all(|(_, whole, _)| it.terminal.contains(whole)), "terminal, {id}");
        }
    }
}
