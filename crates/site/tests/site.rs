//! Sites made of studies with known figures.
#![allow(clippy::unwrap_used)]

mod sample;

use sample::{cell, put, read, study, void};
use site::{Collection, boards, histories, write};
use study::{Durability, Study};
use tempfile::TempDir;

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
    let void = void(cell("redb", "4", 0.1));
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
    assert!(page.contains("\"void\"") && page.contains("<strong>lmdb</strong> is first."), "{page}");
    let page = std::fs::read_to_string(out.join(format!("boards/{}.html", boards[0].id))).unwrap();
    assert!(
        page.contains("void</strong>")
            && page.contains("kvtrial run ycsb -s lmdb")
            && page.contains("PRAGMA synchronous = off;"),
        "{page}"
    );
    for page in [
        "stores/LMDB.html",
        "jobs/ycsb.html",
        "studies/new/report.html",
        "studies/old/study.json.xz",
        "studies/old/cells.csv",
    ] {
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

#[test]
fn only_what_is_made_from_the_trials_is_shown_of_a_study_and_not_what_lies_beside_it() {
    let root = TempDir::new().unwrap();
    let directory = put(root.path(), "a", &study(vec![cell("lmdb", "0.9", 1.0)], "One", 1));
    std::fs::write(directory.join("report.html"), "<script>forged</script>").unwrap();
    std::fs::write(directory.join("cells.csv"), "forged").unwrap();
    let out = root.path().join("site");
    write(&read(&root), &out).unwrap();
    for name in ["report.html", "cells.csv"] {
        let written = std::fs::read_to_string(out.join("studies/a").join(name)).unwrap();
        assert!(written.contains("lmdb") && !written.contains("forged"), "{name}");
    }
}

#[test]
fn a_packed_study_is_read_like_any_other_and_packed_the_same_each_time() {
    let root = TempDir::new().unwrap();
    let plain = study(vec![cell("lmdb", "0.9", 1.0)], "One", 1);
    archive::save_packed_study(&root.path().join("packed"), &plain).unwrap();
    let collection = read(&root);
    assert_eq!(collection.studies[0].study, plain);
    assert_eq!(archive::pack_study(&plain).unwrap(), std::fs::read(root.path().join("packed/study.json.xz")).unwrap());
}

#[test]
fn a_mark_is_shown_where_it_is_of_this_study_and_not_where_the_study_was_changed_since() {
    let root = TempDir::new().unwrap();
    let place = root.path().join("a");
    let mut measured = study(vec![cell("lmdb", "0.9", 1.0)], "One", 1);
    archive::save_packed_study(&place, &measured).unwrap();
    let digest = publish::digest_of(&place).unwrap();
    let verification = publish::Verification {
        mark: publish::StudyMark::Reproduced,
        study_sha256: digest,
        same: vec!["the answers of 1 cells".into()],
        ..publish::Verification::default()
    };
    verification.save(&place).unwrap();
    let page = |name: &str| {
        let out = root.path().join(name);
        write(&Collection::read(std::slice::from_ref(&place)).unwrap(), &out).unwrap();
        std::fs::read_to_string(out.join("index.html")).unwrap()
    };
    let marked = page("one");
    assert!(marked.contains("reproduced here") && marked.contains("the answers of 1 cells"), "{marked}");
    measured.started_at = "2026-11-09T10:00:00Z".into();
    archive::save_packed_study(&place, &measured).unwrap();
    let changed = page("other");
    assert!(changed.contains("as submitted") && !changed.contains("reproduced here"), "{changed}");
}
