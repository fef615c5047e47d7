//! JSON documents with ids, for bulk loads.
//!
//! A source is a file (one JSON document per line, or CSV with a header line; plain or `.gz`), a data set shipped with the program
//! (`geonames-1k`, `geonames-20k`), or a generator (`gen:DOCUMENTS:SEED`). A line may carry its own id: `ID TAB DOCUMENT`.

mod csv;
mod generate;
mod ids;
mod json;
mod quotes;
#[cfg(test)]
mod tests;

pub use csv::separator;
pub use generate::Generator;
pub use ids::IdScheme;
pub use json::{Scalar, fields};

use crate::bounded::MemoryWatch;
use crate::digest::LineDigest;
use crate::lines::{Lines, unreadable};
use crate::sent::is_file;
use crate::{DataError, Spot};
use std::path::Path;

static GEONAMES_20K: &[u8] = include_bytes!("../../../data/docs/geonames_first20k.ndjson.gz");

/// The data sets known by name: name, what it is.
pub const KNOWN: [(&str, &str); 3] = [
    ("geonames-1k", "1,000 places of GeoNames as JSON, shipped with kvtrial"),
    ("geonames-20k", "20,000 places of GeoNames as JSON, shipped with kvtrial"),
    ("gen:N:SEED", "N generated documents of 100 to 512 bytes, as in 2009"),
];

/// Documents one after the other in memory, each with its id.
#[derive(Default)]
pub struct DocSet {
    source_name: String,
    /// All documents, back to back.
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u64>,
    /// Line each came from.
    lines: Vec<u32>,
    /// All ids, back to back, and where each ends.
    ids: Vec<u8>,
    id_ends: Vec<u64>,
    text_bytes: u64,
    digest: String,
}

/// Where a document stands, while it is read.
struct Line<'a> {
    number: u64,
    /// The line, to show a column of it.
    text: &'a str,
    /// Where in it the document begins.
    start: usize,
}

impl Line<'_> {
    fn spot(&self, byte: usize) -> Spot {
        Spot::of(self.number, self.text.as_bytes(), self.start + byte)
    }
}

impl DocSet {
    /// Reads or makes the documents of this name: a known name, `gen:N:SEED`, or a file; with ids of this scheme.
    ///
    /// # Errors
    /// Names the file, line, column and remedy: a line that is no document, an id that is there twice, an id that contradicts
    /// the scheme.
    pub fn load(source: &str, scheme: &IdScheme) -> Result<DocSet, DataError> {
        let set = DocSet { source_name: source.into(), ..DocSet::default() };
        if source.starts_with("gen:") {
            return set.generate(scheme);
        }
        match source {
            "geonames-20k" => set.read(Lines::of_bytes(source, GEONAMES_20K)?, u64::MAX, scheme),
            "geonames-1k" => set.read(Lines::of_bytes(source, GEONAMES_20K)?, 1000, scheme),
            path if is_file(Path::new(path)) => set.read(Lines::open(Path::new(path))?, u64::MAX, scheme),
            other => Err(DataError::whole(
                other,
                "no such file, and no known data set",
                "name a file (.jsonl, .csv, or either as .gz), geonames-1k, geonames-20k or gen:100000:42",
            )),
        }
    }

    fn generate(mut self, scheme: &IdScheme) -> Result<DocSet, DataError> {
        let numbers: Option<Vec<u64>> = self.source_name[4..].split(':').map(crate::count::whole).collect();
        let (count, seed) = match numbers.as_deref() {
            Some(&[count, seed]) if (1..=u64::from(u32::MAX)).contains(&count) => (count, seed),
            _ => {
                return Err(DataError::whole(
                    &self.source_name,
                    "two numbers must follow gen:, the first from 1 to 4294967295",
                    "write gen:DOCUMENTS:SEED, as in gen:100000:42",
                ));
            }
        };
        let mut text = Written::default();
        let mut generator = Generator::new(seed);
        let mut document = String::new();
        let mut watch = MemoryWatch::new();
        for number in 1..=count {
            generator.document(&mut document);
            watch.pass(document.len()).map_err(|error| unreadable(&self.source_name, &error))?;
            let own = format!("{number:010}");
            text.line(&[own.as_bytes(), document.as_bytes()]);
            // The generator's ids are the sequential ones; other schemes go over them.
            self.add(&Line { number, text: &document, start: 0 }, &document, scheme.over_generated(&own), scheme)?;
        }
        self.finish(text)
    }

    /// Reads at most `limit` documents.
    fn read(self, mut lines: Lines, limit: u64, scheme: &IdScheme) -> Result<DocSet, DataError> {
        if csv::is_csv(lines.peek()?) {
            self.read_csv(lines, limit, scheme)
        } else {
            self.read_json(lines, limit, scheme)
        }
    }

    fn read_json(mut self, mut lines: Lines, limit: u64, scheme: &IdScheme) -> Result<DocSet, DataError> {
        let mut text = Written::default();
        while (self.len() as u64) < limit {
            let Some((number, line)) = lines.next_line()? else { break };
            text.line(&[line.as_bytes()]);
            if line.trim_ascii().is_empty() {
                continue;
            }
            let (own, document) = split(line);
            self.add(&Line { number, text: line, start: line.len() - document.len() }, document, own, scheme)?;
        }
        self.finish(text)
    }

