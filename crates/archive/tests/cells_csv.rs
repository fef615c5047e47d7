//! `cells.csv` as a spreadsheet reads it.

#![allow(clippy::unwrap_used)]

use archive::cells_csv;
use std::collections::BTreeMap;
use study::Study;
use testkit::studies::{self, Sample};

/// A small RFC 4180 reader: rows of fields.
fn parse(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut letters = text.chars().peekable();
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => field.push(letters.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {
                assert_eq!(letters.next(), Some('\n'), "every line ends in CRLF");
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            other => field.push(other),
        }
    }
    assert!(field.is_empty() && row.is_empty() && !quoted, "the last line ends like the others");
    rows
}

fn rows(study: &Study) -> Vec<BTreeMap<String, String>> {
    let mut rows = parse(&cells_csv(study)).into_iter();
    let header = rows.next().unwrap();
    rows.map(|row| {
        assert_eq!(row.len(), header.len());
        header.iter().cloned().zip(row).collect()
    })
    .collect()
}

#[test]
fn every_cell_has_one_row_with_its_figures_and_their_ends() {
    let rows = rows(&studies::fans());
    assert_eq!(rows.len(), 12);
    let redis = &rows[6];
    assert_eq!((&*redis["job"], &*redis["store"], &*redis["class"]), ("fans", "redis-unix", "network"));
    assert_eq!([&redis["makespan_s"], &redis["makespan_s_low"], &redis["makespan_s_high"]], ["3.33", "3.29", "3.4"]);
    assert_eq!((&*redis["verdict"], &*redis["durability"], &*redis["p99_ns"]), ("valid", "none", "41000"));
    assert_eq!(redis["params"], "clients=1 pipeline=1 policy=partition");
    assert_eq!(redis["answer_digest"], studies::DIGEST);
}

#[test]
fn what_is_not_known_is_empty_and_never_nought() {
    let rows = rows(&studies::fans());
    let couchdb = &rows[11];
    assert_eq!((&*couchdb["verdict"], &*couchdb["reasons"]), ("void", "not_started: 1"));
    for unknown in ["makespan_s", "ops_per_s", "p99_ns", "disk_bytes", "response_p50_ns", "answer_digest"] {
        assert_eq!(couchdb[unknown], "", "{unknown}");
    }
    assert_eq!(rows[2]["server_cpu_s"], "", "an embedded store has no server");
}

#[test]
fn one_trial_has_a_value_but_no_ends() {
    let study = studies::study(vec![Sample::new("ram", study::Class::Baseline, &[2.5], 100).cell()]);
    let rows = rows(&study);
    assert_eq!((&*rows[0]["makespan_s"], &*rows[0]["makespan_s_low"], &*rows[0]["trials"]), ("2.5", "", "1"));
}

#[test]
fn commas_quotes_and_line_breaks_in_a_field_stay_in_it() {
    let mut study = studies::fans();
    study.cells[0].store = "postgres,layout=\"a,b\"".into();
    study.cells[0].product = "two\r\nlines".into();
    let rows = rows(&study);
    assert_eq!((&*rows[0]["store"], &*rows[0]["product"]), ("postgres,layout=\"a,b\"", "two\\u000d\nlines"));
}
