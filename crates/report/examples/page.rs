//! Draws a report without running a study: `page OUT DIR...` of studies on disk, `page OUT sample:NAME` of a made-up one
//! (`usual`, `troubled`, `one`, `sweep`, `large`, `tuned`, `searched`). For looking at pages.

#[path = "../tests/sample/mod.rs"]
mod sample;

use report::{Named, Report};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;
use study::Study;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [out, sources @ ..] = arguments.as_slice() else { return Err("page OUT (DIR... | sample:NAME)".into()) };
    let studies: Vec<(String, Study)> =
        sources.iter().map(|source| Ok((source.clone(), read(source)?))).collect::<Result<_, Box<dyn Error>>>()?;
    let begun = Instant::now();
    let named = studies.iter().map(|(label, study)| Named { label: label.clone(), study }).collect();
    let report = Report::new(named);
    let html = report.html();
    let made = begun.elapsed();
    fs::create_dir_all(Path::new(out).join("plots"))?;
    fs::write(Path::new(out).join("report.html"), &html)?;
    let begun = Instant::now();
    let plots = report.plots()?;
    println!("page {} bytes in {made:?}, {} plots in {:?}", html.len(), plots.len(), begun.elapsed());
    for plot in plots {
        fs::write(Path::new(out).join("plots").join(format!("{}.svg", plot.name)), plot.svg)?;
        fs::write(Path::new(out).join("plots").join(format!("{}.png", plot.name)), plot.png)?;
    }
    Ok(())
}

fn read(source: &str) -> Result<Study, Box<dyn Error>> {
    Ok(match source.strip_prefix("sample:") {
        None => archive::read_figures(Path::new(source))?,
        Some("usual") => sample::usual(),
        Some("troubled") => sample::troubled(),
        Some("one") => sample::study(sample::usual().cells.split_off(6)),
        Some("tuned") => sample::tuned(),
        Some("searched") => sample::searched(),
        Some("sweep") => sample::sweep(4, 8, 3, 100),
        Some("crashed") => sample::crashed(),
        Some("large") => sample::sweep(50, 10, 5, 100),
        Some(name) => return Err(format!("there is no sample '{name}'").into()),
    })
}
