//! What reports of large studies cost: `cargo bench -p kvtrial-page --bench figures`. Needs Chromium.
//!
//! Studies are made up, of the size real ones have: trials of about a second, three thousand bytes each.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../tests/browser/mod.rs"]
#[allow(dead_code)]
mod browser;
#[path = "../tests/sample/mod.rs"]
mod sample;

use browser::{Browser, Screen};
use page::{Named, Report};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Stores, values of the varied parameter, trials a cell, points over time a trial.
const CELLS_500: [u32; 4] = [50, 10, 5, 100];
const TRIALS_100_000: [u32; 4] = [50, 10, 200, 10];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("write") => write(Path::new(&arguments[2])),
        Some("report") => report(Path::new(&arguments[2])),
        _ => figures(),
    }
}

fn figures() {
    let place = tempfile::tempdir().unwrap();
    let itself = |word: &str| {
        let begun = Instant::now();
        let output = Command::new(std::env::current_exe().unwrap()).arg(word).arg(place.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (begun.elapsed().as_secs_f64(), String::from_utf8(output.stdout).unwrap())
    };
    itself("write");
    let bytes = fs::metadata(place.path().join("study.json")).unwrap().len();
    let (seconds, peak) = itself("report");
    println!(
        "report of 100,000 trials ({} MB of study.json): {seconds:.2} s, peak resident memory {}",
        bytes / 1_000_000,
        peak.trim()
    );

    let [stores, values, trials, points] = CELLS_500;
    let study = sample::sweep(stores, values, trials, points);
    let begun = Instant::now();
    let html = Report::new(vec![Named { label: String::new(), study: &study }]).html();
    let made = begun.elapsed().as_secs_f64();
    let file = place.path().join("large.html");
    fs::write(&file, &html).unwrap();
    let mut browser = Browser::start();
    let begun = Instant::now();
    browser.open(&file, Screen { width: 1200, scheme: "light" });
    // Two frames later what is in view is on the screen.
    browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
    let shown = begun.elapsed().as_secs_f64();
    browser.evaluate(
        "document.querySelectorAll('details.part').forEach(d => { d.open = true; }); kvtrialPage.drawAll(); true",
    );
    let all = begun.elapsed().as_secs_f64();
    println!(
        "page of 500 cells ({} kB, made in {made:.2} s): shown by Chromium in {shown:.2} s, every chart of every combination drawn in {all:.2} s",
        html.len() / 1000
    );
}

fn write(place: &Path) {
    let [stores, values, trials, points] = TRIALS_100_000;
    report::save_study(place, &sample::sweep(stores, values, trials, points)).unwrap();
}

/// As `kvtrial report DIR` does it; prints the peak of its own memory.
fn report(place: &Path) {
    let study = report::read_study(place).unwrap();
    let report = Report::new(vec![Named { label: String::new(), study: &study }]);
    fs::write(place.join("report.html"), report.html()).unwrap();
    for plot in report.plots().unwrap() {
        fs::write(place.join(format!("{}.svg", plot.name)), plot.svg).unwrap();
        fs::write(place.join(format!("{}.png", plot.name)), plot.png).unwrap();
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    println!("{}", peak.trim());
}