    fn read_csv(mut self, lines: Lines, limit: u64, scheme: &IdScheme) -> Result<DocSet, DataError> {
        let mut text = Written::default();
        let mut table = csv::Table::open(lines)?;
        let mut document = String::new();
        while (self.len() as u64) < limit {
            let Some(number) = table.document(&mut document)? else { break };
            text.line(&[document.as_bytes()]);
            self.add(&Line { number, text: &document, start: 0 }, &document, None, scheme)?;
        }
        self.finish(text)
    }

    fn add(&mut self, line: &Line<'_>, document: &str, own: Option<&str>, scheme: &IdScheme) -> Result<(), DataError> {
        if self.len() == u32::MAX as usize || line.number > u64::from(u32::MAX) {
            return Err(DataError::whole(&self.source_name, "more than 4,294,967,295 lines", "use fewer documents"));
        }
        if let Err(flaw) = json::check(document) {
            let spot = line.spot(flaw.byte);
            return Err(DataError::at(&self.source_name, spot, flaw.problem, flaw.remedy));
        }
        // The id is that of the number of the document, which blank lines and a header do not count in.
        let number = self.len() as u64 + 1;
        scheme.push(number, own, document, &mut self.ids).map_err(|flaw| {
            let byte = flaw.in_document.unwrap_or(0);
            let spot = Spot::of(
                line.number,
                line.text.as_bytes(),
                if flaw.in_document.is_some() { line.start + byte } else { 0 },
            );
            DataError::at(&self.source_name, spot, flaw.problem, flaw.remedy)
        })?;
        self.id_ends.push(self.ids.len() as u64);
        self.bytes.extend_from_slice(document.as_bytes());
        self.ends.push(self.bytes.len() as u64);
        self.lines.push(line.number as u32);
        Ok(())
    }

    fn finish(mut self, text: Written) -> Result<DocSet, DataError> {
        if self.ends.is_empty() {
            return Err(DataError::whole(&self.source_name, "it holds no document", json::FORM));
        }
        (self.text_bytes, self.digest) = (text.bytes, text.digest.finish());
        self.bytes.shrink_to_fit();
        self.ids.shrink_to_fit();
        let order = self.in_id_order();
        if let Some(pair) = order.windows(2).find(|pair| self.id(pair[0] as usize) == self.id(pair[1] as usize)) {
            let (one, other) = (self.line(pair[0] as usize), self.line(pair[1] as usize));
            return Err(DataError::at(
                &self.source_name,
                Spot { line: one.max(other), column: 1 },
                format!(
                    "the id {} is on line {} already",
                    String::from_utf8_lossy(self.id(pair[0] as usize)),
                    one.min(other)
                ),
                "give every document an id of its own, or use ids=sequential or ids=random over documents without ids",
            ));
        }
        Ok(self)
    }

    /// Numbers of the documents, in byte order of their ids; of equal ids the earlier document first.
    pub fn in_id_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        if !order.is_sorted_by(|a, b| self.id(*a as usize) < self.id(*b as usize)) {
            order.sort_unstable_by(|a, b| self.id(*a as usize).cmp(self.id(*b as usize)).then(a.cmp(b)));
        }
        order
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is none; a set that was loaded has some.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a document, as it was read.
    #[inline]
    pub fn document(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.bytes[start..self.ends[at] as usize]
    }

    /// Returns the document's id.
    #[inline]
    pub fn id(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.id_ends[at - 1] as usize };
        &self.ids[start..self.id_ends[at] as usize]
    }

    /// Returns the line it came from, from 1.
    pub fn line(&self, at: usize) -> u64 {
        u64::from(self.lines[at])
    }

    /// Returns the number of bytes of all documents.
    pub fn document_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns the number of bytes of all ids.
    pub fn id_bytes(&self) -> u64 {
        self.ids.len() as u64
    }

    /// Returns the name of the file, data set or generator the documents came from.
    pub fn source_name(&self) -> &str {
        &self.source_name
    }

    /// Returns the number of bytes of the text read, unpacked, each line ended by one `\n`; of CSV those of the documents it became.
    pub fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    /// Returns the digest of that text: the same as `sha256sum` gives for a file in that form.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// `ID TAB DOCUMENT`, or a document alone. JSON has no tab outside of white space, and a document begins with `{`.
fn split(line: &str) -> (Option<&str>, &str) {
    match line.split_once('\t') {
        Some((id, document)) if !id.trim_start().starts_with('{') => (Some(id), document),
        _ => (None, line),
    }
}

/// What is kept of the lines read, to tell one input from another.
#[derive(Default)]
struct Written {
    bytes: u64,
    digest: LineDigest,
}

impl Written {
    fn line(&mut self, fields: &[&[u8]]) {
        self.bytes += fields.iter().map(|field| field.len() as u64 + 1).sum::<u64>();
        self.digest.line(fields);
    }
}
