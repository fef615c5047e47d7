//! `kvtrial report`: a study in another format.

use super::{report_files, tables};
use crate::args::{ReportArguments, StudyFormat};
use crate::failure::{self, CommandFailure};
use crate::output::{has_a_reader, print, shown};
use ::report::{Named, Report};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use study::Study;

/// Writes the study.
pub fn report(arguments: &ReportArguments) -> Result<u8, CommandFailure> {
    if matches!(arguments.format, StudyFormat::Html | StudyFormat::Png) {
        return drawn(arguments);
    }
    let [study] = arguments.studies.as_slice() else {
        return Err(CommandFailure::usage("this format holds one study; only --format html and png overlay several"));
    };
    let study = archive::read_study(study)?;
    match &arguments.out {
        None => match write(&study, arguments.format, &mut BufWriter::new(io::stdout().lock())) {
            Err(error) if has_a_reader(&error) => {
                return Err(CommandFailure::usage(format!("standard output: {error}")));
            }
            _ => {}
        },
        Some(path) => {
            archive::write_file(path, |file| write(&study, arguments.format, file)).map_err(|error| {
                CommandFailure::usage(format!(
                    "--out {}: {error}. Name a file you may write, in a directory that exists",
                    path.display()
                ))
            })?;
        }
    }
    Ok(failure::GOOD)
}

/// The page and the plots, or the plots alone.
fn drawn(arguments: &ReportArguments) -> Result<u8, CommandFailure> {
    let studies: Vec<(String, Study)> = arguments
        .studies
        .iter()
        .zip(labels(&arguments.studies))
        .map(|(path, label)| Ok((label, archive::read_figures(path)?)))
        .collect::<Result<_, CommandFailure>>()?;
    let out = match (&arguments.out, arguments.studies.as_slice()) {
        (Some(out), _) => out.clone(),
        (None, [one]) if one.is_dir() => one.clone(),
        (None, [one]) => one.parent().map(Path::to_owned).unwrap_or_default(),
        (None, _) => PathBuf::from("kvtrial-report"),
    };
    let named = studies.iter().map(|(label, study)| Named { label: label.clone(), study }).collect();
    let report = Report::new(named);
    let file = if arguments.format == StudyFormat::Png {
        report_files::write_plots(&out, &report)?;
        report_files::PLOTS
    } else {
        report_files::write_report(&out, &report)?;
        report_files::PAGE
    };
    print(&format!("Report: {}\n", out.join(file).display()))?;
    Ok(failure::GOOD)
}

/// Returns the names of studies: the last part of their paths where that is unique, else the whole path.
fn labels(paths: &[PathBuf]) -> Vec<String> {
    let directory =
        |path: &Path| if path.is_file() { path.parent().unwrap_or(path).to_owned() } else { path.to_owned() };
    let short: Vec<String> = paths
        .iter()
        .map(|path| directory(path).file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned())
        .collect();
    let unique = |label: &String| short.iter().filter(|other| *other == label).count() == 1;
    short
        .iter()
        .zip(paths)
        .map(|(label, path)| if unique(label) { label.clone() } else { path.display().to_string() })
        .collect()
}

fn write(study: &Study, format: StudyFormat, out: &mut impl Write) -> io::Result<()> {
    match format {
        StudyFormat::Html | StudyFormat::Png => Ok(()), // directories, written by `drawn`
        StudyFormat::Text => out.write_all(shown(&|colour| tables::text(study, colour)).as_bytes()),
        StudyFormat::Markdown => out.write_all(::terminal::study_markdown(study).as_bytes()),
        StudyFormat::Csv => archive::write_trials_csv(study, out),
        StudyFormat::CellsCsv => out.write_all(archive::cells_csv(study).as_bytes()),
        StudyFormat::Openmetrics => out.write_all(::terminal::study_openmetrics(study).as_bytes()),
        StudyFormat::Junit => out.write_all(::terminal::study_junit(study).as_bytes()),
        StudyFormat::Json => archive::write_study(study, out),
    }?;
    out.flush()
}
