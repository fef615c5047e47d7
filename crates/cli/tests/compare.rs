//! `kvtrial compare` and `kvtrial report` as a user meets them: words, exit statuses, formats, bad input.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Desk, Ran};
use std::path::{Path, PathBuf};
use study::{Durability, Reason, ReasonKind, Study, Verdict};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A real study, kept as this version wrote it: fans on null, ram, sqlite, redis-unix and redb, 6 repeats.
fn golden() -> Study {
    report::read_study(&root().join("tests/golden/study-v1")).unwrap()
}

/// The golden study with the times of one store as many times as long, in a directory of the desk.
fn with_store_slower(desk: &Desk, name: &str, store: &str, times: f64) {
    let mut study = golden();
    for cell in study.cells.iter_mut().filter(|cell| cell.store == store) {
        for trial in &mut cell.trials {
            trial.makespan_s *= times;
            trial.ops_per_s /= times;
            trial.latency_ns.response.p99 = (trial.latency_ns.response.p99 as f64 * times) as u64;
        }
    }
    keep(desk, name, study);
}

fn keep(desk: &Desk, name: &str, mut study: Study) {
    study.cells.iter_mut().for_each(analysis::summarise);
    report::save_study(&desk.path().join(name), &study).unwrap();
}

fn before_and_after(times: f64) -> Desk {
    let desk = Desk::new();
    with_store_slower(&desk, "before", "redb", 1.0);
    with_store_slower(&desk, "after", "redb", times);
    desk
}

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
        ("compare before after --fail-if p98>+5%", "there are: makespan"),
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
fn junit_is_xml_that_counts_what_it_holds() {
    let desk = before_and_after(9.0);
    let ran = desk.kvtrial("compare before after --fail-if p99>+5% --format junit --out results.xml");
    assert!(ran.status == 3 && ran.stdout.contains("FAILED"), "text is printed too: {}", ran.said());
    let text = std::fs::read_to_string(desk.path().join("results.xml")).unwrap();
    let xml = roxmltree::Document::parse(&text).unwrap();
    let suite = xml.root_element().first_element_child().unwrap();
    assert_eq!((xml.root_element().tag_name().name(), suite.tag_name().name()), ("testsuites", "testsuite"));
    let cases: Vec<_> = suite.children().filter(|node| node.has_tag_name("testcase")).collect();
    assert_eq!(suite.attribute("tests"), Some(cases.len().to_string().as_str()));
    let failed: Vec<_> = cases.iter().filter(|case| case.children().any(|node| node.has_tag_name("failure"))).collect();
    assert_eq!((failed.len(), suite.attribute("failures")), (1, Some("1")));
    assert_eq!((failed[0].attribute("classname"), failed[0].attribute("name")), (Some("redb"), Some("p99>+5%")));
}

#[test]
fn markdown_and_json_say_the_same_as_the_text() {
    let desk = before_and_after(9.0);
    let markdown = desk.kvtrial("compare before after --fail-if p99>+5% --format markdown").stdout;
    assert!(markdown.contains("❌") && markdown.contains("| metric | before | after | ratio | p | |"), "{markdown}");
    let json = desk.kvtrial("compare before after --fail-if p99>+5% --format json");
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let pairs = json["pairs"].as_array().unwrap();
    let redb = pairs.iter().find(|pair| pair["cell"] == "redb").unwrap();
    assert_eq!(redb["contrasts"][0]["metric"], "makespan_s");
    assert_eq!(redb["contrasts"][0]["finding"], "worse");
    let broken = json["judgements"].as_array().unwrap().iter().filter(|it| it["outcome"] == "broken");
    assert_eq!(broken.count(), 1);
}

/// A path through the value and every key on it that the schema does not know.
fn unknown_fields(
    schema: &serde_json::Value,
    node: &serde_json::Value,
    value: &serde_json::Value,
    at: &str,
    out: &mut Vec<String>,
) {
    let node = match node.get("$ref").and_then(|it| it.as_str()) {
        Some(reference) => &schema["$defs"][reference.trim_start_matches("#/$defs/")],
        None => node,
    };
    if let Some(first) = node.get("anyOf").and_then(|it| it.get(0)) {
        return unknown_fields(schema, first, value, at, out);
    }
    match value {
        serde_json::Value::Object(fields) if node.get("properties").is_some() => {
            for (key, field) in fields {
                match node["properties"].get(key) {
                    Some(known) => unknown_fields(schema, known, field, &format!("{at}/{key}"), out),
                    None => out.push(format!("{at}/{key}")),
                }
            }
        }
        serde_json::Value::Array(items) => {
            items.iter().for_each(|item| unknown_fields(schema, &node["items"], item, at, out));
        }
        _ => {}
    }
}

