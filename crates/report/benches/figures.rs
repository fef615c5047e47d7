//! What reports of large studies cost: `cargo bench -p kvtrial-report --bench figures`. Needs Chromium.
//!
//! Studies are made up, of the size real ones have: trials of about a second, three thousand bytes each.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../tests/browser/mod.rs"]
#[allow(dead_code)]
mod browser;
#[path = "../tests/sample/mod.rs"]
mod sample;

use browser::{Browser, Screen};
use report::{Named, Report};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Stores, values of the varied parameter, trials per cell, points over time per trial.
const CELLS_500: [u32; 4] = [50, 10, 5, 100];
const TRIALS_100_000: [u32; 4] = [50, 10, 200, 10];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("write") => write(Path::new(&arguments[2])),
        Some("report") => report(Path::new(&arguments[2])),
        Some("statistics") => statistics(),
        _ => figures(),
    }
}

fn figures() {
    let place = tempfile::tempdir().unwrap();
    let itself = |word: &str| {
        let output = Command::new(std::env::current_exe().unwrap()).arg(word).arg(place.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    itself("write");
    let bytes = fs::metadata(place.path().join("study.json")).unwrap().len();
    println!("report of 100,000 trials ({} MB of study.json): {}", bytes / 1_000_000, itself("report").trim());
    statistics();

    let [stores, values, trials, points] = CELLS_500;
    let study = sample::sweep(stores, values, trials, points);
    let begun = Instant::now();
    let html = Report::new(vec![Named { label: String::new(), study: &study }]).html();
    let made = begun.elapsed().as_secs_f64();
    let file = place.path().join("large.html");
    fs::write(&file, &html).unwrap();
    let mut browser = Browser::start();
    let begun = Instant::now();
    browser.call("Performance.enable", json!({ "timeDomain": "threadTicks" }));
    browser.open(&file, Screen { width: 1200, scheme: "light" });
    // Two frames later what is in view is on the screen.
    browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
    let shown = begun.elapsed().as_secs_f64();
    let metrics = browser.call("Performance.getMetrics", json!({}))["metrics"].clone();
    let cpu_s = |name: &str| {
        let metric = metrics.as_array().unwrap().iter().find(|metric| metric["name"] == name);
        metric.and_then(|metric| metric["value"].as_f64()).unwrap_or_default()
    };
    let renderer = ["TaskDuration", "ScriptDuration", "LayoutDuration"].map(cpu_s);
    browser.evaluate(
        "document.querySelectorAll('details.part').forEach(d => { d.open = true; }); kvtrialPage.drawAll(); true",
    );
    let all = begun.elapsed().as_secs_f64();
    println!(
        "page of 500 cells ({} kB, made in {made:.2} s): shown by Chromium in {shown:.2} s ({:.2} s of CPU in the page, of it {:.2} s scripts, {:.2} s layout), every chart of every combination drawn in {all:.2} s",
        html.len() / 1000,
        renderer[0],
        renderer[1],
        renderer[2]
    );
}

fn write(place: &Path) {
    let [stores, values, trials, points] = TRIALS_100_000;
    archive::save_study(place, &sample::sweep(stores, values, trials, points)).unwrap();
}

/// As `kvtrial report DIR` does it; prints what each step took, and the peak of its own memory.
fn report(place: &Path) {
    let mut clock = Clock::start();
    let study = archive::read_figures(place).unwrap();
    let read = clock.lap();
    let report = Report::new(vec![Named { label: String::new(), study: &study }]);
    let charts = clock.lap();
    fs::write(place.join("report.html"), report.html()).unwrap();
    let html = clock.lap();
    for plot in report.plots().unwrap() {
        fs::write(place.join(format!("{}.svg", plot.name)), plot.svg).unwrap();
        fs::write(place.join(format!("{}.png", plot.name)), plot.png).unwrap();
    }
    let plots = clock.lap();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    println!(
        "{}, peak resident memory {} (reading {read}, statistics and charts {charts}, page {html}, plots {plots})",
        Clock { at: clock.begun, begun: clock.begun }.lap(),
        peak.trim()
    );
}

const ROUNDS: u32 = 50;

/// What statistics add to a study of half a minute, as `kvtrial run` computes them: summaries after every trial, at the end
/// budgets, rankings and charts; and what its page and plots take.
fn statistics() {
    let mut study = sample::usual();
    let measured_s: f64 = study.cells.iter().flat_map(|cell| &cell.trials).map(|trial| trial.makespan_s).sum();
    let mut clock = Clock::start();
    // Processor time is counted in hundredths of a second, so: often.
    for _ in 0..ROUNDS {
        for cell in &mut study.cells {
            for trial in std::mem::take(&mut cell.trials) {
                cell.trials.push(trial);
                analysis::summarise(cell);
            }
        }
        analysis::fill_budgets(&mut study);
        Report::new(vec![Named { label: String::new(), study: &study }]);
        terminal::study_table(&study, terminal::Colour::Never);
    }
    let statistics_s = clock.lap().cpu_s / f64::from(ROUNDS);
    let report = Report::new(vec![Named { label: String::new(), study: &study }]);
    report.html();
    let html = clock.lap();
    let plots = report.plots().unwrap().len();
    let drawn = clock.lap();
    println!(
        "study of {measured_s:.1} s of trials: statistics {:.3} % of it ({:.1} ms of CPU), page {html}, {plots} plots {drawn}",
        100.0 * statistics_s / measured_s,
        statistics_s * 1e3
    );
}

/// Time of this process, all its threads, and of the wall.
#[derive(Clone, Copy)]
struct Moment {
    cpu_s: f64,
    at: Instant,
}

impl Moment {
    fn now() -> Moment {
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        // User and system time, in hundredths of a second on every Linux there is.
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Moment { cpu_s: ticks as f64 / 100.0, at: Instant::now() }
    }
}

struct Clock {
    begun: Moment,
    at: Moment,
}

impl Clock {
    fn start() -> Clock {
        let now = Moment::now();
        Clock { begun: now, at: now }
    }

    /// What passed since the last call.
    fn lap(&mut self) -> Lap {
        let now = Moment::now();
        let before = std::mem::replace(&mut self.at, now);
        Lap { cpu_s: now.cpu_s - before.cpu_s, wall_s: (now.at - before.at).as_secs_f64() }
    }
}

#[derive(Clone, Copy)]
struct Lap {
    cpu_s: f64,
    wall_s: f64,
}

impl std::fmt::Display for Lap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} s of CPU, {:.2} s of wall", self.cpu_s, self.wall_s)
    }
}
