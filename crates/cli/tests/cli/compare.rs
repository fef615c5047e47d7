//! `kvtrial compare` as a user meets it: words, exit statuses, gates, bad input.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::golden;

use common::{Desk, Ran};
use golden::{before_and_after, golden, keep};
use study::{Durability, Reason, ReasonKind, Verdict};

/// What was printed, with its continued lines joined.
fn unwrapped(ran: &Ran) -> String {
    ran.stdout.replace("\n   ", " ")
}

fn fits(ran: &Ran) {
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
}

#[test]
fn a_store_that_became_slower_is_told_in_plain_words_and_the_others_are_not_blamed() {
    let ran = before_and_after(9.0).kvtrial("compare before after");
    assert_eq!(ran.status, 0, "without --fail-if a comparison only tells: {}", ran.said());
    let words = unwrapped(&ran);
    assert!(words.contains("redb: after is ") && words.contains(" slower than before"), "{}", ran.stdout);
    assert!(words.contains("sqlite: no difference between before and after at 6 repeats"), "{}", ran.stdout);
    fits(&ran);
}

#[test]
fn a_regression_ends_with_3_and_names_gate_cell_and_interval() {
    let desk = before_and_after(9.0);
    let ran = desk.kvtrial("compare before:redb after:redb --fail-if p99>+5% --fail-if ops_per_s<-3%");
    assert_eq!(ran.status, 3, "{}", ran.said());
    assert!(ran.stdout.contains("FAILED  redb p99>+5%: +"), "{}", ran.stdout);
    assert!(ran.stdout.contains("FAILED  redb ops_per_s<-3%: -"), "{}", ran.stdout);
    // What became better is no regression.
    assert_eq!(desk.kvtrial("compare after:redb before:redb --fail-if p99>+5%").status, 0);
    assert_eq!(desk.kvtrial("compare before after --fail-if p99>+5%").status, 3, "one bad cell is enough");
}

#[test]
fn a_saved_baseline_is_compared_with_by_its_name() {
    let desk = before_and_after(9.0);
    let ran = desk.kvtrial("compare --save-baseline good before");
    assert!(ran.status == 0 && ran.stdout.contains(".kvtrial/baselines/good"), "{}", ran.said());
    assert_eq!(desk.kvtrial("compare --baseline good after --fail-if p99>+5%").status, 3);
    assert_eq!(desk.kvtrial("compare --baseline good before --fail-if p99>+5%").status, 0);
    let ran = desk.kvtrial("compare --baseline better after");
    assert!(ran.status == 2 && ran.stderr.contains("compare --save-baseline better STUDY"), "{}", ran.said());
    let ran = desk.kvtrial("compare --save-baseline ../x before");
    assert!(ran.status == 2 && ran.stderr.contains("use letters"), "{}", ran.said());
    assert!(desk.kvtrial("compare --save-baseline good after").stdout.contains("in place of the one begun"));
}

#[test]
fn one_study_alone_compares_its_cells_but_never_across_classes_unless_asked() {
    let desk = before_and_after(1.0);
    let ran = desk.kvtrial("compare before");
    assert!(
        ran.status == 0 && ran.stdout.contains("sqlite is ") && ran.stdout.contains("faster than redb"),
        "{}",
        ran.said()
    );
    assert!(!ran.stdout.contains("redis-unix"), "{}", ran.stdout);
    let ran = desk.kvtrial("compare before --across");
    assert!(
        ran.stdout.contains("redis-unix") && ran.stdout.contains("NOT ALIKE: the classes differ"),
        "{}",
        ran.stdout
    );
    let ran = desk.kvtrial("compare before:sqlite before:redis-unix");
    assert!(
        ran.status == 2 && unwrapped(&ran).contains("the classes differ: embedded against network"),
        "{}",
        ran.said()
    );
    assert!(ran.stdout.contains("--across"), "{}", ran.said());
    fits(&ran);
}

#[test]
fn durability_levels_are_compared_only_when_asked() {
    let desk = Desk::new();
    let mut study = golden();
    let mut durable = study.cells.iter().find(|cell| cell.store == "sqlite").unwrap().clone();
    (durable.store, durable.durability) = ("sqlite,durability=commit".into(), Some(Durability::Commit));
    study.cells.push(durable);
    keep(&desk, "study", study);
    let ran = desk.kvtrial("compare study:sqlite study:sqlite,durability=commit");
    assert!(
        ran.status == 2 && unwrapped(&ran).contains("the durability levels differ: os against commit"),
        "{}",
        ran.said()
    );
    assert_eq!(desk.kvtrial("compare study:sqlite study:sqlite,durability=commit --across").status, 0);
}

