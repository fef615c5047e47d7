//! What the documents name must be there.

#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use store::StoreInfo;
use study::Class;

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
fn the_readme_fits_in_160_lines() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 160, "README.md has {lines} lines; what is too much belongs into docs/");
}

/// The words in back ticks of the line that holds all of this.
fn named_in<'a>(text: &'a str, marks: &[&str]) -> BTreeSet<&'a str> {
    let line = text.lines().find(|line| marks.iter().all(|mark| line.contains(mark)));
    let line = line.unwrap_or_else(|| panic!("no line says {marks:?}"));
    let from = line.find(marks[0]).unwrap() + marks[0].len();
    quoted(&line[from..]).collect()
}

/// What cargo features add stores, but for those every build has.
fn drivers_of_full() -> BTreeSet<&'static str> {
    let manifest = read("crates/catalog/Cargo.toml");
    let usual = manifest.lines().find(|line| line.starts_with("default = ")).unwrap().to_owned();
    let drivers = catalog::all().filter_map(|info| info.driver).map(|driver| driver.feature);
    drivers.filter(|feature| !usual.contains(&format!("\"{feature}\""))).collect()
}

#[test]
fn the_documents_name_every_driver_that_the_feature_full_adds() {
    let full = drivers_of_full();
    assert!(full.contains("hbase") && !full.contains("sqlite"), "{full:?}");
    assert_eq!(named_in(&read("README.md"), &["`--features full` adds", "TLS"]), full);
    let contributing = read("CONTRIBUTING.md");
    let line = contributing.lines().find(|line| line.contains("build --release --features full")).unwrap();
    let named = line.split_once("# and ").unwrap().1.trim_end_matches(" and TLS").split(", ");
    assert_eq!(named.map(str::trim).collect::<BTreeSet<_>>(), full);
}

#[test]
fn the_documents_name_every_store_that_speaks_tls() {
    let speakers = catalog::all().filter(|info| info.has_option("tls")).map(|info| info.family);
    let servers = read("docs/servers.md");
    let (_, list) = servers.split_once("These stores have TLS: ").unwrap();
    let list = list.split_once('.').unwrap().0;
    assert_eq!(quoted(list).collect::<BTreeSet<_>>(), speakers.collect());
}

#[test]
fn the_table_of_engines_has_the_licences_packages_and_levels_of_the_registry() {
    let engines = read("docs/engines.md");
    let mut rows = 0;
    for row in engines
        .lines()
        .filter(|line| line.starts_with("| `") && (line.contains("`lib") || line.contains("`kvtrial fetch")))
    {
        let columns: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let info = catalog::find(columns[0].trim_matches('`')).unwrap();
        assert!(info.install.contains(columns[1].trim_matches('`')), "{row}: {}", info.install);
        assert_eq!(columns[2], info.licence, "{row}");
        let levels: BTreeSet<&str> = info.durabilities.iter().map(|level| level.name()).collect();
        assert_eq!(columns[3].split(", ").collect::<BTreeSet<_>>(), levels, "{row}");
        rows += 1;
    }
    let is_opened = |info: &&StoreInfo| info.class == Class::Embedded && info.driver.is_none() && info.name != "plugin";
    let opened = catalog::all().filter(is_opened);
    assert_eq!(rows, opened.count());
}

#[test]
fn the_guide_explains_every_exit_status_of_the_help() {
    let help = Command::new(env!("CARGO_BIN_EXE_kvtrial")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let guide = read("docs/guide.md");
    let (_, table) = guide.split_once("## Exit status").unwrap();
    let rows =
        table.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    let statuses: Vec<&str> = rows.map(|row| row.split('|').nth(1).unwrap().trim()).collect();
    let (_, said) = help.split_once("Exit status: ").unwrap();
    let said: Vec<&str> = said.split('.').next().unwrap().split("; ").filter_map(|it| it.split(' ').next()).collect();
    assert_eq!(statuses, said);
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

#[test]
fn the_story_of_a_hundred_million_items_has_the_figures_of_its_studies() {
    let stories = read("docs/stories.md");
    let mut cells = 0;
    for study in ["grow-100m", "grow-lmdb-100m", "grow-80m", "grow-20m", "grow-mariadb-20m"] {
        let study: serde_json::Value =
            serde_json::from_str(&read(&format!("docs/studies/{study}/study.json"))).unwrap();
        let million = study["input"]["items"].as_u64().unwrap() / 1_000_000;
        for cell in study["cells"].as_array().unwrap() {
            let (store, growth) =
                (cell["store"].as_str().unwrap().split(",durability").next().unwrap(), &cell["growth"]);
            let share = growth["last_tenth_per_s"].as_f64().unwrap() / growth["first_tenth_per_s"].as_f64().unwrap();
            let figures = [
                format!("| {million} M of "),
                format!("| {:.0} s |", cell["makespan_s"]["value"].as_f64().unwrap()),
                format!("({:+.0} %)", 100.0 * share - 100.0),
            ];
            let is_told = |row: &str| figures.iter().all(|figure| row.contains(figure));
            assert!(
                stories.lines().any(|row| row.starts_with(&format!("| {store}")) && is_told(row)),
                "{store}: {figures:?}"
            );
            cells += 1;
        }
    }
    assert_eq!(cells, 7);
}
