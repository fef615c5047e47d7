//! Reading a study: its journal while it runs, else `study.json`, or the same packed.
//!
//! `study.json` is read cell by cell: a study of a hundred thousand trials is never held as text. The layout kvtrial writes (and jq, and most programs that indent by two) has each cell between a line `{` and a line `}` of the same
//! depth. In any other layout the whole is taken at once: right too, only larger.

use crate::error::DirectoryError;
use crate::journal;
use crate::json::parse;
use crate::packed::unpack;
use crate::{JOURNAL, PACKED, STUDY};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::path::{Path, PathBuf};
use study::{Cell, LatencyDistributions, SCHEMA, Study};

/// A study of at most this many trials is kept whole, whatever it is read for.
pub const MOST_WHOLE_TRIALS: usize = 20_000;

/// What is kept of a study's trials.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// All there is.
    All,
    /// Of studies with more than [`MOST_WHOLE_TRIALS`] trials, only the parts of a trial that figures need; curves only of the trial that
    /// stands for its cell.
    Figures,
}

/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 18;

/// Reads the study in a directory, finished or not, or a `study.json` by itself; changes nothing.
///
/// # Errors
/// There is none; it is damaged, not a study, or newer than this build reads; or two studies are mixed in the directory.
pub fn read_study(path: &Path) -> Result<Study, DirectoryError> {
    read(path, Keep::All)
}

/// Reads a study for a report: as [`read_study`], but of more than [`MOST_WHOLE_TRIALS`] trials only what a report shows is kept. The
/// curves of a hundred thousand trials take hundreds of megabytes, and a report draws those of one trial of each cell.
///
/// # Errors
/// As [`read_study`].
pub fn read_figures(path: &Path) -> Result<Study, DirectoryError> {
    read(path, Keep::Figures)
}

/// The directories below a named one that are looked into.
const DEPTH: usize = 4;

/// Returns the directories with a finished study, this one or those below it, in the order of their names.
pub fn studies_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    find(directory, DEPTH, &mut found);
    found
}

fn find(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if [STUDY, PACKED].iter().any(|name| directory.join(name).is_file()) {
        found.push(directory.to_owned());
        return;
    }
    let mut below: Vec<PathBuf> =
        std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    below.sort();
    if depth > 0 {
        below.iter().filter(|path| path.is_dir()).for_each(|path| find(path, depth - 1, found));
    }
}

/// Returns the schema that a study was written in; reading it gives every study the schema of this build.
///
/// # Errors
/// There is no study, or it cannot be read.
pub fn written_schema(path: &Path) -> Result<u32, DirectoryError> {
    let within = [JOURNAL, STUDY, PACKED].map(|name| path.join(name));
    let file =
        if path.is_file() { Some(path) } else { within.iter().map(PathBuf::as_path).find(|file| file.is_file()) };
    let file = file.ok_or_else(|| DirectoryError::Absent { path: path.to_owned() })?;
    let document = open_document(file)?;
    let schema = match file.ends_with(JOURNAL) {
        true => journal::schema(document.lines().next().transpose().unwrap_or_default().unwrap_or_default().as_bytes()),
        false => journal::schema(document),
    };
    schema.map_err(|error| damaged(file, &error))?.ok_or_else(|| DirectoryError::NotAStudy { path: file.to_owned() })
}

fn read(path: &Path, keep: Keep) -> Result<Study, DirectoryError> {
    if path.is_file() {
        return read_document(path, keep);
    }
    let (journal, document) = (path.join(JOURNAL), path.join(STUDY));
    let Some(entries) = open(&journal)? else {
        let documents = [document, path.join(PACKED)];
        let found = documents.iter().find(|document| document.exists());
        return found.map_or_else(
            || Err(DirectoryError::Absent { path: path.to_owned() }),
            |document| read_document(document, keep),
        );
    };
    let mut study = journal::replay(entries, &journal)?;
    // study.json may be older than the journal, but it cannot be of another study.
    if let Ok(other) = read_document(&document, Keep::Figures)
        && (other.started_at != study.started_at || other.seed != study.seed)
    {
        let (journal, document) = (study.started_at, other.started_at);
        return Err(DirectoryError::Mixed { path: path.to_owned(), journal, document });
    }
    study.cells.iter_mut().for_each(analysis::summarise);
    Ok(study)
}

