//! From a message to its terms: unigrams and bigrams, byte by byte.
//!
//! Tokens are the longest runs of bytes that are ASCII letters or digits, `_`, `@`, `#`, `'`, or from 0x80 on; ASCII letters become
//! lower case; a token without a letter, a digit, `_`, `@` or a byte from 0x80 on is dropped.

/// What a byte does to a token: [`BREAKS`], [`JOINS`] or [`COUNTS`].
const KIND: [u8; 256] = kinds();
const BREAKS: u8 = 0;
/// Belongs to a token, but does not make one: `#` and `'`.
const JOINS: u8 = 1;
const COUNTS: u8 = 2;

const fn kinds() -> [u8; 256] {
    let mut kinds = [BREAKS; 256];
    let mut byte = 0;
    while byte < 256 {
        let found = byte as u8;
        if found.is_ascii_alphanumeric() || found == b'_' || found == b'@' || found >= 0x80 {
            kinds[byte] = COUNTS;
        } else if found == b'#' || found == b'\'' {
            kinds[byte] = JOINS;
        }
        byte += 1;
    }
    kinds
}

/// Appends the tokens of a message to `text`, separated by single blanks, and the end of each to `ends`. So the bigram of two
/// neighbours is one slice of `text`.
#[inline]
pub fn tokenize(message: &[u8], text: &mut Vec<u8>, ends: &mut Vec<u32>) {
    let mut at = 0;
    let first = text.len();
    while at < message.len() {
        let mut kind = KIND[usize::from(message[at])];
        if kind == BREAKS {
            at += 1;
            continue;
        }
        let start = at;
        let mut strongest = kind;
        while kind != BREAKS {
            strongest = strongest.max(kind);
            at += 1;
            kind = message.get(at).map_or(BREAKS, |&byte| KIND[usize::from(byte)]);
        }
        if strongest == COUNTS {
            if text.len() > first {
                text.push(b' ');
            }
            text.extend(message[start..at].iter().map(u8::to_ascii_lowercase));
            ends.push(text.len() as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::tokenize;

    fn tokens(message: &[u8]) -> Vec<Vec<u8>> {
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        tokenize(message, &mut text, &mut ends);
        let starts = std::iter::once(0).chain(ends.iter().map(|end| end + 1));
        starts.zip(&ends).map(|(start, &end)| text[start as usize..end as usize].to_vec()).collect()
    }

    #[test]
    fn tokens_are_runs_in_lower_case_and_need_something_to_count() {
        let expected: Vec<&[u8]> =
            vec![b"i", b"don't", b"@you", b"#now", b"a_b", b"_", b"42", b"caf\xc3\xa9", b"\xc3\x84", b"x"];
        assert_eq!(tokens("I don't @You #now! ''' # ### a_b _ 42 café Ä-X".as_bytes()), expected);
        assert_eq!(tokens(b" \t..."), Vec::<Vec<u8>>::new());
        assert_eq!(tokens(b"\xff\xfe"), [b"\xff\xfe"]);
    }
}
