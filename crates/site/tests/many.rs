//! A site of five hundred studies: how long it takes, and how much of it has to be read before the first answer.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code)] // it serves the reports, too
#[path = "../../report/tests/browser/mod.rs"]
mod browser;
mod sample;

use browser::{Browser, Screen};
use sample::{cell, study, timed};
use site::{Collection, write};
use std::path::Path;
use std::time::{Duration, Instant};
use study::Cell;
use tempfile::TempDir;

const STORES: [&str; 8] = ["lmdb", "sqlite", "redb", "fjall", "rocksdb", "leveldb", "tkrzw", "berkeleydb"];
/// Bytes of the first page.
const MOST_BYTES: u64 = 1_000_000;

/// A study as a command of a minute makes it: eight stores, six trials, on one of five machines, with one of twenty parameters.
fn one_of_many(number: usize) -> study::Study {
    let of_store = |(at, store): (usize, &&str)| -> Cell {
        let mut cell = timed(cell(store, &format!("{}.{}", at, number / 100), 1.0 + at as f64 / 3.0));
        cell.params.insert("clients".into(), (1 + number % 20).to_string());
        cell.params.insert("value".into(), "100".into());
        cell
    };
    study(
        STORES.iter().enumerate().map(of_store).collect(),
        &format!("Processor {}", number % 5),
        1 + (number % 28) as u32,
    )
}

fn put_many(root: &Path, count: usize) {
    (0..count).for_each(|number| {
        archive::save_packed_study(&root.join(format!("study-{number:03}")), &one_of_many(number)).unwrap();
    });
}

/// The time it takes, and the bytes of the first page.
fn build(root: &TempDir, count: usize) -> (Duration, u64) {
    let (studies, out) = (root.path().join("studies"), root.path().join("site"));
    put_many(&studies, count);
    let begun = Instant::now();
    write(&Collection::read(&[studies]).unwrap(), &out).unwrap();
    (begun.elapsed(), out.join("index.html").metadata().unwrap().len())
}

#[test]
fn a_tenth_of_five_hundred_studies_takes_a_tenth_of_the_first_page() {
    let root = TempDir::new().unwrap();
    let (elapsed, bytes) = build(&root, 50);
    eprintln!("50 studies: {elapsed:?}, {bytes} bytes");
    // The style and code of a page are there once.
    assert!(bytes < MOST_BYTES / 10 + 40_000, "{bytes}");
}

#[test]
#[ignore = "minutes without optimisation: cargo test --release -p kvtrial-site --test many -- --ignored"]
fn five_hundred_studies_take_ten_seconds_a_megabyte_and_a_second_to_the_first_paint() {
    let root = TempDir::new().unwrap();
    let (elapsed, bytes) = build(&root, 500);
    let mut browser = Browser::start();
    browser.open(&root.path().join("site/index.html"), Screen { width: 1200, scheme: "light" });
    let paint = browser.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime");
    let paint_ms = paint.as_f64().unwrap();
    eprintln!("500 studies: {elapsed:?}, first page {bytes} bytes, first paint after {paint_ms:.0} ms");
    assert!(bytes <= MOST_BYTES, "{bytes}");
    assert!(paint_ms <= 1000.0, "{paint_ms}");
    if !cfg!(debug_assertions) {
        assert!(elapsed <= Duration::from_secs(10), "{elapsed:?}");
    }
}
