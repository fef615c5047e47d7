//! CSV with a header line, as documents: one object a row, its members named by the header. Fields are separated by commas, semicolons
//! or tabs, whichever the header has most of.

use super::quotes::{Quotes, Unclosed};
use crate::lines::{Lines, unreadable};
use crate::{DataError, Spot};
use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};
use serde_json::value::RawValue;
use std::io::BufRead;

/// Returns whether a text begins like CSV: its first line with something on it holds no `{`.
pub(super) fn is_csv(start: &[u8]) -> bool {
    let line = start.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    !line.is_empty() && !line.contains(&b'{')
}

/// Returns the separator of CSV that starts like this: of a comma, a semicolon and a tab the one that the first line has most of, outside
/// quotes.
pub fn separator(start: &[u8]) -> u8 {
    let header = start.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let unquoted = header.split(|&byte| byte == b'"').step_by(2);
    let count = |separator: u8| unquoted.clone().flatten().filter(|byte| **byte == separator).count();
    // Of equal counts the last is taken.
    [b'\t', b';', b','].into_iter().max_by_key(|&separator| count(separator)).unwrap_or(b',')
}

/// A table that is being read.
pub(super) struct Table {
    source_name: String,
    reader: Reader<Quotes<Box<dyn BufRead>>>,
    /// Each name with what stands around it: `{"name":`, `,"name":`.
    names: Vec<String>,
    row: StringRecord,
}

impl Table {
    /// Reads the header.
    pub(super) fn open(mut lines: Lines) -> Result<Table, DataError> {
        let separator = separator(lines.peek()?);
        let (source_name, input) = lines.into_bytes();
        let mut reader = ReaderBuilder::new().delimiter(separator).from_reader(Quotes::over(input, separator));
        let header = reader.headers().map_err(|error| trouble(&source_name, &error))?;
        let refuse = |problem: String| {
            let remedy = "name every column on the first line, each with a name of its own";
            DataError::at(&source_name, Spot { line: 1, column: 1 }, problem, remedy)
        };
        let mut names = Vec::new();
        for (at, name) in header.iter().enumerate() {
            if name.trim().is_empty() {
                return Err(refuse(format!("column {} of the table has no name", at + 1)));
            }
            if header.iter().take(at).any(|other| other == name) {
                return Err(refuse(format!("two columns of the table are named '{name}'")));
            }
            names.push(format!("{}{}:", if at == 0 { '{' } else { ',' }, quoted(name)));
        }
        Ok(Table { source_name, reader, names, row: StringRecord::new() })
    }

    /// Writes the next row as a document and returns its line; `None` at the end. A number stays a number, an empty field
    /// becomes null, anything else a string.
    pub(super) fn document(&mut self, out: &mut String) -> Result<Option<u64>, DataError> {
        out.clear();
        if !self.reader.read_record(&mut self.row).map_err(|error| trouble(&self.source_name, &error))? {
            return Ok(None);
        }
        for (name, field) in self.names.iter().zip(&self.row) {
            out.push_str(name);
            match field {
                "" => out.push_str("null"),
                number if is_number(number) => out.push_str(number),
                text => out.push_str(&quoted(text)),
            }
        }
        out.push('}');
        Ok(Some(self.row.position().map_or(0, csv::Position::line)))
    }
}

/// Whether JSON would take a field for a number as it stands.
fn is_number(field: &str) -> bool {
    field.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && serde_json::from_str::<&RawValue>(field).is_ok()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn trouble(source_name: &str, error: &csv::Error) -> DataError {
    if let ErrorKind::Io(error) = error.kind()
        && let Some(Unclosed { line, column }) = Unclosed::of(error)
    {
        let (problem, remedy) =
            ("the quote that opens here is not closed", "close it; a quote within quotes is written \"\"");
        return DataError::at(source_name, Spot { line, column }, problem, remedy);
    }
    let line = error.position().map_or(1, csv::Position::line);
    let at = |column, problem: String, remedy| DataError::at(source_name, Spot { line, column }, problem, remedy);
    match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => at(
            1,
            format!("a row of {len} fields, the header names {expected_len}"),
            "give every row as many fields as the header; quote fields that hold separators or line ends",
        ),
        ErrorKind::Utf8 { err, .. } => {
            at(1, format!("field {} is not UTF-8", err.field() + 1), "convert the file with 'iconv -t UTF-8'")
        }
        ErrorKind::Io(error) => unreadable(source_name, error),
        _ => DataError::whole(
            source_name,
            format!("cannot be read: {error}"),
            "check that the file is whole ('gzip -t' for .gz)",
        ),
    }
}
