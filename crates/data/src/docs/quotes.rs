//! Quotes of CSV that are opened and not closed: what reads the fields takes all that follows for one of them.

use std::fmt;
use std::io::{self, Read};

/// Passes bytes on; their end within quotes is an error.
pub(super) struct Quotes<R> {
    input: R,
    separator: u8,
    at: InField,
    /// Where the byte to come stands, from 1.
    line: u64,
    column: usize,
    opened: Unclosed,
}

/// Where in a field a byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InField {
    Start,
    Plain,
    Quoted,
    /// Behind a quote within quotes: the end, or the first of two.
    Quote,
}

/// The quote that is not closed, from 1; the column counts bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unclosed {
    pub(super) line: u64,
    pub(super) column: usize,
}

impl Unclosed {
    /// Makes the one that ended the reading, if one did.
    pub(super) fn of(error: &io::Error) -> Option<Unclosed> {
        error.get_ref()?.downcast_ref::<Unclosed>().copied()
    }
}

impl fmt::Display for Unclosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the quote of line {}, column {} is not closed", self.line, self.column)
    }
}

impl std::error::Error for Unclosed {}

impl<R> Quotes<R> {
    pub(super) fn over(input: R, separator: u8) -> Quotes<R> {
        Quotes { input, separator, at: InField::Start, line: 1, column: 1, opened: Unclosed::default() }
    }

    fn see(&mut self, byte: u8) {
        self.at = match (self.at, byte) {
            (InField::Start, b'"') => {
                self.opened = Unclosed { line: self.line, column: self.column };
                InField::Quoted
            }
            (InField::Quoted, b'"') => InField::Quote,
            (InField::Quote, b'"') | (InField::Quoted, _) => InField::Quoted,
            (_, b'\n' | b'\r') => InField::Start,
            (_, separator) if separator == self.separator => InField::Start,
            _ => InField::Plain,
        };
        if byte == b'\n' {
            (self.line, self.column) = (self.line + 1, 1);
        } else {
            self.column += 1;
        }
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(out)?;
        if read == 0 && !out.is_empty() && self.at == InField::Quoted {
            return Err(io::Error::new(io::ErrorKind::InvalidData, self.opened));
        }
        out[..read].iter().for_each(|&byte| self.see(byte));
        Ok(read)
    }
}
