//! Sites made of studies with known figures.
#![allow(clippy::unwrap_used)]

use analysis::summarise;
use site::{Collection, boards, histories, write};
use std::path::{Path, PathBuf};
use study::{Answer, Cell, Class, Durability, HostFacts, SCHEMA, Study, TrialRecord};
use tempfile::TempDir;

/// A cell whose trials take about this long.
fn cell(store: &str, version: &str, typical_s: f64) -> Cell {
    let trial = |share: f64| TrialRecord {
        makespan_s: typical_s * share,
        operations: 1_000,
        answer: Answer { digest: "sha256:1".into(), ..Answer::default() },
        ..TrialRecord::default()
    };
    let mut cell = Cell {
        job: "ycsb".into(),
        store: store.into(),
        params: [("clients".to_owned(), "16".to_owned())].into(),
        class: Class::Embedded,
        durability: Some(Durability::Os),
        product: store.split(['@', ',']).next().unwrap_or_default().to_uppercase(),
        store_version: version.into(),
        set_up: vec!["PRAGMA synchronous = off;".into()],
        trials: [0.99, 1.0, 1.01, 0.995, 1.005, 1.0].map(trial).into(),
        ..Cell::default()
    };
    summarise(&mut cell);
    cell
}

fn study(cells: Vec<Cell>, cpu: &str, day: u32) -> Study {
    Study {
        schema: SCHEMA,
        kvtrial: "0.1.0".into(),
        command: ["kvtrial", "run", "ycsb", "-s", "lmdb"].map(str::to_owned).into(),
        seed: 42,
        started_at: format!("2026-11-{day:02}T10:00:00Z"),
        host: HostFacts { cpu: cpu.into(), cpus: 2, memory_bytes: 24 << 30, ..HostFacts::default() },
        cells,
        ..Study::default()
    }
}

fn put(root: &Path, name: &str, study: &Study) -> PathBuf {
    let directory = root.join(name);
    std::fs::create_dir_all(&directory).unwrap();
    archive::save_study(&directory, study).unwrap();
    directory
}

fn read(root: &TempDir) -> Collection {
    Collection::read(&[root.path().to_owned()]).unwrap()
}

#[test]
fn results_share_a_list_only_where_job_parameters_machine_class_and_durability_are_equal() {
    let root = TempDir::new().unwrap();
    let mut others = vec![cell("sqlite", "3", 2.0)];
    put(root.path(), "a", &study(vec![cell("lmdb", "0.9", 1.0)], "One", 1));
    put(root.path(), "b", &study(others.clone(), "One", 2));
    put(root.path(), "another-machine", &study(others.clone(), "Two", 3));
    others[0].params.insert("clients".into(), "1".into());
    put(root.path(), "other-clients", &study(others.clone(), "One", 4));
    others[0].durability = Some(Durability::Commit);
    put(root.path(), "other-level", &study(others.clone(), "One", 5));
    let collection = read(&root);
    let boards = boards(&collection);
    let of = |at: usize| boards[at].entries.iter().map(|entry| entry.cell.store.as_str()).collect::<Vec<_>>();
    let mut lists: Vec<Vec<&str>> = (0..boards.len()).map(of).collect();
    lists.sort();
    assert_eq!(lists, [vec!["lmdb", "sqlite"], vec!["sqlite"], vec!["sqlite"], vec!["sqlite"]]);
    let board = boards.iter().find(|board| board.entries.len() == 2).unwrap();
    assert_eq!(board.leaders().map(|entry| entry.cell.store.as_str()).collect::<Vec<_>>(), ["lmdb"]);
    let behind = board.next().unwrap().behind.unwrap();
    assert!((behind.value - 2.0).abs() < 0.05 && behind.low > 1.9, "{behind:?}");
}

