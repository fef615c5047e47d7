//! The answer: every key with its value, in hexadecimal, in byte order.

use data::append::{Event, Events};
use data::digest::LineDigest;
use std::collections::BTreeMap;

/// The values that the store must hold, computed from the input without any store.
pub struct ExpectedAnswer {
    /// Digest of the lines `key \t value`, both in lower-case hexadecimal.
    pub digest: String,
}

/// Values found that are not what they must be, by id; `None`: the key is missing.
pub type Wrong = BTreeMap<u64, Option<Vec<u8>>>;

impl ExpectedAnswer {
    /// Makes the answer of these events.
    pub fn of(events: &Events) -> ExpectedAnswer {
        ExpectedAnswer { digest: digest(events, &Wrong::new()) }
    }
}

/// Returns the digest of a store that holds what it must, but for these keys.
pub fn digest(events: &Events, wrong: &Wrong) -> String {
    let mut lines = LineDigest::default();
    let (mut scratch, mut value, mut text) = (Vec::new(), Vec::new(), Vec::new());
    events.each_key_in_order(|key, id| {
        match wrong.get(&id) {
            Some(None) => return,
            Some(Some(found)) => value.clone_from(found),
            None => events.value(key, &mut scratch, &mut value),
        }
        text.clear();
        hex(&Event { id, fields: 0 }.key(), &mut text);
        let key_end = text.len();
        hex(&value, &mut text);
        let (key, value) = text.split_at(key_end);
        lines.line(&[key, value]);
    });
    lines.finish()
}

fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}
