//! The formats other programs read: the published schema, JUnit, OpenMetrics, CSV.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::golden;
use crate::whole;

use common::redis::Redis;
use common::{Desk, words_of_page};
use golden::{before_and_after, golden, keep, root};
use roxmltree::{Document, Node};
use std::process::Command;

#[test]
fn what_a_users_server_says_of_its_durability_is_nowhere_a_fact() {
    let desk = Desk::new();
    let redis = Redis::start(&desk, "appendonly yes\nappendfsync always");
    let words = "--no-baselines --repeats 1 --warmups 0 --set records=100 --set operations=100";
    let ran = desk.run(&format!("ycsb -s redis://127.0.0.1:{} {words}", redis.port));
    assert_eq!(ran.verdict(), "valid", "{}", ran.said());
    assert_eq!(
        (&ran.only()["durability"], &ran.only()["durability_source"]),
        (&"commit".into(), &"as_the_server_says".into())
    );
    let mut shown = vec![("printed", ran.stdout.clone())];
    shown.extend(
        ["text", "markdown"].map(|format| (format, desk.kvtrial(&format!("report out --format {format}")).stdout)),
    );
    let page = std::fs::read_to_string(desk.path().join("out/report.html")).unwrap();
    shown.push(("html", words_of_page(&page)));
    for (name, text) in shown {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let claims: Vec<&str> = text.match_indices("commit").map(|(at, _)| &text[at + "commit".len()..]).collect();
        assert!(!claims.is_empty() && !text.contains("loses nothing"), "{name}: {text}");
        for after in claims {
            let claim = after.trim_start_matches([',', ' ', '(', '\\']);
            assert!(claim.starts_with("as the server says"), "{name}: commit{}", &after[..after.len().min(80)]);
        }
    }
    let table = |format: &str| desk.kvtrial(&format!("report out --format {format}")).stdout;
    for format in ["csv", "cells-csv"] {
        let text = table(format);
        let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = rows.next().unwrap();
        let column = |name: &str| header.iter().position(|title| *title == name).unwrap();
        let rows: Vec<_> = rows.collect();
        assert!(!rows.is_empty());
        for row in rows {
            let said = (row[column("durability")], row[column("durability_source")]);
            assert_eq!(said, ("commit", "as_the_server_says"), "{format}: {row:?}");
        }
    }
    let metrics = table("openmetrics");
    let rows: Vec<&str> = metrics.lines().filter(|line| line.contains("durability=\"commit\"")).collect();
    assert!(rows.len() > 5, "{metrics}");
    assert!(rows.iter().all(|row| row.contains("durability_source=\"as_the_server_says\"")), "{metrics}");
    assert!(!table("junit").contains("commit"));
}

#[test]
fn junit_is_xml_that_counts_what_it_holds() {
    let desk = before_and_after(9.0);
    let ran = desk.kvtrial("compare before after --fail-if p99>+5% --format junit --out results.xml");
    assert!(ran.status == 3 && ran.stdout.contains("FAILED"), "text is printed too: {}", ran.said());
    let text = std::fs::read_to_string(desk.path().join("results.xml")).unwrap();
    let xml = Document::parse(&text).unwrap();
    let suite = xml.root_element().first_element_child().unwrap();
    assert_eq!((xml.root_element().tag_name().name(), suite.tag_name().name()), ("testsuites", "testsuite"));
    let cases: Vec<_> = suite.children().filter(|node| node.has_tag_name("testcase")).collect();
    assert_eq!(suite.attribute("tests"), Some(cases.len().to_string().as_str()));
    let failed: Vec<_> = cases.iter().filter(|case| case.children().any(|node| node.has_tag_name("failure"))).collect();
    assert_eq!((failed.len(), suite.attribute("failures")), (1, Some("1")));
    assert_eq!((failed[0].attribute("classname"), failed[0].attribute("name")), (Some("redb"), Some("p99>+5%")));
}

/// What Jenkins' schema (junit-10.xsd) lets an element hold: attributes, those it must have marked `!`, and children.
const DIALECT: [(&str, &str, &str); 9] = [
    ("testsuites", "name time tests failures errors", "testsuite"),
    (
        "testsuite",
        "name! tests! failures! errors! group time skipped timestamp hostname id package file log url",
        "testsuite properties testcase system-out system-err",
    ),
    ("properties", "", "property"),
    ("property", "name! value!", ""),
    ("testcase", "name! time classname group", "skipped error failure system-out system-err"),
    ("failure", "type message", ""),
    ("error", "type message", ""),
    ("skipped", "type message", ""),
    ("system-out", "", ""),
];

