//! The page in a real browser.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod browser;
mod sample;

use browser::{Browser, Screen};
use report::{Named, Report};
use serde_json::json;
use std::path::PathBuf;
use study::Study;

const DESK: Screen = Screen { width: 1200, scheme: "light" };
const NIGHT: Screen = Screen { width: 1200, scheme: "dark" };
const PHONE: Screen = Screen { width: 360, scheme: "light" };

fn html(studies: &[(&str, &Study)]) -> String {
    Report::new(studies.iter().map(|(label, study)| Named { label: (*label).to_owned(), study }).collect()).html()
}

struct Written {
    file: PathBuf,
    _directory: tempfile::TempDir,
}

fn written(html: &str) -> Written {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report.html");
    std::fs::write(&file, html).unwrap();
    Written { file, _directory: directory }
}

fn draws_all(browser: &mut Browser, page: &Written, screen: Screen) {
    browser.open(&page.file, screen);
    let undrawn = browser.evaluate(
        "document.querySelectorAll('details.part').forEach(d => { d.open = true; }); kvtrialPage.drawAll();
         [...document.querySelectorAll('.chart')].filter(c => !c.querySelector('svg path')).map(c => c.parentElement.id).join()",
    );
    assert_eq!(undrawn, json!(""), "charts that were not drawn");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    assert!(browser.requests.is_empty(), "{:?}", browser.requests);
}

#[test]
fn every_chart_is_saved_as_a_picture_of_its_own_by_the_page_itself() {
    let mut browser = Browser::start();
    browser.open(&written(&html(&[("", &sample::usual())])).file, DESK);
    let unsaved = browser.evaluate(
        "[...document.querySelectorAll('figure')].filter(figure => {
           const svg = kvtrialPage.svg(figure);
           const parsed = new DOMParser().parseFromString(svg, 'image/svg+xml');
           return parsed.querySelector('parsererror') || !parsed.querySelector('path') || !svg.includes('</text>')
             || figure.querySelector('button[data-chart]').hidden;
         }).map(figure => figure.id).join()",
    );
    assert_eq!(unsaved, json!(""), "charts that were not saved");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn every_chart_is_drawn_without_an_error_and_nothing_is_asked_of_any_network() {
    let mut browser = Browser::start();
    let (usual, troubled, sweep) = (sample::usual(), sample::troubled(), sample::sweep(4, 6, 3, 40));
    let one = sample::study(sample::usual().cells.split_off(6));
    let empty = sample::study(Vec::new());
    let (tuned, searched, faulted) = (sample::tuned(), sample::searched(), sample::faulted());
    let (crashed, needed) = (sample::crashed(), sample::needed());
    for studies in [
        vec![("", &needed)],
        vec![("", &tuned)],
        vec![("", &searched)],
        vec![("", &faulted)],
        vec![("", &crashed)],
        vec![("", &usual)],
        vec![("", &troubled)],
        vec![("", &sweep)],
        vec![("", &one)],
        vec![("", &empty)],
        vec![("before", &usual), ("after", &troubled)],
    ] {
        draws_all(&mut browser, &written(&html(&studies)), DESK);
    }
}

#[test]
fn every_cell_of_a_large_study_is_in_the_table() {
    let mut browser = Browser::start();
    let study = sample::sweep(50, 10, 2, 30);
    browser.open(&written(&html(&[("", &study)])).file, DESK);
    let rows = browser
        .evaluate("[...document.querySelectorAll('#cells tbody tr')].map(r => r.textContent.replace(/\\s+/g, ' '))");
    let rows: Vec<&str> = rows.as_array().unwrap().iter().filter_map(|row| row.as_str()).collect();
    assert_eq!(rows.len(), 500);
    for cell in &study.cells {
        let clients = format!("clients={}", cell.params["clients"]);
        assert!(rows.iter().any(|row| row.contains(&cell.store) && row.contains(&clients)), "{} {clients}", cell.store);
    }
}

#[test]
fn what_a_user_or_a_store_named_is_text_and_never_code() {
    let mut browser = Browser::start();
    let study = sample::troubled();
    let page = written(&html(&[("", &study), (sample::HOSTILE, &study)]));
    draws_all(&mut browser, &page, DESK);
    assert_eq!(
        browser.evaluate("document.title !== 'broken' && document.querySelectorAll('img').length === 0"),
        json!(true)
    );
    let shown = browser.evaluate("document.querySelector('#cells').textContent");
    assert!(shown.as_str().unwrap().contains(sample::HOSTILE));
}

#[test]
fn a_phone_scrolls_down_and_never_sideways() {
    let mut browser = Browser::start();
    let few = [sample::usual(), sample::troubled(), sample::tuned(), sample::crashed(), sample::needed()];
    for study in few.into_iter().chain([sample::sweep(3, 5, 3, 40)]) {
        draws_all(&mut browser, &written(&html(&[("", &study)])), PHONE);
        assert_eq!(browser.evaluate("document.documentElement.scrollWidth"), json!(360));
    }
}

#[test]
fn a_page_follows_the_readers_scheme_and_the_button_turns_it() {
    let mut browser = Browser::start();
    let page = written(&html(&[("", &sample::usual())]));
    draws_all(&mut browser, &page, NIGHT);
    let paper = "[getComputedStyle(document.body).backgroundColor, document.querySelector('.chart svg rect').getAttribute('fill')].join()";
    let dark = browser.evaluate(paper);
    browser.evaluate("document.getElementById('theme').click()");
    let light = browser.evaluate(paper);
    assert_eq!([dark, light], [json!("rgb(20, 24, 29),#14181d"), json!("rgb(255, 255, 255),#ffffff")]);
}

#[test]
fn the_raw_data_in_the_page_is_the_study() {
    let mut browser = Browser::start();
    let study = sample::troubled();
    browser.open(&written(&html(&[("", &study)])).file, DESK);
    let json = browser.evaluate("kvtrialPage.unpack('file-json-0').then(blob => blob.text())");
    assert_eq!(serde_json::from_str::<Study>(json.as_str().unwrap()).unwrap(), study);
    let csv = browser.evaluate("kvtrialPage.unpack('file-csv-0').then(blob => blob.text())");
    assert_eq!(csv.as_str().unwrap(), archive::cells_csv(&study));
}

#[test]
fn paper_shows_folded_parts_too() {
    let mut browser = Browser::start();
    browser.open(&written(&html(&[("", &sample::sweep(3, 9, 2, 20))])).file, DESK);
    let pdf = browser.call("Page.printToPDF", json!({}));
    assert!(pdf["data"].as_str().is_some_and(|data| data.len() > 10_000));
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    assert_eq!(
        browser.evaluate("document.documentElement.dataset.drawn === document.documentElement.dataset.charts"),
        json!(true)
    );
}