/// Opens a file; `None` when there is none.
fn open(path: &Path) -> Result<Option<BufReader<File>>, DirectoryError> {
    match File::open(path) {
        Ok(file) => Ok(Some(BufReader::with_capacity(BUFFER_BYTES, file))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(DirectoryError::Read { path: path.to_owned(), source }),
    }
}

/// What a document is read from: a file, or what was packed in one.
trait Document: BufRead + Seek {}

impl<T: BufRead + Seek> Document for T {}

fn open_document(path: &Path) -> Result<Box<dyn Document>, DirectoryError> {
    let file = open(path)?.ok_or_else(|| DirectoryError::Absent { path: path.to_owned() })?;
    if path.extension().is_some_and(|it| it == "xz") {
        let text = unpack(file).map_err(|source| DirectoryError::Read { path: path.to_owned(), source })?;
        return Ok(Box::new(text));
    }
    Ok(Box::new(file))
}

/// Reads a `study.json`.
fn read_document(path: &Path, keep: Keep) -> Result<Study, DirectoryError> {
    let mut file = open_document(path)?;
    let newer = |found| DirectoryError::Newer { path: path.to_owned(), found, known: SCHEMA };
    let whole = |file: &mut dyn Document| {
        let mut text = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut text)).map_err(serde_json::Error::io)?;
        parse::<Study>(&text)
    };
    // Only reading it as a whole says what is wrong, and in which line.
    match by_cell(&mut file, keep).or_else(|_| whole(&mut file)) {
        Ok(study) if study.schema > SCHEMA => Err(newer(study.schema)),
        Ok(mut study) => {
            study.cells.iter_mut().for_each(analysis::settle_unrun);
            // What an earlier build wrote is written again by this one under today's names.
            study.schema = SCHEMA;
            Ok(study)
        }
        Err(error) if error.is_io() => Err(DirectoryError::Read { path: path.to_owned(), source: error.into() }),
        // A study of a newer kvtrial is refused as such; its unknown contents are not damage.
        Err(error) => match file.rewind().map_err(serde_json::Error::io).and_then(|()| journal::schema(&mut file)) {
            Ok(Some(found)) if found > SCHEMA => Err(newer(found)),
            Ok(None) => Err(DirectoryError::NotAStudy { path: path.to_owned() }),
            Err(other) if other.is_data() => Err(DirectoryError::NotAStudy { path: path.to_owned() }),
            _ => Err(damaged(path, &error)),
        },
    }
}

/// Takes the cells out one by one; what is left is the study without them.
fn by_cell(file: &mut dyn Document, keep: Keep) -> serde_json::Result<Study> {
    let (mut rest, mut cell, mut line) = (Vec::new(), Vec::new(), Vec::new());
    let (mut cells, mut within) = (Vec::new(), Within::Top);
    let mut trials = 0;
    loop {
        line.clear();
        if file.read_until(b'\n', &mut line).map_err(serde_json::Error::io)? == 0 {
            break;
        }
        let text = line.trim_ascii_end();
        within = match (within, text) {
            (Within::Top, b"  \"cells\": [") => Within::Cells,
            (Within::Cells, b"    {") => Within::Cell,
            (Within::Cells, text) if text.starts_with(b"  ]") => Within::Top,
            (Within::Cell, b"    }" | b"    },") => {
                cell.push(b'}');
                cells.push(compact(parse(&cell)?));
                cell.clear();
                let (before, own) = (trials, cells.last().map_or(0, |it: &Cell| it.trials.len()));
                trials += own;
                if keep == Keep::Figures && trials > MOST_WHOLE_TRIALS {
                    let thinned = if before > MOST_WHOLE_TRIALS { cells.len() - 1 } else { 0 };
                    cells[thinned..].iter_mut().for_each(keep_figures);
                }
                within = Within::Cells;
                continue;
            }
            (same, _) => same,
        };
        if within == Within::Cell { &mut cell } else { &mut rest }.extend_from_slice(text);
    }
    let mut study: Study = parse(&rest)?;
    // In any other layout no cell was recognised, and all of them are in what was left.
    study.cells.append(&mut cells);
    Ok(study)
}

/// Where a line of the document is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Top,
    Cells,
    Cell,
}

/// Drops what a report draws for one trial of a cell only, from all its other trials.
fn keep_figures(cell: &mut Cell) {
    let drawn = analysis::median_trial(cell).map(|trial| trial.order);
    for trial in cell.trials.iter_mut().filter(|trial| Some(trial.order) != drawn) {
        (trial.series, trial.curve, trial.stalls) = (Vec::new(), Vec::new(), Vec::new());
        trial.latency_ns.percentiles = Vec::new();
        trial.latency_ns.by_operation.clear();
        trial.answer.facts.clear();
        trial.phases.iter_mut().for_each(|phase| phase.distributions = LatencyDistributions::default());
    }
}

/// Gives back the room that lists have in reserve while they are read: a quarter of a large study.
fn compact(mut cell: Cell) -> Cell {
    for trial in &mut cell.trials {
        trial.series.shrink_to_fit();
        trial.phases.shrink_to_fit();
        trial.latency_ns.percentiles.shrink_to_fit();
    }
    cell.trials.shrink_to_fit();
    cell
}

fn damaged(path: &Path, error: &serde_json::Error) -> DirectoryError {
    let directory = path.parent().unwrap_or(Path::new("."));
    let remedy = if directory.join(JOURNAL).exists() {
        "The trials are safe in trials.jsonl beside it: name the directory instead of the file, or write study.json again \
         by continuing the study with --resume"
    } else {
        "Restore it from a copy, or start a new study in another directory with --out"
    };
    let detail = if error.is_eof() { format!("it was cut short ({error})") } else { error.to_string() };
    DirectoryError::Damaged { path: path.to_owned(), detail, remedy: remedy.into() }
}
