//! More operations than fit into memory: parts of the keys in files, each judged on its own.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, Write};
use std::path::Path;

use crate::act::Act;
use crate::bounds::Bounds;
use crate::history::{History, HistoryOutcome};
use crate::packed;

/// Operations in files by key, so that only the keys of one file are in memory when they are judged.
pub struct Spill {
    parts: Vec<BufWriter<File>>,
}

impl Spill {
    /// Opens as many files below a directory; they have no names and end with the process.
    pub fn below(directory: &Path, parts: usize) -> io::Result<Self> {
        let part = |at: usize| -> io::Result<BufWriter<File>> {
            let path = directory.join(format!("history-{}-{at}.part", std::process::id()));
            let file = File::options().read(true).write(true).create_new(true).open(&path)?;
            std::fs::remove_file(&path)?;
            Ok(BufWriter::new(file))
        };
        Ok(Self { parts: (0..parts.max(1)).map(part).collect::<io::Result<_>>()? })
    }

    /// Takes one more operation.
    pub fn push(&mut self, operation: &Act) -> io::Result<()> {
        // Fibonacci hashing: neighbouring keys go into different files.
        let place = (operation.key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % self.parts.len();
        packed::write(&mut self.parts[place], operation)
    }

    /// Judges the keys of one file after the other.
    pub fn judge(self, bounds: &Bounds) -> io::Result<HistoryOutcome> {
        let mut findings = HistoryOutcome::default();
        for part in self.parts {
            let mut file = part.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.flush()?;
            file.rewind()?;
            let mut file = BufReader::new(file);
            let mut history = History::default();
            while let Some(operation) = packed::read(&mut file)? {
                history.push(operation);
            }
            history.judge_into(bounds, &mut findings);
        }
        Ok(findings)
    }
}