#[test]
fn studies_that_are_not_alike_are_refused_with_every_difference_until_told() {
    let desk = Desk::new();
    keep(&desk, "before", golden());
    let mut other = golden();
    other.input.insert("digest".into(), "sha256:other".into());
    other.host.cpu = "another".into();
    keep(&desk, "after", other);
    let ran = desk.kvtrial("compare before after");
    assert_eq!(ran.status, 2, "{}", ran.said());
    let words = unwrapped(&ran);
    assert!(words.contains("the inputs differ in digest") && words.contains("the machines differ in cpu"), "{words}");
    assert!(words.contains("--anyway"), "{words}");
    let ran = desk.kvtrial("compare before after --anyway");
    assert!(ran.status == 0 && ran.stdout.contains("NOT ALIKE: the machines differ in cpu"), "{}", ran.said());
}

#[test]
fn a_void_cell_is_shown_with_its_reason_and_never_compared() {
    let desk = Desk::new();
    keep(&desk, "before", golden());
    let mut broken = golden();
    for trial in broken.cells.iter_mut().filter(|cell| cell.store == "redb").flat_map(|cell| &mut cell.trials) {
        trial.verdict = Verdict::of([Reason { kind: ReasonKind::LostUpdates, count: 3, example: "page libc6".into() }]);
    }
    keep(&desk, "after", broken);
    let ran = desk.kvtrial("compare before after --fail-if p99>+500%");
    assert_eq!(ran.status, 1, "{}", ran.said());
    let words = unwrapped(&ran);
    assert!(words.contains("redb: after is void") && words.contains("page libc6"), "{}", ran.stdout);
}

#[test]
fn impossible_conditions_are_refused_with_the_remedy() {
    let desk = before_and_after(1.0);
    for (words, remedy) in [
        ("compare before after --fail-if p98>+5%", "use one of: makespan"),
        ("compare before after --fail-if p99>5%", "+5%"),
        ("compare before:sqlite after:sqlite --fail-if server_rss>+5%", "no cell has a figure for server_rss"),
        ("compare before --fail-if p99>+5%", "name two studies"),
        ("compare before after --metric speed", "there are makespan"),
        ("compare before:nothing after:nothing", "there is no cell 'nothing'"),
        ("compare before before", "the same study"),
        ("compare before:redb", "is one cell"),
        ("compare", "compare what?"),
        ("compare nowhere after", "there is no study in nowhere"),
        ("report before --format pdf", "possible values"),
    ] {
        let ran = desk.kvtrial(words);
        assert!(ran.status == 2 && ran.stderr.contains(remedy), "{words}: {}", ran.said());
    }
}

#[test]
fn a_gate_does_not_pass_because_its_cell_is_gone() {
    let desk = Desk::new();
    keep(&desk, "before", golden());
    let mut fewer = golden();
    fewer.cells.retain(|cell| cell.store != "redb");
    keep(&desk, "after", fewer);
    let ran = desk.kvtrial("compare before after --fail-if p99>+500%");
    assert!(ran.status == 2 && ran.stderr.contains("redb"), "{}", ran.said());
    let ran = desk.kvtrial("compare before after");
    assert!(ran.status == 0 && ran.stdout.contains("Only before has redb."), "{}", ran.said());
}

#[test]
fn too_few_repeats_are_no_pass_and_say_how_many_are_needed() {
    let desk = Desk::new();
    let mut few = golden();
    for cell in &mut few.cells {
        cell.trials.retain(|trial| !trial.warmup);
        cell.trials.truncate(3);
    }
    keep(&desk, "before", few.clone());
    keep(&desk, "after", few);
    let ran = desk.kvtrial("compare before after --fail-if p99>+5%");
    assert!(ran.status == 2 && ran.stderr.contains("--repeats 4 or more"), "{}", ran.said());
    let ran = desk.kvtrial("compare before after --fail-if p99>2ms");
    assert!(
        ran.status == 2 && ran.stderr.contains("--repeats 6"),
        "an interval of a median asks for more: {}",
        ran.said()
    );
}

#[test]
fn a_gate_that_is_too_noisy_to_judge_says_so_everywhere_and_fails_only_where_that_is_asked_for() {
    let desk = Desk::new();
    let noisy = |turn: usize| {
        let mut study = golden();
        for cell in &mut study.cells {
            for (at, trial) in cell.trials.iter_mut().filter(|trial| !trial.warmup).enumerate() {
                let times = [1.0, 1.9, 0.6, 1.4, 1.0, 0.5][(at + turn) % 6];
                trial.latency_ns.response.p99 = (times * 1e6) as u64;
            }
            analysis::summarise(cell);
        }
        study
    };
    keep(&desk, "before", noisy(0));
    keep(&desk, "after", noisy(1));
    let command = "compare before:redb after:redb --fail-if p99>+10%";
    let ran = desk.kvtrial(command);
    let words = unwrapped(&ran);
    assert!(ran.status == 0 && words.contains("redb p99>+10%: too noisy to judge: could only have"), "{}", ran.said());
    let junit = desk.kvtrial(&format!("{command} --format junit")).stdout;
    assert!(junit.contains("skipped=\"1\"") && junit.contains("too noisy to judge: could only have seen +"), "{junit}");
    let json: serde_json::Value =
        serde_json::from_str(&desk.kvtrial(&format!("{command} --format json")).stdout).unwrap();
    assert!(json["judgements"][0]["outcome"]["too_noisy"]["could_have_seen"].as_f64().unwrap() > 0.1, "{json}");
    let ran = desk.kvtrial(&format!("{command} --noisy fail --format junit"));
    assert!(
        ran.status == 3 && ran.stdout.contains("failures=\"1\"") && ran.stdout.contains("too_noisy"),
        "{}",
        ran.said()
    );
}

