//! The reference in the book is what the program says of itself. `UPDATE_GOLDEN=1` writes it again; read what changed.
#![cfg(feature = "full")]
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use study::ReasonKind;

/// What the program prints, 100 columns wide and without colour.
fn said(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_kvtrial")).args(words).env("COLUMNS", "100").output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn fenced(out: &mut String, text: &str) {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    write!(out, "```text\n{}\n```\n\n", lines.join("\n").trim_end()).unwrap();
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "\\<")
}

fn words_of<'a>(store: &'a Value, field: &str) -> Vec<&'a str> {
    store[field].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

fn stores(out: &mut String) {
    out.push_str("## Stores\n\nSettings follow the name: `redis,maxmemory=1GiB`. Durabilities: the default first.\n\n");
    let stores: Vec<Value> = serde_json::from_str(&said(&["stores", "--json"])).unwrap();
    out.push_str("| store | what it is | durability | licence |\n|---|---|---|---|\n");
    for store in &stores {
        let text = |field: &str| cell(store[field].as_str().unwrap());
        let mut durabilities = words_of(store, "durabilities").join(", ");
        if text("summary").contains("durability") {
            durabilities = "by what is found".to_owned(); // another machine has another of the two servers
        }
        writeln!(out, "| `{}` | {} | {durabilities} | {} |", text("name"), text("summary"), text("licence")).unwrap();
    }
    out.push_str("\n| store | settings and their values, the default first |\n|---|---|\n");
    for store in stores.iter().filter(|store| !words_of(store, "options").is_empty()) {
        let options: Vec<String> =
            words_of(store, "options").iter().map(|option| format!("`{}`", cell(option))).collect();
        writeln!(out, "| `{}` | {} |", store["name"].as_str().unwrap(), options.join(" · ")).unwrap();
    }
    out.push('\n');
}

/// The words of all kinds, as the schema of study.json lists them.
fn kinds() -> Vec<ReasonKind> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut lists = Vec::new();
    collect(&schema, &mut lists);
    let words = lists.into_iter().find(|list| list.contains(&Value::from("wrong_value"))).unwrap();
    words.into_iter().map(|word| serde_json::from_value(word).unwrap()).collect()
}

/// The examples of every field of a schema.
fn collect(value: &Value, lists: &mut Vec<Vec<Value>>) {
    match value {
        Value::Object(fields) => {
            lists.extend(fields.get("examples").and_then(Value::as_array).cloned());
            fields.values().for_each(|field| collect(field, lists));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, lists)),
        _ => {}
    }
}

fn reasons(out: &mut String) {
    out.push_str("## Reasons\n\nWhy a cell is void, degraded or not run, and what to do.\n\n");
    out.push_str("| `kind` in study.json | status | what it means | what to do |\n|---|---|---|---|\n");
    for kind in kinds() {
        let (meaning, remedy) = words::advice(kind);
        writeln!(out, "| `{}` | {} | {} | {} |", kind.name(), kind.status().name(), cell(meaning), cell(remedy))
            .unwrap();
    }
}

fn reference() -> String {
    let mut out = String::from(
        "# Reference\n\nWhat the program says of itself, written by `crates/cli/tests/cli/reference.rs`. \
         Fields of study.json: [study-json.md](study-json.md).\n\n## Commands\n\n",
    );
    fenced(&mut out, &said(&["--help"]));
    for command in [
        "run",
        "choose",
        "tune",
        "compare",
        "report",
        "site",
        "publish",
        "record",
        "fit",
        "crash",
        "query",
        "clear",
        "check",
        "selftest",
        "stores",
        "fetch-store",
        "jobs",
    ] {
        write!(out, "### kvtrial {command}\n\n").unwrap();
        fenced(&mut out, &said(&[command, "--help"]));
    }
    out.push_str("## Jobs\n\n");
    fenced(&mut out, &said(&["jobs"]));
    for job in ::jobs::all() {
        fenced(&mut out, &said(&["jobs", job.name]));
    }
    stores(&mut out);
    reasons(&mut out);
    out
}

#[test]
fn the_reference_in_the_book_is_what_the_program_says_of_itself() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    let reference = reference();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &reference).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = reference.lines().zip(written.lines()).find(|(says, book)| says != book);
    assert!(
        reference == written,
        "docs/reference.md is out of date, first here: {differs:?}; UPDATE_GOLDEN=1 writes it"
    );
}

#[test]
fn a_parameter_that_is_left_out_above_a_table_is_at_its_default() {
    for (job, name, value) in words::parameters::SILENT {
        let params = jobs::find(job).unwrap().params;
        let known = params.iter().find(|param| param.name == name);
        assert_eq!(known.map(|param| param.default), Some(value), "{job} {name}");
    }
}
