//! How `study.json` is laid out: indented down to the fields of a cell, one line for each trial and each figure. People can read it, line
//! tools can search it, and time series do not blow it up.

use crate::STUDY;
use crate::error::DirectoryError;
use crate::files::replacing;
use crate::json::{Visible, write_with};
use serde_json::ser::Formatter;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use study::Study;

/// Writes a study as the document `study.json` is, with a final newline.
///
/// # Errors
/// What the writer says.
pub fn write_study(study: &Study, out: &mut impl Write) -> io::Result<()> {
    write_with(out, study, Visible(Layout::default()))?;
    out.write_all(b"\n")
}

/// Keeps a copy of a study in a directory, which is made if need be; a study already there is replaced, in one step.
///
/// # Errors
/// It could not be written; what was there is untouched.
pub fn save_study(directory: &Path, study: &Study) -> Result<(), DirectoryError> {
    let written = fs::create_dir_all(directory).and_then(|()| write_whole(&directory.join(STUDY), study));
    written.map_err(|source| DirectoryError::Unusable { path: directory.to_owned(), source })
}

/// Replaces `study.json` in one step: a reader sees the old or the new, whole, also after a power cut.
pub(crate) fn write_whole(path: &Path, study: &Study) -> io::Result<()> {
    replacing(&path.with_extension("json.new"), path, |file| {
        let mut file = BufWriter::with_capacity(1 << 16, file);
        write_study(study, &mut file)?;
        file.into_inner()?.sync_data()
    })?;
    path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

/// Objects deeper than a cell (study, cells, cell: 3) are kept on one line, arrays deeper than its `trials` too.
const DEEPEST_OBJECT: usize = 3;
const DEEPEST_ARRAY: usize = 4;

/// Whether the containers now open are laid out one item per line, innermost last.
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
