//! What the terminal, the page and Markdown say of one thing is the same, to the letter.
#![allow(clippy::unwrap_used)]

mod sample;

use findings::{Block, Breadth, ColumnRole, FigureTable, FigureText, Finding, Grouped, Tone, View, ranking};
use report::{Named, Report};
use serde_json::json;
use std::collections::BTreeSet;
use study::{
    Alternative, Decision, Original, PresetRecord, Quantity, Rejection, RejectionKind, StoreChoice, Study, Varied,
};
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
        sample::needed(),
        chosen(),
        repeated(),
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

/// A study whose stores are held against needs, decided.
fn chosen() -> Study {
    let mut study = sample::needed();
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

/// A study that repeats an original.
fn repeated() -> Study {
    let original = Original { system: "a system of its time".into(), value: 7.5, ..Original::default() };
    let preset = PresetRecord {
        name: "2009".into(),
        source: "somebody".into(),
        originals: vec![original],
        ..PresetRecord::default()
    };
    Study { preset: Some(preset), ..sample::usual() }
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

fn cell_in_markdown(it: &FigureText, role: ColumnRole) -> String {
    let text = if role == ColumnRole::Specs { folded(&format!("`{}`", it.text)) } else { in_markdown(&it.text) };
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
        "original",
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

#[test]
fn what_the_picture_of_margins_shows_is_in_every_medium() {
    let it = drawn(&sample::needed());
    let needs = it.findings.iter().find(|finding| finding.id == "needs").unwrap();
    let chart = needs.parts[0].charts().next().unwrap();
    let rows = &chart.table.rows;
    // Five stores of two classes; a level of durability is no number.
    let of = |need: &str| rows.iter().filter(|row| row[0] == need).count();
    assert_eq!([of("p99<5ms"), of("rate>=1000"), of("durability=commit")], [5, 5, 0], "{rows:?}");
    for row in rows {
        let said = format!("{}, {}", row[4], row[5]);
        assert!(it.terminal.contains(&row[1]) && it.terminal.contains(&said), "terminal: {row:?}\n{}", it.terminal);
        assert!(it.markdown.contains(&in_markdown(&said)), "Markdown: {row:?}");
        let margin = format!("margin {}", row[6]);
        assert!(row[4] == "not shown" || it.markdown.contains(&margin) && it.page.contains(&margin), "{row:?}");
        assert!(it.page.contains(&in_page(&said)), "page: {row:?}");
    }
}

#[test]
fn all_stores_are_in_one_picture_and_a_bar_alone_is_none() {
    let mut study = sample::needed();
    study.cells.retain(|cell| cell.store != "memcached-unix" && cell.store != "null");
    let charts = |study: &Study| -> Vec<String> {
        let findings = drawn(study).findings;
        let own = findings.iter().filter(|finding| ["needs", "ranking"].contains(&finding.id));
        own.flat_map(|finding| &finding.parts).flat_map(|part| part.charts()).map(|chart| chart.id.clone()).collect()
    };
    assert_eq!(
        charts(&study),
        ["needs-margins", "ranking-embedded-os"],
        "one server is no ranking, nor is one baseline"
    );
    let grouped = Grouped::all(&study);
    let findings = findings::all(&View::of(&study, &grouped));
    let option = findings.iter().flat_map(|it| &it.parts).flat_map(|it| it.charts()).next().unwrap().option.to_string();
    for said in ["redis-unix · network", "lmdb · embedded, os", "the need", "\"missed\"", "not shown"] {
        assert!(option.contains(said), "{said}: {option}");
    }
    // Without a need that is a number there is no such picture, and each class has its own.
    study.needs = vec!["durability=os".into()];
    analysis::fill_needs(&mut study);
    assert_eq!(charts(&study).len(), 3);
}

#[test]
fn the_table_of_stores_says_the_same_in_every_medium() {
    let mut headings = BTreeSet::new();
    for study in studies() {
        let table = ranking::table(&study, &Grouped::all(&study));
        assert_eq!(table.rows.len(), study.cells.len());
        check_rows(&drawn(&study), "ranking", &table);
        headings.extend(table.columns.iter().map(|column| column.heading().to_owned()));
    }
    let known = ["store", "parameters", "time", "op/s", "p99", "vs null", "vs ram", "verdict", "meets", "memory, disk"];
    assert!(known.iter().all(|heading| headings.contains(*heading)), "no study here has it: {headings:?}");
}

/// The rows of a table, and what its columns mean.
fn check_rows(it: &Drawn, id: &str, table: &FigureTable) {
    let [wide, narrow, widest] = [Breadth::Wide, Breadth::Narrow, Breadth::Widest].map(|of| table.columns_in(of));
    let narrow = || narrow.iter().filter(|at| table.columns[**at].spare == 0);
    for row in &table.rows {
        let cells: Vec<String> = wide.iter().map(|at| cell_in_markdown(&row[*at], table.columns[*at].role)).collect();
        let cells = folded(&format!("| {} |", cells.join(" | ")));
        assert!(it.markdown.contains(&cells), "Markdown, {id}: {cells}");
        let texts = widest.iter().flat_map(|at| [&row[*at].text, &row[*at].note].into_iter().chain(&row[*at].details));
        for text in texts.filter(|text| *text != "-") {
            assert!(it.page.contains(&in_page(text)), "page, {id}: {text} of {row:?}");
        }
        // A long name is folded beside its figures.
        let is_there = |at: &usize| row[*at].text.len() > 20 || it.terminal.contains(&folded(&row[*at].text));
        assert!(narrow().all(is_there), "terminal, {id}: {row:?}");
    }
    let meanings = table.meanings(Breadth::Widest);
    assert!(it.page.contains(&in_page(&meanings)), "page, {id}: {meanings}");
    for column in narrow().map(|at| &table.columns[*at]) {
        assert!(it.terminal.contains(&folded(&column.meaning)), "terminal, {id}: {}", column.meaning);
    }
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
            check_rows(it, id, table);
            let meanings = table.meanings(Breadth::Wide);
            assert!(it.markdown.contains(&in_markdown(&meanings)), "Markdown, {id}: {meanings}");
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
