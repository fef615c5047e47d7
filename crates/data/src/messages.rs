//! Short messages and the terms they are made of (the input of the language-model counts of 2009).
//!
//! A source is a text file with a message a line (any bytes, plain or `.gz`), the data set shipped with the program (`vader`), or a
//! generator (`gen:MESSAGES:SEED`).

mod generate;
mod tokens;

pub use generate::Generator;
pub use tokens::tokenize;

use crate::DataError;
use crate::bounded::MemoryWatch;
use crate::digest::LineDigest;
use crate::lines::{Lines, unreadable};
use crate::names::Names;
use crate::sent::is_file;
use std::path::Path;

static VADER: &[u8] = include_bytes!("../../../data/messages/vader_messages.txt.gz");

/// All terms of all messages as numbers: unigrams and bigrams in one space, bigrams with a blank between their words. A bigram never
/// crosses messages.
#[derive(Default)]
pub struct Terms {
    /// Every distinct term, numbered in the order they first came.
    pub names: Names,
    /// The term of every increment, message after message.
    pub increments: Vec<u32>,
    /// How often each term comes.
    pub counts: Vec<u32>,
    /// Number of messages.
    pub messages: u64,
    /// Number of tokens: unigrams, repeated ones included.
    pub tokens: u64,
    /// Bytes of the text, a line end a message.
    pub text_bytes: u64,
    source_name: String,
    digest: String,
}

impl Terms {
    /// Reads or makes the messages of this name: `vader`, `gen:MESSAGES:SEED`, or a file.
    ///
    /// # Errors
    /// Names the source and the remedy.
    pub fn load(source: &str) -> Result<Terms, DataError> {
        let mut reader =
            Reader { terms: Terms { source_name: source.into(), ..Terms::default() }, ..Reader::default() };
        if let Some(numbers) = source.strip_prefix("gen:") {
            let numbers: Option<Vec<u64>> = numbers.split(':').map(crate::count::whole).collect();
            let Some(&[messages @ 1..=u64::MAX, seed]) = numbers.as_deref() else {
                let remedy = "write gen:MESSAGES:SEED, as in gen:100000:42";
                return Err(DataError::whole(source, "two numbers must follow gen:", remedy));
            };
            let (mut generator, mut message) = (Generator::new(seed), Vec::new());
            let mut watch = MemoryWatch::new();
            for _ in 0..messages {
                message.clear();
                generator.message(&mut message);
                watch.pass(message.len()).map_err(|error| unreadable(source, &error))?;
                reader.message(&message)?;
            }
            return reader.finish();
        }
        let mut lines = match source {
            "vader" => Lines::of_bytes(source, VADER)?,
            path if is_file(Path::new(path)) => Lines::open(Path::new(path))?,
            other => {
                let remedy = "name a text file with one message per line, vader, or gen:100000:42";
                return Err(DataError::whole(other, "no such file, and no known data set", remedy));
            }
        };
        while let Some((_, line)) = lines.next_bytes()? {
            reader.message(line)?;
        }
        reader.finish()
    }

    /// Returns the name of the file, data set or generator the messages came from.
    pub fn source_name(&self) -> &str {
        &self.source_name
    }

    /// Returns the digest of the text.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

#[derive(Default)]
struct Reader {
    terms: Terms,
    lines: LineDigest,
    text: Vec<u8>,
    ends: Vec<u32>,
}

impl Reader {
    fn message(&mut self, message: &[u8]) -> Result<(), DataError> {
        let Reader { terms, lines, text, ends } = self;
        lines.line(&[message]);
        terms.messages += 1;
        terms.text_bytes += message.len() as u64 + 1;
        text.clear();
        ends.clear();
        tokenize(message, text, ends);
        terms.tokens += ends.len() as u64;
        let (mut start, mut last_start) = (0, None);
        for &end in ends.iter() {
            terms.add(&text[start..end as usize])?;
            if let Some(last) = last_start {
                terms.add(&text[last..end as usize])?;
            }
            last_start = Some(start);
            start = end as usize + 1;
        }
        Ok(())
    }

    fn finish(self) -> Result<Terms, DataError> {
        let Reader { mut terms, lines, .. } = self;
        if terms.increments.is_empty() {
            return Err(DataError::whole(&terms.source_name, "it holds no term", "write a message a line"));
        }
        terms.digest = lines.finish();
        terms.increments.shrink_to_fit();
        Ok(terms)
    }
}

impl Terms {
    fn add(&mut self, term: &[u8]) -> Result<(), DataError> {
        let Some(id) = self.names.intern(term) else {
            return Err(DataError::whole(&self.source_name, "its terms exceed 4 GiB", "use fewer messages"));
        };
        if id as usize == self.counts.len() {
            self.counts.push(0);
        }
        self.counts[id as usize] += 1;
        self.increments.push(id);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Terms;

    #[test]
    fn the_shipped_messages_have_the_terms_an_independent_script_counted() {
        let terms = Terms::load("vader").unwrap();
        assert_eq!((terms.messages, terms.tokens, terms.increments.len()), (23_703, 410_188, 796_677));
        assert_eq!(terms.names.len(), 236_135);
        let count = |term: &[u8]| terms.counts[terms.names.id(term).unwrap() as usize];
        assert_eq!([count(b"the"), count(b"of the"), count(b"http url_removed")], [20_912, 1983, 696]);
        assert_eq!(terms.names.iter().map(<[u8]>::len).max(), Some(61));
    }

    #[test]
    fn bigrams_never_cross_messages_and_bytes_need_no_encoding() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("messages.txt");
        std::fs::write(&path, b"a b\n\xff\n\nB a b\n").unwrap();
        let terms = Terms::load(path.to_str().unwrap()).unwrap();
        let mut found: Vec<_> =
            (0..).zip(terms.names.iter()).map(|(id, name)| (name.to_vec(), terms.counts[id])).collect();
        found.sort();
        let expected: [(&[u8], u32); 5] = [(b"a", 2), (b"a b", 2), (b"b", 3), (b"b a", 1), (b"\xff", 1)];
        assert_eq!(found, expected.map(|(name, count)| (name.to_vec(), count)));
        assert_eq!((terms.messages, terms.tokens), (4, 6));
    }

    #[test]
    fn a_source_without_terms_and_a_source_that_is_none_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("empty.txt");
        std::fs::write(&path, "...\n").unwrap();
        for (source, words) in
            [(path.to_str().unwrap(), "no term"), ("gen:0:1", "gen:MESSAGES:SEED"), ("nothing", "no known data set")]
        {
            let error = Terms::load(source).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
