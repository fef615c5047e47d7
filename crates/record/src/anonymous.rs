//! Keys that say nothing of those they stand for: of the same length and kind, with the same beginning where those had the same.
//!
//! Each byte is moved within its kind by as much as a keyed hash (SipHash) of all bytes before it says. So two keys are the same if they were
//! the same before, and only then: from the left, one who knew the secret could find each byte. It is drawn for the recording, and kept
//! nowhere.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The secret of a recording.
#[derive(Default)]
pub(crate) struct Anonymous(RandomState);

/// What parts the words of a key stays.
const SEPARATORS: &[u8] = b":/.-_{}|";

/// Kinds of bytes, as ranges: the first and how many.
const KINDS: [(u8, u8); 3] = [(b'0', 10), (b'a', 26), (b'A', 26)];

/// How each byte moves: the place of its kind in `KINDS`, that of others, or not at all.
const OTHER: u8 = KINDS.len() as u8;
const STAYS: u8 = OTHER + 1;

/// The kinds of all bytes, and all bytes of no kind that has a range.
const BYTES: ([u8; 256], [u8; 256], usize) = {
    let mut kinds = [OTHER; 256];
    let mut at = 0;
    while at < KINDS.len() {
        let mut byte = 0;
        while byte < KINDS[at].1 {
            kinds[(KINDS[at].0 + byte) as usize] = at as u8;
            byte += 1;
        }
        at += 1;
    }
    at = 0;
    while at < SEPARATORS.len() {
        kinds[SEPARATORS[at] as usize] = STAYS;
        at += 1;
    }
    // Others are moved within a ring of their own: their bytes, in order, and how many there are.
    let (mut ring, mut count, mut byte) = ([0; 256], 0, 0);
    while byte < 256 {
        if kinds[byte] == OTHER {
            ring[count] = byte as u8;
            count += 1;
        }
        byte += 1;
    }
    (kinds, ring, count)
};

impl Anonymous {
    /// Replaces `out` by what stands for a key.
    pub(crate) fn key(&self, key: &[u8], out: &mut Vec<u8>) {
        let (kinds, ring, others) = &BYTES;
        out.clear();
        let mut hasher = self.0.build_hasher();
        for &byte in key {
            let moved = hasher.finish();
            out.push(match kinds[usize::from(byte)] {
                STAYS => byte,
                OTHER => {
                    let place = ring[..*others].partition_point(|&other| other < byte);
                    ring[(place as u64 + moved % *others as u64) as usize % others]
                }
                kind => {
                    let (first, count) = KINDS[usize::from(kind)];
                    first + ((u64::from(byte - first) + moved % u64::from(count)) % u64::from(count)) as u8
                }
            });
            hasher.write_u8(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Anonymous;
    use std::collections::BTreeSet;

    fn of(secret: &Anonymous, key: impl AsRef<[u8]>) -> Vec<u8> {
        let mut out = Vec::new();
        secret.key(key.as_ref(), &mut out);
        out
    }

    #[test]
    fn keys_stay_different_and_keep_length_kind_and_common_beginnings() {
        let (secret, other) = (Anonymous::default(), Anonymous::default());
        let keys: Vec<String> = (0..20_000).map(|number| format!("session:{{{}}}/{number}.Xy", number % 10)).collect();
        let hashed: BTreeSet<Vec<u8>> = keys.iter().map(|key| of(&secret, key)).collect();
        assert_eq!(hashed.len(), keys.len());
        let common = |one: &[u8], two: &[u8]| one.iter().zip(two).take_while(|(one, two)| one == two).count();
        for pair in keys.windows(2) {
            let [one, two] = [&pair[0], &pair[1]].map(|key| of(&secret, key));
            assert_eq!(common(&one, &two), common(pair[0].as_bytes(), pair[1].as_bytes()), "{pair:?}");
            for (before, after) in pair[0].bytes().zip(&one) {
                let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_lowercase(), byte.is_ascii_uppercase());
                assert_eq!(kind(before), kind(*after), "{pair:?}");
                assert!(kind(before) != (false, false, false) || before == *after);
            }
        }
        assert!(!of(&secret, "session").starts_with(b"session") || !of(&other, "session").starts_with(b"session"));
        assert_ne!(of(&secret, "a long enough key"), of(&other, "a long enough key"));
    }

    #[test]
    fn every_byte_has_another_in_its_place_wherever_it_is() {
        let secret = Anonymous::default();
        for before in ["", "x", "\0\u{ff}"] {
            let all: BTreeSet<Vec<u8>> =
                (0..=255_u8).map(|byte| of(&secret, [before.as_bytes(), &[byte]].concat())).collect();
            assert_eq!(all.len(), 256);
        }
    }
}