#[test]
fn the_published_schema_holds_for_real_studies_and_names_every_field() {
    let schema: serde_json::Value =
        serde_json::from_slice(&std::fs::read(root().join("docs/study.schema.json")).unwrap()).unwrap();
    let valid = jsonschema::draft202012::new(&schema).unwrap();
    let desk = Desk::new();
    let ran = desk.run("fans --data debian-1k -s lmdb --repeats 2 --warmups 1");
    let rated = Desk::new();
    let rated = rated
        .run("ycsb -s ram --no-baselines --set records=100 --set operations=200 --rate 5000 --pipeline 8 --repeats 1");
    let golden = serde_json::to_value(golden()).unwrap();
    for study in [ran.study.as_ref().unwrap(), rated.study.as_ref().unwrap(), &golden] {
        let errors: Vec<String> =
            valid.iter_errors(study).map(|error| format!("{error} at {}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let mut unknown = Vec::new();
        unknown_fields(&schema, &schema, study, "", &mut unknown);
        unknown.sort();
        unknown.dedup();
        assert!(unknown.is_empty(), "docs/study.schema.json does not know {unknown:?}");
    }
    // It can fail.
    let mut wrong = golden.clone();
    wrong["cells"][0]["makespan_s"]["value"] = "fast".into();
    assert!(!valid.is_valid(&wrong));
    let mut wrong = golden;
    wrong["cells"][0].as_object_mut().unwrap().remove("verdict");
    assert!(!valid.is_valid(&wrong));
}

#[test]
fn the_golden_study_is_read_and_shown_in_every_format_as_ever() {
    let study = golden();
    let sqlite = study.cells.iter().find(|cell| cell.store == "sqlite").unwrap();
    assert_eq!(sqlite.answer.digest, "sha256:68feb5060a6d9f728165362a625509d52ab91a5abcf6de1f6c5fe58fe046bc91");
    assert_eq!((sqlite.makespan_s.unwrap().value, sqlite.makespan_s.unwrap().n), (0.17118325750000002, 6));
    let mut again = study.clone();
    again.cells.iter_mut().for_each(analysis::summarise);
    assert_eq!(again, study, "the summaries follow from the trials as they did");
    let desk = Desk::new();
    let place = root().join("tests/golden/study-v1");
    for (format, expected) in [
        ("text", "redis-unix"),
        ("markdown", "| 1 | `sqlite` | 171 ms (150 ms to 193 ms) |"),
        ("csv", "fans,sqlite,clients=1 pipeline=1 policy=partition variant=blob,embedded,os,"),
        ("cells-csv", ",valid,"),
        ("openmetrics", "# EOF"),
        ("junit", "<testcase classname=\"kvtrial.fans\" name=\"sqlite\" time=\"0.171183\">"),
        ("json", "\"schema\": 1"),
    ] {
        let ran = desk.kvtrial(&format!("report {} --format {format}", place.display()));
        assert!(ran.status == 0 && ran.stdout.contains(expected), "{format}: {}", ran.said());
    }
    let json = desk.kvtrial(&format!("report {} --format json --out copy.json", place.display()));
    assert_eq!(json.status, 0, "{}", json.said());
    assert_eq!(report::read_study(&desk.path().join("copy.json")).unwrap(), study);
}

#[test]
fn the_long_csv_has_a_row_for_every_trial_and_figure() {
    let desk = before_and_after(1.0);
    let csv = desk.kvtrial("report before --format csv").stdout;
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.trim_end().split(',').collect()).collect();
    let makespans: Vec<&Vec<&str>> = rows.iter().filter(|row| row[9] == "makespan_s").collect();
    let study = golden();
    let trials: Vec<f64> = study.cells.iter().flat_map(|cell| &cell.trials).map(|trial| trial.makespan_s).collect();
    let written: Vec<f64> = makespans.iter().map(|row| row[10].parse().unwrap()).collect();
    assert_eq!(written, trials, "warm-ups too, exactly");
    assert_eq!(rows.iter().filter(|row| row[1] == "sqlite" && row[9].starts_with("server")).count(), 0);
}

#[test]
fn openmetrics_are_in_base_units_with_one_family_a_metric() {
    let desk = before_and_after(1.0);
    let text = desk.kvtrial("report before --format openmetrics").stdout;
    let mut families = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("# TYPE ") {
            Some(family) => families.push(family.split(' ').next().unwrap().to_owned()),
            None if line.starts_with('#') => {}
            None => {
                assert!(line.starts_with(&format!("{}{{", families.last().unwrap())), "{line}");
                line.rsplit(' ').next().unwrap().parse::<f64>().unwrap();
            }
        }
    }
    let mut once = families.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), families.len(), "{families:?}");
    assert!(text.ends_with("# EOF\n") && families.contains(&"kvtrial_response_p99_seconds".to_owned()), "{families:?}");
    let sqlite = golden().cells.iter().find(|cell| cell.store == "sqlite").unwrap().p99_ns.unwrap().value * 1e-9;
    assert!(text.contains(&format!("statistic=\"median\"}} {sqlite}")), "{text}");
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
    told("newer", &whole.replacen("\"schema\": 1", "\"schema\": 2", 1), "Update kvtrial");
    told("other", "{\"a\": 1}", "is no study");
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
    assert!(ran.stdout.contains("ranked by OP/S"), "{}", ran.said());
}
