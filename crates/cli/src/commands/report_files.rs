//! Writing a report beside its study: `report.html`, and `plots/` as SVG and PNG where the build draws them.

use crate::failure::CommandFailure;
use crate::output::print;
use ::report::{FindingsPage, Named, Report};
use std::fs;
use std::io::Write;
use std::path::Path;
use study::Study;

/// The page's file name.
pub const PAGE: &str = "report.html";
/// The directory of the charts as files.
pub const PLOTS: &str = "plots";
/// The variable that leaves the charts as files out where it is `never`: drawing takes a quarter of a second per run.
const WHETHER_PLOTS: &str = "KVTRIAL_PLOTS";

/// Writes the report of one study into its directory.
pub fn write(directory: &Path, study: &Study) -> Result<(), CommandFailure> {
    write_report(directory, &Report::new(vec![Named { label: String::new(), study }]))
}

/// Writes a report into a directory, which is made if need be.
pub fn write_report(directory: &Path, report: &Report<'_>) -> Result<(), CommandFailure> {
    save(directory, PAGE, report.html().as_bytes())?;
    if draws() { write_plots(directory, report) } else { Ok(()) }
}

/// Returns whether a report comes with its charts as files, in this build and by the user's environment.
fn draws() -> bool {
    cfg!(feature = "plots") && std::env::var_os(WHETHER_PLOTS).is_none_or(|value| value != "never")
}

/// Writes the report of a study whose table was printed, or not, and says where its files are: what becomes of standard output costs
/// nobody the report.
pub fn close(
    directory: &Path,
    study: &Study,
    files: &[&str],
    printed: Result<(), CommandFailure>,
) -> Result<(), CommandFailure> {
    write(directory, study)?;
    printed.and_then(|()| say_where(directory, files)).map_err(|failure| CommandFailure {
        message: format!("{}. The study and its {PAGE} are in {}", failure.message, directory.display()),
        ..failure
    })
}

/// Says where the files of a study are: these, and the plots where they are drawn.
fn say_where(directory: &Path, files: &[&str]) -> Result<(), CommandFailure> {
    let plots = draws().then_some(PLOTS);
    let all = [PAGE].into_iter().chain(files.iter().copied()).chain(plots);
    let paths: Vec<String> = all.map(|file| directory.join(file).display().to_string()).collect();
    print(&format!("Study: {}\n", paths.join(", ")))
}

/// Writes the charts of a report as SVG and PNG into `plots/` of a directory.
#[cfg(feature = "plots")]
pub fn write_plots(directory: &Path, report: &Report<'_>) -> Result<(), CommandFailure> {
    let plots = directory.join(PLOTS);
    if plots.is_symlink() {
        return Err(CommandFailure::usage(format!(
            "{}: it is a link, and kvtrial does not write through links; remove it. The study itself is kept",
            plots.display()
        )));
    }
    save_plots(&plots, report.plots()?)
}

#[cfg(feature = "plots")]
fn save_plots(plots: &Path, drawn: Vec<::report::Plot>) -> Result<(), CommandFailure> {
    for plot in drawn {
        save(plots, &format!("{}.svg", plot.name), plot.svg.as_bytes())?;
        save(plots, &format!("{}.png", plot.name), &plot.png)?;
    }
    Ok(())
}

/// Writes a page of findings into a directory, which is made if need be, with its charts as files where the build draws them, and these files beside it.
pub fn write_page(directory: &Path, page: &FindingsPage, files: &[(&str, String)]) -> Result<(), CommandFailure> {
    save(directory, PAGE, page.html().as_bytes())?;
    for (name, text) in files {
        save(directory, name, text.as_bytes())?;
    }
    #[cfg(feature = "plots")]
    if draws() {
        save_plots(&directory.join(PLOTS), page.plots()?)?;
    }
    Ok(())
}

/// Refuses: this build draws no plots.
#[cfg(not(feature = "plots"))]
pub fn write_plots(_: &Path, _: &Report<'_>) -> Result<(), CommandFailure> {
    Err(CommandFailure::usage(
        "this build draws no PNG; build kvtrial with --features plots, or save a chart as SVG from report.html",
    ))
}

fn save(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), CommandFailure> {
    let path = directory.join(name);
    fs::create_dir_all(directory)
        .and_then(|()| archive::replace_file(&path, |file| file.write_all(bytes)))
        .map_err(|error| CommandFailure::usage(format!("{}: {error}. The study itself is kept", path.display())))
}
