//! A hash of a reply that does not depend on the version of the protocol: a map is a list of keys and values, a truth a number, a status a text.

use xxhash_rust::xxh3::Xxh3Default;

/// The hash of a reply, value by value; those within a list follow it.
#[derive(Clone, Default)]
pub struct ReplyDigest(Xxh3Default);

impl ReplyDigest {
    /// Adds nothing.
    pub fn nil(&mut self) {
        self.0.update(b"_");
    }

    /// Adds a number.
    pub fn number(&mut self, number: i64) {
        self.0.update(b":");
        self.0.update(&number.to_le_bytes());
    }

    /// Adds bytes, the words of a status, or a number with a fraction.
    pub fn text(&mut self, bytes: &[u8]) {
        self.0.update(b"$");
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds the words of an error.
    pub fn error(&mut self, words: &[u8]) {
        self.0.update(b"-");
        self.text(words);
    }

    /// Adds a list of this many values.
    pub fn list(&mut self, values: u64) {
        self.0.update(b"*");
        self.0.update(&values.to_le_bytes());
    }

    /// Returns the first 64 bits of the hash (XXH3).
    pub fn finish(&self) -> u64 {
        self.0.digest()
    }
}
