//! Reading `study.json` as it comes from the disk: a study of a hundred thousand trials is never held as text.

use super::journal;
use super::{DirectoryError, JOURNAL};
use std::fs::File;
use std::io::{self, BufReader, Seek};
use std::path::Path;
use study::{SCHEMA, Study};

/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 18;

/// Opens a file; `None` when there is none.
pub(super) fn open(path: &Path) -> Result<Option<BufReader<File>>, DirectoryError> {
    match File::open(path) {
        Ok(file) => Ok(Some(BufReader::with_capacity(BUFFER_BYTES, file))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(DirectoryError::Read { path: path.to_owned(), source }),
    }
}

/// Reads a `study.json`.
pub(super) fn document(path: &Path) -> Result<Study, DirectoryError> {
    let mut file = open(path)?.ok_or_else(|| DirectoryError::Absent { path: path.to_owned() })?;
    let newer = |found| DirectoryError::Newer { path: path.to_owned(), found, known: SCHEMA };
    match serde_json::from_reader::<_, Study>(&mut file) {
        Ok(study) if study.schema > SCHEMA => Err(newer(study.schema)),
        Ok(study) => Ok(study),
        Err(error) if error.is_io() => Err(DirectoryError::Read { path: path.to_owned(), source: error.into() }),
        // What a newer kvtrial wrote is refused as that, before its unknown contents are called damage.
        Err(error) => match file.rewind().map_err(serde_json::Error::io).and_then(|()| journal::schema(&mut file)) {
            Ok(Some(found)) if found > SCHEMA => Err(newer(found)),
            Ok(None) => Err(DirectoryError::NotAStudy { path: path.to_owned() }),
            Err(other) if other.is_data() => Err(DirectoryError::NotAStudy { path: path.to_owned() }),
            _ => Err(damaged(path, &error)),
        },
    }
}

fn damaged(path: &Path, error: &serde_json::Error) -> DirectoryError {
    let directory = path.parent().unwrap_or(Path::new("."));
    let remedy = if directory.join(JOURNAL).exists() {
        "The trials are safe in trials.jsonl beside it: name the directory instead of the file, or write study.json anew \
         by continuing the study with --resume"
    } else {
        "Restore it from a copy, or start a new study in another directory with --out"
    };
    let detail = if error.is_eof() { format!("it was cut short ({error})") } else { error.to_string() };
    DirectoryError::Damaged { path: path.to_owned(), detail, remedy: remedy.into() }
}
