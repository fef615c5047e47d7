//! Writing a report beside its study: `report.html`, and `plots/` as SVG and PNG.

use crate::failure::CommandFailure;
use ::page::{Named, Report};
use std::fs;
use std::io::Write;
use std::path::Path;
use study::Study;

/// The page's file name.
pub const PAGE: &str = "report.html";

/// Writes the report of one study into its directory.
pub fn write(directory: &Path, study: &Study) -> Result<(), CommandFailure> {
    write_all(directory, vec![Named { label: String::new(), study }])
}

/// Writes the report of these studies into a directory, which is made if need be.
pub fn write_all(directory: &Path, studies: Vec<Named<'_>>) -> Result<(), CommandFailure> {
    write_report(directory, &Report::new(studies))
}

/// Writes a report into a directory, which is made if need be.
pub fn write_report(directory: &Path, report: &Report<'_>) -> Result<(), CommandFailure> {
    save(directory, PAGE, report.html().as_bytes())?;
    plots(directory, report)
}

#[cfg(feature = "plots")]
fn plots(directory: &Path, report: &Report<'_>) -> Result<(), CommandFailure> {
    let plots = directory.join("plots");
    if plots.is_symlink() {
        return Err(CommandFailure::usage(format!(
            "{}: it is a link, and nothing is written where it leads; remove it. The study itself is kept",
            plots.display()
        )));
    }
    for plot in report.plots()? {
        save(&plots, &format!("{}.svg", plot.name), plot.svg.as_bytes())?;
        save(&plots, &format!("{}.png", plot.name), &plot.png)?;
    }
    Ok(())
}

#[cfg(not(feature = "plots"))]
fn plots(_: &Path, _: &Report<'_>) -> Result<(), CommandFailure> {
    Ok(())
}

fn save(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), CommandFailure> {
    let path = directory.join(name);
    fs::create_dir_all(directory)
        .and_then(|()| archive::replace_file(&path, |file| file.write_all(bytes)))
        .map_err(|error| CommandFailure::usage(format!("{}: {error}. The study itself is kept", path.display())))
}
