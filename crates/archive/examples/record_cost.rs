//! What keeping a study on disk costs: thousands of trials, each with a full time series, recorded one after the other.
//!
//! `cargo run --release -p kvtrial-archive --example record_cost -- DIR [TRIALS]`

use archive::{StudyDir, read_study};
use std::path::Path;
use std::time::Instant;
use study::{Cell, SCHEMA, SeriesPoint, Study, TrialRecord};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name a directory that does not exist yet")?;
    let trials: u32 = arguments.next().map_or(Ok(5_000), |text| text.parse())?;
    let point = SeriesPoint { at_s: 1.25, operations: 123_456, errors: 0, p99_ns: 123_456, max_ns: 1_234_567 };
    let cells = 20;
    let study = Study { schema: SCHEMA, cells: vec![Cell::default(); cells], ..Study::default() };
    let mut directory = StudyDir::create(Path::new(&path), study)?;
    let mut costs_s = Vec::new();
    for order in 1..=trials {
        let makespan_s = 1.0 + f64::from(order % 17) / 100.0;
        let series = vec![point; 600];
        let trial = TrialRecord { order, makespan_s, operations: 1, series, ..TrialRecord::default() };
        let begun = Instant::now();
        directory.record(order as usize % cells, trial)?;
        costs_s.push(begun.elapsed().as_secs_f64());
    }
    let total: f64 = costs_s.iter().sum();
    let begun = Instant::now();
    directory.close()?;
    let closing = begun.elapsed();
    let size_bytes = std::fs::metadata(Path::new(&path).join("study.json"))?.len();
    let begun = Instant::now();
    let read = read_study(Path::new(&path))?;
    let recorded: usize = read.cells.iter().map(|cell| cell.trials.len()).sum();
    println!("{recorded} trials of 600 points: study.json has {:.1} MB", size_bytes as f64 / 1e6);
    println!(
        "a trial costs {:.2} ms in the mean, {:.2} ms in the median, {:.1} ms at most",
        total / f64::from(trials) * 1e3,
        stats::median(&costs_s).unwrap_or_default() * 1e3,
        stats::quantile(&costs_s, 1.0).unwrap_or_default() * 1e3
    );
    println!("closing took {:.2} s, reading it again {:.2} s", closing.as_secs_f64(), begun.elapsed().as_secs_f64());
    Ok(())
}
