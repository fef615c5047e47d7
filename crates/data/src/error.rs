//! What can be wrong with an input, where, and what to do about it.

use std::fmt;

/// A place in a text file, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Line.
    pub line: u64,
    /// Column, in characters.
    pub column: usize,
}

impl Spot {
    /// Makes the place `byte` bytes into line number `line`.
    pub fn of(line: u64, text: &[u8], byte: usize) -> Spot {
        let before = &text[..byte.min(text.len())];
        Spot { line, column: String::from_utf8_lossy(before).chars().count() + 1 }
    }
}

/// An input that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct DataError {
    /// File or data set.
    pub source_name: String,
    /// The place in the input, when there is one.
    pub spot: Option<Spot>,
    /// The problem.
    pub problem: String,
    /// The remedy.
    pub remedy: String,
}

impl DataError {
    /// Returns a problem with an input as a whole.
    pub fn whole(source_name: impl ToString, problem: impl Into<String>, remedy: impl Into<String>) -> DataError {
        DataError { source_name: source_name.to_string(), spot: None, problem: problem.into(), remedy: remedy.into() }
    }

    /// Returns a problem at a place.
    pub fn at(
        source_name: impl ToString,
        spot: Spot,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> DataError {
        DataError { spot: Some(spot), ..DataError::whole(source_name, problem, remedy) }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source_name)?;
        if let Some(Spot { line, column }) = self.spot {
            write!(f, ", line {line}, column {column}")?;
        }
        write!(f, ": {}; {}", self.problem, self.remedy)
    }
}
