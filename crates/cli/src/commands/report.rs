//! `kvtrial report`: a study in another format.

use crate::args::{ReportArguments, StudyFormat};
use crate::failure::{self, Failure};
use crate::terminal::colour;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use study::Study;

/// Writes the study.
pub fn report(arguments: &ReportArguments) -> Result<u8, Failure> {
    let study = ::report::read_study(&arguments.study)?;
    match &arguments.out {
        None => match write(&study, arguments.format, &mut BufWriter::new(io::stdout().lock())) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(Failure::usage(error)),
            _ => {}
        },
        Some(path) => File::create(path)
            .and_then(|file| write(&study, arguments.format, &mut BufWriter::new(file)))
            .map_err(|error| Failure::usage(format!("--out {}: {error}", path.display())))?,
    }
    Ok(failure::GOOD)
}

fn write(study: &Study, format: StudyFormat, out: &mut impl Write) -> io::Result<()> {
    match format {
        StudyFormat::Text => out.write_all(::report::study_table(study, colour()).as_bytes()),
        StudyFormat::Markdown => out.write_all(::report::study_markdown(study).as_bytes()),
        StudyFormat::Csv => ::report::write_trials_csv(study, out),
        StudyFormat::CellsCsv => out.write_all(::report::cells_csv(study).as_bytes()),
        StudyFormat::Openmetrics => out.write_all(::report::study_openmetrics(study).as_bytes()),
        StudyFormat::Junit => out.write_all(::report::study_junit(study).as_bytes()),
        StudyFormat::Json => ::report::write_study(study, out),
    }?;
    out.flush()
}
