//! Fan profiles: who is a fan of which pages.
//!
//! A source is a file in either format (recognised from its first line; plain or `.gz`), a data set shipped with the
//! program (`debian-1k`, `debian-10k`), or a generator (`gen:PROFILES:SEED`).

mod bracket;
mod generate;
mod tsv;

pub use generate::Generator;

use crate::bounded::MemoryWatch;
use crate::digest::LineDigest;
use crate::lines::{Lines, unreadable};
use crate::names::Names;
use crate::sent::is_file;
use crate::{DataError, Spot};
use std::path::Path;

static DEBIAN_10K: &[u8] = include_bytes!("../../../data/fans/debian_fans_10k.tsv.gz");

/// The data sets known by name: name, what it is.
pub const KNOWN: [(&str, &str); 3] = [
    ("debian-1k", "1,000 profiles made from Debian package metadata, shipped with kvtrial"),
    ("debian-10k", "10,000 profiles made from Debian package metadata, shipped with kvtrial"),
    ("gen:N:SEED", "N generated profiles with the skew of the original of 2009"),
];

/// Returns the bytes of a data set shipped with the program, and how many lines of it are meant.
pub fn shipped(name: &str) -> Option<(&'static [u8], usize)> {
    match name {
        "debian-10k" => Some((DEBIAN_10K, usize::MAX)),
        "debian-1k" => Some((DEBIAN_10K, 1000)),
        _ => None,
    }
}

/// Returns the lines of a generated data set, `gen:PROFILES:SEED`.
///
/// # Errors
/// The two numbers are not there.
pub fn generated(source: &str) -> Result<impl Iterator<Item = String>, DataError> {
    let numbers = source.strip_prefix("gen:").unwrap_or_default().split(':');
    let numbers: Option<Vec<u64>> = numbers.map(crate::count::whole).collect();
    let Some([profiles, seed]) = numbers.as_deref() else {
        let remedy = "write gen:PROFILES:SEED, as in gen:10000:42";
        return Err(DataError::whole(source, "two numbers must follow gen:", remedy));
    };
    let mut generator = Generator::new(*seed);
    Ok((0..*profiles).map(move |number| generate::line(number, generator.profile())))
}

/// Profiles with their pages as numbers. A page is named once in memory; a profile names each page once.
#[derive(Default)]
pub struct FanSet {
    /// All pages, numbered in the order they were first mentioned.
    pub pages: Names,
    /// Where each profile's mentions end in `mentions`.
    ends: Vec<u32>,
    /// Page numbers, profile after profile.
    mentions: Vec<u32>,
    /// Mentions left out because the profile named the page before.
    repeated: u64,
    /// The last profile that named each page, from 1; only while the input is read.
    named_in: Vec<u32>,
    /// Of all lines read.
    text_bytes: u64,
    digest: String,
    source_name: String,
}

/// What is kept of the lines read, to tell one input from another.
#[derive(Default)]
struct Text {
    bytes: u64,
    digest: LineDigest,
}

impl Text {
    fn line(&mut self, line: &str) {
        self.bytes += line.len() as u64 + 1;
        self.digest.line(&[line.as_bytes()]);
    }
}

/// How the lines of a file are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `profile \t page page ...`
    Tsv,
    /// `193839: { fanof:['cheese','beer'] }`
    Bracket,
}

impl FanSet {
    /// Reads or makes the data set of this name: a known name, `gen:N:SEED`, or a file.
    ///
    /// # Errors
    /// Names the file, line, column and remedy.
    pub fn load(source: &str) -> Result<FanSet, DataError> {
        if source.starts_with("gen:") {
            return FanSet::generate(source);
        }
        match source {
            "debian-10k" => FanSet::read(source, Lines::of_bytes(source, DEBIAN_10K)?, u64::MAX),
            "debian-1k" => FanSet::read(source, Lines::of_bytes(source, DEBIAN_10K)?, 1000),
            path if is_file(Path::new(path)) => FanSet::read(path, Lines::open(Path::new(path))?, u64::MAX),
            other => Err(DataError::whole(
                other,
                "no such file, and no known data set",
                "name a file (.tsv or .gz), debian-1k, debian-10k or gen:10000:42",
            )),
        }
    }

