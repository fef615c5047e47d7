//! Data of scripts: the lines of `--data`, read once for all clients.

use data::lines::Lines;
use std::path::Path;

/// The lines of a source, one after the other in memory.
#[derive(Default)]
pub(crate) struct DataText {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Numbers of the lines with something on them, where there are others.
    records: Option<Vec<usize>>,
    pub(crate) digest: String,
}

impl DataText {
    /// Reads a file, plain or `.gz`, or a data set shipped with kvtrial, or makes profiles (`gen:PROFILES:SEED`).
    ///
    /// # Errors
    /// Names the file and the remedy.
    pub(crate) fn load(source: &str) -> Result<DataText, String> {
        if source.starts_with("gen:") {
            let mut text = DataText::default();
            let mut watch = data::bounded::MemoryWatch::new();
            for line in data::fans::generated(source).map_err(|error| error.to_string())? {
                watch.pass(line.len()).map_err(|error| data::lines::unreadable(source, &error).to_string())?;
                text.push(line.as_bytes());
            }
            text.digest = data::digest::of_bytes(&text.bytes);
            return Ok(text);
        }
        let shipped = data::fans::shipped(source);
        let (lines, most) = match shipped {
            Some((bytes, most)) if !data::sent::is_file(Path::new(source)) => (Lines::of_bytes(source, bytes), most),
            _ => (Lines::open(Path::new(source)), usize::MAX),
        };
        let mut lines = lines.map_err(|error| error.to_string())?;
        let mut text = DataText::default();
        while text.ends.len() < most
            && let Some((_, line)) = lines.next_bytes().map_err(|error| error.to_string())?
        {
            text.push(line);
        }
        text.digest = data::digest::of_bytes(&text.bytes);
        let is_record = |number: &usize| text.line(*number).is_some_and(|line| !line.trim_ascii().is_empty());
        let records: Vec<usize> = (1..=text.len()).filter(is_record).collect();
        text.records = (records.len() < text.len()).then_some(records);
        Ok(text)
    }

    /// Returns the number of lines with something on them.
    pub(crate) fn records(&self) -> usize {
        self.records.as_ref().map_or(self.len(), Vec::len)
    }

    /// Returns the number of the line that is the `record`th, from 1, with something on it; 0: there is none.
    pub(crate) fn line_of(&self, record: usize) -> usize {
        match &self.records {
            Some(records) => record.checked_sub(1).and_then(|at| records.get(at)).copied().unwrap_or(0),
            None => record,
        }
    }

    /// Adds a line.
    fn push(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.ends.push(self.bytes.len());
    }

    /// Returns the number of lines.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the number of bytes of all lines.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns a line, by its number from 1.
    pub(crate) fn line(&self, number: usize) -> Option<&[u8]> {
        let at = number.checked_sub(1)?;
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }
}

/// Returns the fields of a line of CSV: separated by this byte, quoted where they hold any; `""` within quotes is a quote.
///
/// # Errors
/// A quote is not closed.
pub(crate) fn csv_fields(line: &[u8], separator: u8) -> Result<Vec<Vec<u8>>, String> {
    let mut fields = vec![Vec::new()];
    let mut quoted = false;
    let mut bytes = line.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let Some(field) = fields.last_mut() else { break };
        match byte {
            b'"' if quoted && bytes.peek() == Some(&b'"') => {
                bytes.next();
                field.push(b'"');
            }
            b'"' if quoted => quoted = false,
            b'"' if field.is_empty() => quoted = true,
            byte if byte == separator && !quoted => fields.push(Vec::new()),
            other => field.push(other),
        }
    }
    if quoted { Err("a quote is not closed; fields of several lines are not read".into()) } else { Ok(fields) }
}
