//! What the documents name must be there.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Words in back ticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

#[test]
fn every_test_the_proofs_name_is_in_the_file_they_name() {
    let proofs = read("docs/proofs.md");
    let mut named = 0;
    for line in proofs.lines().filter(|line| line.starts_with('|') && line.contains(".rs`")) {
        let mut source = String::new();
        for word in quoted(line) {
            if word.ends_with(".rs") {
                source = read(word);
            } else if !source.is_empty() {
                assert!(source.contains(&format!("fn {word}()")), "{word} is not a test there: {line}");
                named += 1;
            }
        }
        assert!(!source.is_empty(), "{line}");
    }
    assert!(named >= 18, "only {named} tests are named");
}

#[test]
fn the_readme_fits_in_180_lines() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 180, "README.md has {lines} lines; what is too much belongs into docs/");
}

#[test]
fn every_file_the_documents_link_to_is_there() {
    let mut links = 0;
    let book =
        std::fs::read_dir(root().join("docs")).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap());
    let book: Vec<String> = book.filter(|page| page.ends_with(".md")).map(|page| format!("docs/{page}")).collect();
    let summary = read("docs/SUMMARY.md");
    for page in &book {
        let name = page.trim_start_matches("docs/");
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "docs/SUMMARY.md does not list {name}");
    }
    for document in ["README.md", "CONTRIBUTING.md"].into_iter().chain(book.iter().map(String::as_str)) {
        let text = read(document);
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.is_empty() && !target.starts_with("http")) {
            let target = target.split('#').next().unwrap_or_default();
            let place = root().join(document).with_file_name(target);
            assert!(place.exists(), "{document} links to {target}");
            links += 1;
        }
    }
    assert!(links > 40, "{links} links");
}

/// Every name a study can hold is explained.
#[test]
fn every_column_of_cells_csv_is_explained() {
    let study = study::Study { cells: vec![study::Cell::default()], ..study::Study::default() };
    let explained = read("docs/study-json.md");
    let csv = archive::cells_csv(&study);
    let columns = csv.lines().next().unwrap().split(',');
    let missing: Vec<&str> = columns
        .map(|column| column.trim_end_matches("_low").trim_end_matches("_high"))
        .filter(|column| !explained.contains(&format!("`{column}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let cell = serde_json::to_value(study::Cell::default()).unwrap();
    let trial = serde_json::to_value(study::TrialRecord::default()).unwrap();
    for field in cell.as_object().unwrap().keys().chain(trial.as_object().unwrap().keys()) {
        assert!(explained.contains(&format!("`{field}`")), "{field} is not explained");
    }
}
