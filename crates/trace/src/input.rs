//! The bytes of a trace, unpacked: lines of text or records of a fixed size, and where a flaw in them is.

use data::lines::{Lines, unreadable};
use data::{DataError, Spot};
use std::io::{BufRead, Read};

/// The bytes, from the first on.
pub(crate) struct TraceInput {
    name: String,
    bytes: Box<dyn BufRead>,
    line: Vec<u8>,
    /// Lines read so far.
    number: u64,
    /// Bytes read so far, as records.
    offset: u64,
}

impl TraceInput {
    pub(crate) fn new(lines: Lines) -> TraceInput {
        let (name, bytes) = lines.into_bytes();
        TraceInput { name, bytes, line: Vec::new(), number: 0, offset: 0 }
    }

    pub(crate) fn into_name(self) -> String {
        self.name
    }

    /// Returns the bytes that come next, up to the size of a buffer, without taking them.
    pub(crate) fn head(&mut self) -> Result<&[u8], DataError> {
        self.bytes.fill_buf().map_err(|error| unreadable(&self.name, &error))
    }

    /// Returns the next line, without its end; `None` at the end.
    pub(crate) fn line(&mut self) -> Result<Option<&[u8]>, DataError> {
        self.line.clear();
        let read = self.bytes.read_until(b'\n', &mut self.line).map_err(|error| unreadable(&self.name, &error))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        for end in *b"\n\r" {
            if self.line.last() == Some(&end) {
                self.line.pop();
            }
        }
        Ok(Some(&self.line))
    }

    /// Fills `record` with the next bytes; false at the end.
    ///
    /// # Errors
    /// The file ends within the record.
    pub(crate) fn record(&mut self, record: &mut [u8], remedy: &str) -> Result<bool, DataError> {
        let available = self.bytes.fill_buf().map_err(|error| unreadable(&self.name, &error))?;
        if let Some(bytes) = available.get(..record.len()) {
            record.copy_from_slice(bytes);
            self.bytes.consume(record.len());
            self.offset += record.len() as u64;
            return Ok(true);
        }
        let (at, bytes) = (self.offset, record.len());
        match self.fill(record)? {
            0 => Ok(false),
            filled if filled < bytes => {
                let problem = format!("it is cut off: of the record of {bytes} bytes at byte {at} there are {filled}");
                Err(self.whole(&problem, remedy))
            }
            _ => Ok(true),
        }
    }

    /// Fills `record` as far as there are bytes; returns how many there were.
    pub(crate) fn fill(&mut self, record: &mut [u8]) -> Result<usize, DataError> {
        let mut filled = 0;
        while filled < record.len() {
            match self.bytes.read(&mut record[filled..]).map_err(|error| unreadable(&self.name, &error))? {
                0 => break,
                read => filled += read,
            }
        }
        self.offset += filled as u64;
        Ok(filled)
    }

    /// Replaces `out` by the next `most` bytes, as far as there are; returns how many there were. Room is made only for what is there.
    pub(crate) fn fill_up_to(&mut self, out: &mut Vec<u8>, most: usize) -> Result<usize, DataError> {
        out.clear();
        let read = self.bytes.by_ref().take(most as u64).read_to_end(out);
        let read = read.map_err(|error| unreadable(&self.name, &error))?;
        self.offset += read as u64;
        Ok(read)
    }

    /// Returns how many bytes were read, as records.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Makes the error of the line read last.
    #[cold]
    pub(crate) fn at_line(&self, problem: &str, remedy: &str) -> DataError {
        DataError::at(&self.name, Spot { line: self.number, column: 1 }, problem, remedy)
    }

    /// Makes the error of the record of this size read last.
    #[cold]
    pub(crate) fn at_record(&self, bytes: usize, problem: &str, remedy: &str) -> DataError {
        let problem = format!("in the record at byte {}: {problem}", self.offset.saturating_sub(bytes as u64));
        self.whole(&problem, remedy)
    }

    /// Makes the error of the input as a whole.
    #[cold]
    pub(crate) fn whole(&self, problem: &str, remedy: &str) -> DataError {
        DataError::whole(&self.name, problem, remedy)
    }
}