#[test]
fn markdown_and_json_say_the_same_as_the_text() {
    let desk = before_and_after(9.0);
    let markdown = desk.kvtrial("compare before after --fail-if p99>+5% --format markdown").stdout;
    assert!(
        markdown.contains("❌") && markdown.contains("| metric | before | after | ratio | p | finding |"),
        "{markdown}"
    );
    let json = desk.kvtrial("compare before after --fail-if p99>+5% --format json");
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let pairs = json["pairs"].as_array().unwrap();
    let redb = pairs.iter().find(|pair| pair["cell"] == "redb").unwrap();
    assert_eq!(redb["contrasts"][0]["metric"], "makespan_s");
    assert_eq!(redb["contrasts"][0]["finding"], "worse");
    let broken = json["judgements"].as_array().unwrap().iter().filter(|it| it["outcome"] == "broken");
    assert_eq!(broken.count(), 1);
}

#[test]
fn damaged_newer_and_mixed_studies_are_told_with_the_remedy() {
    let desk = before_and_after(1.0);
    let whole = std::fs::read_to_string(desk.path().join("before/study.json")).unwrap();
    let told = |name: &str, text: &str, remedy: &str| {
        std::fs::create_dir_all(desk.path().join(name)).unwrap();
        std::fs::write(desk.path().join(name).join("study.json"), text).unwrap();
        let ran = desk.kvtrial(&format!("compare {name} after"));
        assert!(ran.status == 2 && ran.stderr.contains(remedy), "{name}: {}", ran.said());
        assert_eq!(std::fs::read_to_string(desk.path().join(name).join("study.json")).unwrap(), text, "untouched");
    };
    told("torn", &whole[..whole.len() / 2], "cut short");
    told("newer", &whole.replacen(&format!("\"schema\": {}", study::SCHEMA), "\"schema\": 99", 1), "Update kvtrial");
    told("other", "{\"a\": 1}", "is not a study");
    std::fs::write(desk.path().join("torn/trials.jsonl"), "").unwrap();
    let ran = desk.kvtrial("compare torn/study.json after");
    assert!(
        ran.status == 2 && ran.stderr.contains("trials.jsonl") && ran.stderr.contains("--resume"),
        "{}",
        ran.said()
    );
}

#[test]
fn a_run_of_fixed_time_is_ranked_by_its_rate() {
    let desk = Desk::new();
    let ran = desk.run("ycsb -s lmdb --no-baselines --set records=100 --set seconds=0.2 --repeats 2");
    assert_eq!(ran.cell("lmdb")["measure"], "ops_per_s", "{}", ran.said());
    let unfolded = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unfolded.contains("ranked by OP/S"), "{}", ran.said());
}

#[test]
fn the_page_of_before_and_after_has_both_and_begins_with_what_was_found() {
    let desk = before_and_after(9.0);
    let ran = desk.kvtrial("compare before:redb after:redb --format html --out page");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(
        ran.stdout.contains("Report: page/report.html") && ran.stdout.contains(" slower than before"),
        "{}",
        ran.said()
    );
    let html = std::fs::read_to_string(desk.path().join("page/report.html")).unwrap();
    let headline = html.split("<p class=\"headline\">").nth(1).and_then(|rest| rest.split("</p>").next()).unwrap();
    assert!(headline.starts_with("redb: after is ") && headline.contains(" slower than before (p "), "{headline}");
    assert!(html.contains("redb · before") && html.contains("redb · after") && !html.contains("sqlite · after"));
    // A gate ends it as it ends the text.
    let ran = desk.kvtrial("compare before after --format html --out both --fail-if p99>+5%");
    assert_eq!(ran.status, 3, "{}", ran.said());
    let html = std::fs::read_to_string(desk.path().join("both/report.html")).unwrap();
    assert!(html.contains("FAILED  redb p99&gt;+5%") && html.contains("sqlite · after"));
}

#[test]
fn sixty_columns_are_enough_and_no_word_is_cut() {
    let desk = before_and_after(9.0);
    let narrow = |words: &str| {
        let output = desk.command(words).env("COLUMNS", "60").output().unwrap();
        let ran = desk.finished(output);
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 60), "{}", ran.stdout);
        ran.stdout
    };
    let table = narrow("report before --format text");
    for store in golden().cells.iter().map(|cell| cell.store.clone()) {
        assert!(table.lines().any(|line| line.split_whitespace().any(|word| word == store)), "{store}: {table}");
    }
    assert!(table.contains("VERDICT") && table.contains(" left out  "), "{table}");
    narrow("compare before after");
    narrow("stores");
}