#[test]
fn the_newest_result_of_a_version_stands_and_a_void_one_is_shown_but_has_no_place() {
    let root = TempDir::new().unwrap();
    put(root.path(), "old", &study(vec![cell("lmdb", "0.9", 5.0)], "One", 1));
    let mut void = cell("redb", "4", 0.1);
    void.trials[0].answer.digest = "sha256:2".into();
    summarise(&mut void);
    assert!(!void.verdict.is_ranked(), "{:?}", void.verdict);
    put(root.path(), "new", &study(vec![cell("lmdb", "0.9", 1.0), void, cell("sqlite", "3", 2.0)], "One", 2));
    let collection = read(&root);
    let boards = boards(&collection);
    assert_eq!(boards.len(), 1);
    let found: Vec<(&str, String)> =
        boards[0].entries.iter().map(|entry| (entry.cell.store.as_str(), entry.rank.text())).collect();
    assert_eq!(found, [("lmdb", "1".to_owned()), ("sqlite", "2".to_owned()), ("redb", String::new())]);
    assert!((boards[0].entries[0].figure.unwrap().value - 1.0).abs() < 0.01);
    let out = root.path().join("site");
    write(&collection, &out).unwrap();
    let page = std::fs::read_to_string(out.join("index.html")).unwrap();
    assert!(page.contains("<strong>void</strong>") && page.contains("<strong>lmdb</strong> is first."), "{page}");
    let page = std::fs::read_to_string(out.join(format!("boards/{}.html", boards[0].id))).unwrap();
    assert!(page.contains("kvtrial run ycsb -s lmdb") && page.contains("PRAGMA synchronous = off;"), "{page}");
    for page in ["stores/LMDB.html", "jobs/ycsb.html", "studies/new/report.html", "studies/old/study.json"] {
        assert!(out.join(page).is_file(), "{page}");
    }
}

#[test]
fn a_version_that_changed_something_is_named_and_one_that_did_not_is_not() {
    let root = TempDir::new().unwrap();
    for (at, (version, typical_s)) in [("7.0", 2.0), ("8.2", 2.0), ("9.1", 1.0)].into_iter().enumerate() {
        let cells = vec![cell(&format!("redis@{version}"), version, typical_s)];
        put(root.path(), version, &study(cells, "One", at as u32 + 1));
    }
    let collection = read(&root);
    let histories = histories(&collection);
    assert_eq!((histories.len(), histories[0].store.as_str(), histories[0].results.len()), (1, "redis", 3));
    let [change] = &histories[0].changes[..] else { panic!("{:?}", histories[0].changes) };
    assert_eq!((change.from.as_str(), change.to.as_str()), ("8.2", "9.1"));
    assert!((change.better.unwrap().value - 2.0).abs() < 0.05, "{change:?}");
}

#[test]
fn a_directory_without_studies_and_a_study_newer_than_this_build_are_refused_by_name() {
    let root = TempDir::new().unwrap();
    let words = Collection::read(&[root.path().to_owned()]).unwrap_err().to_string();
    assert!(words.contains("there is no study in it"), "{words}");
    let newer = Study { schema: 99, ..study(vec![cell("lmdb", "0.9", 1.0)], "One", 1) };
    let directory = put(root.path(), "newer", &newer);
    let words = Collection::read(&[root.path().to_owned()]).unwrap_err().to_string();
    assert!(words.contains("99") && words.contains(directory.to_str().unwrap()), "{words}");
}

#[test]
fn words_of_a_study_are_text_in_a_page_and_nothing_is_fetched() {
    let root = TempDir::new().unwrap();
    let mut odd = cell("lmdb", "<script>alert(1)</script>", 1.0);
    odd.product = "../../<b>".into();
    put(root.path(), "a&b \"c\"", &study(vec![odd], "<i>One</i>", 1));
    let collection = read(&root);
    let out = root.path().join("site");
    write(&collection, &out).unwrap();
    let page = std::fs::read_to_string(out.join("index.html")).unwrap();
    assert!(
        !page.contains("<script>alert")
            && !page.contains("<i>One")
            && !page.contains("http://")
            && !page.contains("https://"),
        "{page}"
    );
    assert!(out.join("studies/a-b--c-/report.html").is_file());
    assert!(std::fs::read_dir(out.join("stores")).unwrap().count() == 1);
}