    fn generate(source: &str) -> Result<FanSet, DataError> {
        let mut set = FanSet { source_name: source.into(), ..FanSet::default() };
        let mut text = Text::default();
        let mut watch = MemoryWatch::new();
        for (line, number) in generated(source)?.zip(1..) {
            watch.pass(line.len()).map_err(|error| unreadable(source, &error))?;
            text.line(&line);
            tsv::profile(&mut set, number, &line)?;
        }
        set.finish(text)
    }

    /// Reads at most `limit` profiles.
    fn read(source_name: &str, mut lines: Lines, limit: u64) -> Result<FanSet, DataError> {
        let mut set = FanSet { source_name: source_name.into(), ..FanSet::default() };
        let mut format = None;
        let mut text = Text::default();
        let mut read = 0;
        while read < limit {
            let Some((number, line)) = lines.next_line()? else { break };
            text.line(line);
            if line.trim_ascii().is_empty() {
                continue;
            }
            if read == 0 && line.trim_ascii_start().starts_with('{') && line.contains("\":") {
                return Err(set.error(
                    Spot::of(number, line.as_bytes(), 0),
                    "this is a JSON document, not a profile with its pages",
                    "JSON documents are the input of the job bulk ('kvtrial run bulk --data FILE'); fans takes profiles: name, tab, \
                     pages separated by spaces",
                ));
            }
            match *format.get_or_insert_with(|| detect(line)) {
                Format::Tsv => tsv::profile(&mut set, number, line)?,
                Format::Bracket => bracket::profile(&mut set, number, line)?,
            }
            read += 1;
        }
        set.finish(text)
    }

    fn finish(mut self, text: Text) -> Result<FanSet, DataError> {
        if self.mentions.is_empty() {
            return Err(DataError::whole(
                &self.source_name,
                "it holds no profile with a page",
                "write one profile per line: profile, tab, pages separated by spaces",
            ));
        }
        (self.text_bytes, self.digest) = (text.bytes, text.digest.finish());
        self.mentions.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.named_in = Vec::new();
        Ok(self)
    }

    /// Adds a page to the profile that is being read; says nothing when the profile has it already.
    fn mention(&mut self, page: &[u8], spot: impl Fn() -> Spot) -> Result<(), DataError> {
        if let Some(bad) = page.iter().find(|byte| **byte < b' ' || **byte == 0x7f) {
            return Err(self.error(
                spot(),
                format!("a page name holds the control character 0x{bad:02x}"),
                "remove it",
            ));
        }
        if self.mentions.len() == u32::MAX as usize {
            return Err(self.error(spot(), "more than 4,294,967,295 mentions", "use fewer profiles"));
        }
        let Some(id) = self.pages.intern(page) else {
            return Err(self.error(spot(), "page names exceed 4 GiB", "use fewer profiles"));
        };
        let profile = self.ends.len() as u32 + 1;
        if self.named_in.len() <= id as usize {
            self.named_in.resize(id as usize + 1, 0);
        }
        if std::mem::replace(&mut self.named_in[id as usize], profile) == profile {
            self.repeated += 1;
        } else {
            self.mentions.push(id);
        }
        Ok(())
    }

    fn end_profile(&mut self) {
        self.ends.push(self.mentions.len() as u32);
    }

    fn error(&self, spot: Spot, problem: impl Into<String>, remedy: impl Into<String>) -> DataError {
        DataError::at(&self.source_name, spot, problem, remedy)
    }

    /// Returns the name of the file, data set or generator the profiles came from.
    pub fn source_name(&self) -> &str {
        &self.source_name
    }

    /// Returns the number of profiles.
    pub fn profiles(&self) -> usize {
        self.ends.len()
    }

    /// Returns the pages of profile number `profile`, each once, in the order they were named.
    #[inline]
    pub fn profile(&self, profile: usize) -> &[u32] {
        let start = if profile == 0 { 0 } else { self.ends[profile - 1] as usize };
        &self.mentions[start..self.ends[profile] as usize]
    }

    /// Returns all mentions, profile after profile.
    pub fn mentions(&self) -> &[u32] {
        &self.mentions
    }

    /// Mentions left out because their profile had named the page before.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Returns the number of bytes of the text read, unpacked, each line ended by one `\n`.
    pub fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    /// Returns the digest of that text: the same as `sha256sum` gives for a file in that form.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

fn detect(line: &str) -> Format {
    match (line.find('\t'), line.find('{')) {
        (Some(tab), Some(brace)) if tab < brace && !line[..tab].trim_end().ends_with(':') => Format::Tsv,
        (_, Some(_)) if line.contains(':') => Format::Bracket,
        _ => Format::Tsv,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
