//! The shortest and the longest keys.

use super::Case;
use crate::fault::Stop;
use crate::subject::Subject;
use crate::value;
use store::{Operation, OwnedFailure, OwnedReply};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("the empty key is a key like others", &[], empty),
        Case::new("keys of the longest length declared stay distinct", &[], longest),
        Case::new("a key one byte over the limit is refused or kept whole", &[], one_byte_over),
    ]
}

fn empty(subject: &Subject<'_>) -> Result<(), Stop> {
    let min = subject.capabilities().min_key_bytes;
    if min > 0 {
        return Err(Stop::Skipped(format!("the store's keys have at least {min} byte")));
    }
    let mut probe = subject.probe()?;
    if probe.ask(&Operation::Get { key: b"" })? != OwnedReply::Missing {
        return Err(Stop::Skipped("the empty key holds data of others".into()));
    }
    let next = subject.key("next to the empty key");
    let (value, next_value) = (value::of(b"", subject.options.seed, 20), value::of(&next, 1, 20));
    probe.put(&next, &next_value)?;
    probe.put(b"", &value)?;
    probe.holds(b"", &value)?;
    probe.holds(&next, &next_value)?;
    probe.delete(b"")?;
    probe.misses(b"")?;
    // From here on it could be somebody else's again.
    subject.ledger.forget(b"");
    probe.holds(&next, &next_value)
}

/// A key of exactly `len` bytes that ends with `last`.
fn key_of_length(subject: &Subject<'_>, len: usize, last: u8) -> Vec<u8> {
    let mut key = subject.key("long ");
    key.resize(len - 1, b'k');
    key.push(last);
    key
}

fn longest(subject: &Subject<'_>) -> Result<(), Stop> {
    let len = subject.capabilities().max_key_bytes;
    let mut probe = subject.probe()?;
    let keys =
        [key_of_length(subject, len, b'a'), key_of_length(subject, len, b'b'), key_of_length(subject, len - 1, b'a')];
    let values = keys.each_ref().map(|key| value::of(key, 1, 30));
    for (key, value) in keys.iter().zip(&values) {
        probe.misses(key)?;
        probe.put(key, value)?;
    }
    for (key, value) in keys.iter().zip(&values) {
        probe.holds(key, value)?;
    }
    probe.delete(&keys[0])?;
    probe.misses(&keys[0])?;
    probe.holds(&keys[1], &values[1])
}

fn one_byte_over(subject: &Subject<'_>) -> Result<(), Stop> {
    let len = subject.capabilities().max_key_bytes;
    let mut probe = subject.probe()?;
    let next = subject.key("next to too long a key");
    let next_value = value::of(&next, 1, 20);
    probe.put(&next, &next_value)?;
    let key = key_of_length(subject, len + 1, b'a');
    let value = value::of(&key, 1, 30);
    match probe.attempt(&Operation::Put { key: &key, value: &value })? {
        OwnedReply::Failed(OwnedFailure::Refused(_)) => subject.ledger.forget(&key),
        // The limit is only ours: then the key must be there, whole.
        _ => {
            probe.holds(&key, &value)?;
            probe.misses(&key[..len])?;
        }
    }
    probe.holds(&next, &next_value)
}
