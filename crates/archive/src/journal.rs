//! The journal of a running study: one JSON value per line, each complete by itself.
//!
//! The first line is the whole study as it was when the journal was begun; every later line adds to it. A crash can only tear
//! the last line, and that line was never acknowledged.

use crate::error::DirectoryError;
use crate::json::parse;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::path::Path;
use study::{Cell, SCHEMA, Study, TrialRecord};

/// One line.
#[allow(clippy::large_enum_variant)] // one at a time, written or taken apart at once
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry<'a> {
    /// The study when the journal was begun.
    Study(Cow<'a, Study>),
    /// The facts that became known about a cell, without its trials; or a new cell behind the others.
    Cell { index: usize, cell: Cow<'a, Cell> },
    /// One finished trial.
    Trial { index: usize, trial: Cow<'a, TrialRecord> },
}

/// An open journal. Each entry is on disk before the call returns.
pub(crate) struct Journal {
    file: File,
    /// Bytes of complete entries; what lies beyond was torn by a failed write.
    length_bytes: u64,
    line: Vec<u8>,
}

impl Journal {
    /// Begins a journal in an empty file.
    pub(crate) fn begin(file: File, study: &Study) -> io::Result<Journal> {
        let mut journal = Journal { file, length_bytes: 0, line: Vec::new() };
        journal.append(&Entry::Study(Cow::Borrowed(study)))?;
        Ok(journal)
    }

    pub(crate) fn cell(&mut self, index: usize, cell: &Cell) -> io::Result<()> {
        self.append(&Entry::Cell { index, cell: Cow::Borrowed(cell) })
    }

    pub(crate) fn trial(&mut self, index: usize, trial: &TrialRecord) -> io::Result<()> {
        self.append(&Entry::Trial { index, trial: Cow::Borrowed(trial) })
    }

    fn append(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        self.line.clear();
        crate::json::write_json(&mut self.line, entry)?;
        self.line.push(b'\n');
        let written = self.file.write_all(&self.line).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.length_bytes += self.line.len() as u64,
            // What cannot be cut off now, the next reader ignores; the first error is the one to report.
            Err(_) => drop(self.cut_back()),
        }
        written
    }

    /// Cuts off what a failed write (a full disk) left of a line; the next entry would be glued to it.
    fn cut_back(&mut self) -> io::Result<()> {
        self.file.set_len(self.length_bytes)?;
        self.file.seek(SeekFrom::Start(self.length_bytes)).map(drop)
    }
}

/// Replays a journal, line by line.
pub(crate) fn replay(mut entries: impl BufRead, path: &Path) -> Result<Study, DirectoryError> {
    let damaged = |number: usize, detail: String| DirectoryError::Damaged {
        path: path.to_owned(),
        detail: format!("line {number}: {detail}"),
        remedy: match number {
            1 => "Restore it from a copy; or remove it to fall back to study.json as it was last written".into(),
            _ => format!("Restore it from a copy; or remove line {number} to give up only the trial in it"),
        },
    };
    let mut study: Option<Study> = None;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = entries.read_until(b'\n', &mut line);
        read.map_err(|source| DirectoryError::Read { path: path.to_owned(), source })?;
        // A last line without an end was torn by a crash: its trial was never acknowledged, and runs again.
        if line.pop() != Some(b'\n') {
            break;
        }
        if number == 1 {
            check_schema(&line, path)?;
        }
        let entry = parse(&line).map_err(|error| damaged(number, error.to_string()))?;
        match (&mut study, entry) {
            (None, Entry::Study(first)) => study = Some(first.into_owned()),
            (Some(study), Entry::Cell { index, cell }) if index < study.cells.len() => {
                let trials = std::mem::take(&mut study.cells[index].trials);
                study.cells[index] = Cell { trials, ..cell.into_owned() };
            }
            (Some(study), Entry::Cell { index, cell }) if index == study.cells.len() => {
                study.cells.push(cell.into_owned());
            }
            (Some(study), Entry::Trial { index, trial }) if index < study.cells.len() => {
                study.cells[index].trials.push(trial.into_owned());
            }
            _ => return Err(damaged(number, "this entry does not belong here".into())),
        }
    }
    study.ok_or_else(|| damaged(1, "the study it belongs to is missing".into()))
}

/// Refuses what a newer kvtrial wrote, before its unknown contents are called damage.
fn check_schema(line: &[u8], path: &Path) -> Result<(), DirectoryError> {
    match schema(line) {
        Ok(Some(found)) if found > SCHEMA => Err(DirectoryError::Newer { path: path.to_owned(), found, known: SCHEMA }),
        _ => Ok(()),
    }
}

/// Returns the schema a document or the first line of a journal states, if it states one.
///
/// # Errors
/// It is not JSON, or not complete.
pub(crate) fn schema(json: impl Read) -> serde_json::Result<Option<u32>> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<u32>,
        study: Option<Box<Head>>,
    }
    let head: Head = serde_json::from_reader(json)?;
    Ok(head.schema.or(head.study.and_then(|study| study.schema)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Journal, replay};
    use std::fs::{self, File};
    use std::io::Write;
    use study::{Cell, SCHEMA, Study, TrialRecord};

    #[test]
    fn half_a_line_on_a_full_disk_spoils_no_later_entry() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal");
        let study = Study { schema: SCHEMA, cells: vec![Cell::default()], ..Study::default() };
        let mut journal = Journal::begin(File::create(&path).unwrap(), &study).unwrap();
        journal.trial(0, &TrialRecord { order: 1, ..TrialRecord::default() }).unwrap();
        journal.file.write_all(b"{\"trial\":{\"ind").unwrap();
        journal.cut_back().unwrap();
        journal.trial(0, &TrialRecord { order: 2, ..TrialRecord::default() }).unwrap();
        let read = replay(fs::read(&path).unwrap().as_slice(), &path).unwrap();
        assert_eq!(read.cells[0].trials.iter().map(|trial| trial.order).collect::<Vec<_>>(), [1, 2]);
    }
}