fn assert_is_of_the_dialect(element: Node<'_, '_>) {
    let name = element.tag_name().name();
    let (_, attributes, children) = DIALECT.iter().find(|known| known.0 == name).unwrap_or_else(|| panic!("{name}"));
    for attribute in element.attributes() {
        let known = attributes.split(' ').any(|it| it.trim_end_matches('!') == attribute.name());
        assert!(known, "{name} has no {}", attribute.name());
        let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        let number =
            attribute.value().split_once('.').map_or(digits(attribute.value()), |(a, b)| digits(a) && digits(b));
        assert!(number || attribute.name() != "time", "{name}: time {}", attribute.value());
    }
    for required in attributes.split(' ').filter_map(|it| it.strip_suffix('!')) {
        assert!(element.has_attribute(required), "{name} lacks {required}");
    }
    for child in element.children().filter(Node::is_element) {
        assert!(children.split(' ').any(|it| it == child.tag_name().name()), "{name} holds {:?}", child.tag_name());
        assert_is_of_the_dialect(child);
    }
}

#[test]
fn every_junit_file_is_of_the_dialect_jenkins_reads() {
    let desk = before_and_after(9.0);
    let mut troubled = golden();
    let reason =
        study::Reason { kind: study::ReasonKind::Refused, count: 3, example: "key \u{1b}[31m<a & \"b\">\n]]>".into() };
    for trial in &mut troubled.cells[2].trials {
        trial.verdict = study::Verdict::of([reason.clone()]);
    }
    troubled.cells[3].trials.clear();
    keep(&desk, "troubled", troubled);
    for command in [
        "report before",
        "report troubled",
        "compare before",
        "compare before after",
        "compare before troubled",
        "compare before after --fail-if p99>+5% --fail-if disk<1KiB",
    ] {
        let ran = desk.kvtrial(&format!("{command} --format junit"));
        let xml = Document::parse(&ran.stdout).unwrap_or_else(|error| panic!("{command}: {error}: {}", ran.said()));
        assert_is_of_the_dialect(xml.root_element());
        assert!(xml.descendants().any(|node| node.has_tag_name("testcase")), "{command}: {}", ran.stdout);
    }
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

/// Fields the schema names and says nothing of.
fn without_description(node: &serde_json::Value, at: &str, out: &mut Vec<String>) {
    if let Some(fields) = node["properties"].as_object() {
        out.extend(
            fields.iter().filter(|(_, field)| field["description"].is_null()).map(|(key, _)| format!("{at}/{key}")),
        );
    }
    match node {
        serde_json::Value::Object(fields) => {
            fields.iter().for_each(|(key, inner)| without_description(inner, &format!("{at}/{key}"), out));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|inner| without_description(inner, at, out)),
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
    let whole = serde_json::to_value(whole::study()).unwrap();
    for study in [ran.study.as_ref().unwrap(), rated.study.as_ref().unwrap(), &golden, &whole] {
        let errors: Vec<String> =
            valid.iter_errors(study).map(|error| format!("{error} at {}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let mut unknown = Vec::new();
        unknown_fields(&schema, &schema, study, "", &mut unknown);
        unknown.sort();
        unknown.dedup();
        assert!(unknown.is_empty(), "docs/study.schema.json does not know {unknown:?}");
    }
    let mut undescribed = Vec::new();
    without_description(&schema, "", &mut undescribed);
    assert!(undescribed.is_empty(), "docs/study.schema.json does not say what these are: {undescribed:?}");
    // It can fail.
    let mut wrong = golden.clone();
    wrong["cells"][0]["makespan_s"]["value"] = "fast".into();
    assert!(!valid.is_valid(&wrong));
    let mut wrong = golden;
    wrong["cells"][0].as_object_mut().unwrap().remove("verdict");
    assert!(!valid.is_valid(&wrong));
}

/// Paths of fields that are in the first value and not the same in the second, which may have more: fields are only ever added.
fn changed_fields(before: &serde_json::Value, after: &serde_json::Value, at: &str) -> Vec<String> {
    match (before, after) {
        (serde_json::Value::Object(before), serde_json::Value::Object(after)) => before
            .iter()
            .flat_map(|(key, value)| {
                changed_fields(value, after.get(key).unwrap_or(&"gone".into()), &format!("{at}/{key}"))
            })
            .collect(),
        (serde_json::Value::Array(before), serde_json::Value::Array(after)) if before.len() == after.len() => {
            before.iter().zip(after).flat_map(|(before, after)| changed_fields(before, after, at)).collect()
        }
        _ if before == after => Vec::new(),
        _ => vec![at.to_owned()],
    }
}

#[test]
fn the_golden_study_is_read_and_shown_in_every_format_as_ever() {
    let study = golden();
    let sqlite = study.cells.iter().find(|cell| cell.store == "sqlite").unwrap();
    assert_eq!(sqlite.answer.digest, "sha256:68feb5060a6d9f728165362a625509d52ab91a5abcf6de1f6c5fe58fe046bc91");
    assert_eq!((sqlite.makespan_s.unwrap().value, sqlite.makespan_s.unwrap().n), (0.17118325750000002, 6));
    let mut again = study.clone();
    again.cells.iter_mut().for_each(analysis::summarise);
    let written = std::fs::read_to_string(root().join("tests/golden/study-v1/study.json")).unwrap();
    // What schema 2 calls otherwise.
    let renamed = written.replace("\"schema\": 1", "\"schema\": 2").replace("\"told_apart\"", "\"separated\"");
    let written: serde_json::Value = serde_json::from_str(&renamed).unwrap();
    let changed = changed_fields(&written, &serde_json::to_value(&again).unwrap(), "");
    assert!(changed.is_empty(), "the summaries follow from the trials as they did: {changed:?}");
    let desk = Desk::new();
    let place = root().join("tests/golden/study-v1");
    for (format, expected) in [
        ("text", "redis-unix"),
        ("markdown", "| 1 | `sqlite` | 171 ms (150 ms to 193 ms) |"),
        ("csv", "fans,sqlite,clients=1 pipeline=1 policy=partition variant=blob,embedded,os,"),
        ("cells-csv", ",valid,"),
        ("openmetrics", "# EOF"),
        ("junit", "<testcase classname=\"kvtrial.fans\" name=\"sqlite\" time=\"0.171183\">"),
        ("json", "\"schema\": 2"),
    ] {
        let ran = desk.kvtrial(&format!("report {} --format {format}", place.display()));
        assert!(ran.status == 0 && ran.stdout.contains(expected), "{format}: {}", ran.said());
    }
    let json = desk.kvtrial(&format!("report {} --format json --out copy.json", place.display()));
    assert_eq!(json.status, 0, "{}", json.said());
    assert!(archive::read_study(&desk.path().join("copy.json")).unwrap() == study, "a copy is the same study");
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

/// Prometheus's own parser, which `./test` installs; kvtrial is not measured against a reading of ours.
const PARSER: &str = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
families = list(text_string_to_metric_families(sys.stdin.read()))
for family in families:
    for sample in family.samples:
        print(family.name, family.type, family.unit, sample.labels.get('store'), sample.labels.get('statistic'), sample.value)
";

#[test]
fn prometheus_reads_every_figure_of_a_study() {
    let desk = before_and_after(1.0);
    assert_eq!(desk.kvtrial("report before --format openmetrics --out figures").status, 0);
    let python = std::env::var("KVTRIAL_PYTHON_PACKAGES").unwrap_or_default();
    let parsed = Command::new("python3")
        .args(["-c", PARSER])
        .env("PYTHONPATH", python)
        .stdin(std::fs::File::open(desk.path().join("figures")).unwrap())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&parsed.stderr).into_owned();
    assert!(parsed.status.success(), "python3 -m pip install prometheus_client, or run ./test: {errors}");
    let text = String::from_utf8(parsed.stdout).unwrap();
    let study = golden();
    for cell in &study.cells {
        let p99_s = cell.p99_ns.unwrap().value * 1e-9;
        let line = format!("kvtrial_response_p99_seconds gauge seconds {} median {p99_s}", cell.store);
        assert!(text.lines().any(|it| close(it, &line)), "{line} in {text}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("kvtrial_verdict stateset")).count(), 4 * study.cells.len());
}

/// The same words, and the same number at the end.
fn close(a: &str, b: &str) -> bool {
    let split =
        |text: &str| text.rsplit_once(' ').map(|(words, number)| (words.to_owned(), number.parse::<f64>().unwrap()));
    matches!((split(a), split(b)), (Some(a), Some(b)) if a.0 == b.0 && (a.1 / b.1 - 1.0).abs() < 1e-12)
}
