//! sha256 over lines that end in `\n`, in byte order (the order of `LC_ALL=C sort`).

use sha2::{Digest, Sha256};

/// sha256 of a stream of lines that already come in order.
#[derive(Clone, Default)]
pub struct LineDigest {
    hasher: Sha256,
    buffer: Vec<u8>,
}

impl LineDigest {
    const FULL_BYTES: usize = 16 << 10;

    /// Adds one line: `fields` joined by tabs, and `\n`.
    #[inline]
    pub fn line(&mut self, fields: &[&[u8]]) {
        for (at, field) in fields.iter().enumerate() {
            if at > 0 {
                self.buffer.push(b'\t');
            }
            self.buffer.extend_from_slice(field);
        }
        self.buffer.push(b'\n');
        if self.buffer.len() >= Self::FULL_BYTES {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
    }

    /// Returns `sha256:` and 64 hex digits.
    pub fn finish(mut self) -> String {
        self.hasher.update(&self.buffer);
        named(&self.hasher.finalize())
    }
}

/// Returns the digest of lines in any order: sorts them bytewise first. Lines come without their `\n`.
pub fn of_lines<L: AsRef<[u8]> + Ord>(mut lines: Vec<L>) -> String {
    lines.sort_unstable_by(|a, b| a.as_ref().cmp(b.as_ref()));
    let mut digest = LineDigest::default();
    for line in &lines {
        digest.line(&[line.as_ref()]);
    }
    digest.finish()
}

/// Returns the digest of bytes as they are.
pub fn of_bytes(bytes: &[u8]) -> String {
    named(&Sha256::digest(bytes))
}

/// Returns the sha256 of bytes as they are, as 64 hex digits.
pub fn hex_of_bytes(bytes: &[u8]) -> [u8; 64] {
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(Sha256::digest(bytes)) {
        pair.copy_from_slice(&[byte >> 4, byte & 15].map(digit));
    }
    text
}

fn named(hash: &[u8]) -> String {
    let mut text = String::with_capacity(7 + 64);
    text += "sha256:";
    text.extend(hash.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|nibble| char::from(digit(nibble))));
    text
}

fn digit(nibble: u8) -> u8 {
    b"0123456789abcdef"[usize::from(nibble)]
}

#[cfg(test)]
mod tests {
    use super::{LineDigest, of_bytes, of_lines};

    #[test]
    fn digests_are_those_of_sha256sum_and_sort() {
        // printf 'B\na\n\xc3\xa4\n' | LC_ALL=C sort | sha256sum
        let expected = "sha256:c0409cdb98c47a15eb7c5795cc9bd8de48a0673e5106eb5586c6b7cfbbcb8b61";
        assert_eq!(of_lines(vec!["ä", "a", "B"]), expected);
        assert_eq!(of_bytes("B\na\nä\n".as_bytes()), expected);
        assert_eq!(of_bytes(b"abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn a_long_stream_of_fields_is_digested_like_its_text() {
        let mut digest = LineDigest::default();
        let mut text = String::new();
        for number in 0..5000 {
            let number = number.to_string();
            digest.line(&[number.as_bytes(), b"x", b"1"]);
            text += &format!("{number}\tx\t1\n");
        }
        assert_eq!(digest.finish(), of_bytes(text.as_bytes()));
    }
}
