//! How `study.json` is laid out: indented down to the fields of a cell, one line for each trial and each figure. People can read it, line
//! tools can search it, and time series do not blow it up.

use crate::json::{Shown, write_with};
use serde_json::ser::Formatter;
use std::io::{self, Write};
use study::Study;

/// Writes the document with a final newline.
pub(super) fn write(file: &mut impl Write, study: &Study) -> io::Result<()> {
    write_with(file, study, Shown(Layout::default()))?;
    file.write_all(b"\n")
}

/// Objects deeper than a cell (study, cells, cell: 3) are kept on one line, arrays deeper than its `trials` too.
const DEEPEST_OBJECT: usize = 3;
const DEEPEST_ARRAY: usize = 4;

/// Whether the containers now open are laid out one item a line, innermost last.
#[derive(Default)]
struct Layout {
    open: Vec<bool>,
    /// Whether the container just opened has items.
    filled: bool,
}

impl Layout {
    fn begin<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8], deepest: usize) -> io::Result<()> {
        let within = self.open.last().copied().unwrap_or(true);
        self.open.push(within && self.open.len() < deepest);
        self.filled = false;
        writer.write_all(bracket)
    }

    fn item<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.filled = true;
        match (self.open.last() == Some(&true), first) {
            (true, true) => self.indent(writer, b"\n", self.open.len()),
            (true, false) => self.indent(writer, b",\n", self.open.len()),
            (false, true) => Ok(()),
            (false, false) => writer.write_all(b", "),
        }
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        if self.open.pop() == Some(true) && self.filled {
            self.indent(writer, b"\n", self.open.len())?;
        }
        self.filled = true;
        writer.write_all(bracket)
    }

    fn indent<W: ?Sized + Write>(&self, writer: &mut W, before: &[u8], depth: usize) -> io::Result<()> {
        writer.write_all(before)?;
        (0..depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"[", DEEPEST_ARRAY)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.item(writer, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"{", DEEPEST_OBJECT)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.item(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
