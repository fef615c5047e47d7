//! Values of awkward lengths, each followed by the read of another key: a mis-framed value shows in the answer after it.

use super::Case;
use crate::fault::Stop;
use crate::probe::Must;
use crate::subject::Subject;
use crate::value;
use store::{Operation, OwnedFailure, OwnedReply};
use study::ReasonKind;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

const LENGTHS: [(&str, &[usize]); 8] = [
    ("empty values", &[0]),
    ("values of 1 byte", &[1]),
    ("values of 9 to 11 bytes", &[9, 10, 11]),
    ("values of 99 to 101 bytes", &[99, 100, 101]),
    ("values of 999 to 1,001 bytes", &[999, 1000, 1001]),
    ("values of 1,023 to 1,025 bytes", &[1023, 1024, 1025]),
    ("values of 64 KiB and a byte less and more", &[64 * KIB - 1, 64 * KIB, 64 * KIB + 1]),
    ("values of 1 MiB and a byte less and more", &[MIB - 1, MIB, MIB + 1]),
];

pub fn cases() -> Vec<Case> {
    let lengths = LENGTHS.iter().map(|(what, lengths)| {
        Case::new(format!("{what} come back whole, and so does the next key"), &[], |subject| {
            come_back(subject, lengths)
        })
    });
    let limits = [
        Case::new("a value of the longest length declared comes back whole", &[], longest),
        Case::new("a value over the limit is refused cleanly and the session continues", &[], over_the_limit),
    ];
    lengths.chain(limits).collect()
}

fn come_back(subject: &Subject<'_>, lengths: &[usize]) -> Result<(), Stop> {
    let limit = subject.longest_value_bytes();
    let lengths: Vec<usize> = lengths.iter().copied().filter(|len| *len <= limit).collect();
    if lengths.is_empty() {
        return Err(Stop::Skipped(format!("the store's values end at {limit} bytes")));
    }
    let mut probe = subject.probe()?;
    let pairs: Vec<(Vec<u8>, Vec<u8>)> = lengths
        .iter()
        .map(|len| {
            let key = subject.key(format!("length {len}"));
            let value = value::of(&key, 1, *len);
            (key, value)
        })
        .collect();
    let next = subject.key(format!("next to {}", lengths[0]));
    let next_value = value::of(&next, 1, 24.min(limit));
    let absent = subject.key(format!("absent next to {}", lengths[0]));
    probe.put(&next, &next_value)?;
    for (key, value) in &pairs {
        probe.put(key, value)?;
        probe.holds(&next, &next_value)?;
        probe.holds(key, value)?;
        probe.holds(&next, &next_value)?;
        probe.holds(key, value)?;
        probe.misses(&absent)?;
    }
    drop(probe);
    // The same answers behind each other in one stream.
    let mut probe = subject.probe_with(16)?;
    let next_read = (Operation::Get { key: &next }, Must::Hold(&next_value[..]));
    let script: Vec<_> =
        pairs.iter().flat_map(|(key, value)| [(Operation::Get { key }, Must::Hold(value)), next_read]).collect();
    probe.all_must(&script)
}

/// The longest value the store declares, when it is short enough to try.
fn limit_to_try(subject: &Subject<'_>) -> Result<usize, Stop> {
    let limit = subject.capabilities().max_value_bytes;
    let largest = subject.options.largest_value_bytes;
    if limit > largest {
        return Err(Stop::Skipped(format!("its limit of {limit} bytes is above the {largest} bytes this check sends")));
    }
    Ok(limit)
}

fn longest(subject: &Subject<'_>) -> Result<(), Stop> {
    let limit = limit_to_try(subject)?;
    let mut probe = subject.probe()?;
    let (key, next) = (subject.key("longest value"), subject.key("next to the longest value"));
    let (value, next_value) = (value::of(&key, 1, limit), value::of(&next, 1, 24.min(limit)));
    probe.put(&next, &next_value)?;
    probe.put(&key, &value)?;
    probe.holds(&key, &value)?;
    probe.holds(&next, &next_value)?;
    probe.delete(&key)
}

/// What is refused must leave nothing behind, in the store or on the connection; where the limit is only declared, and not the
/// store's own, a value over it may also be kept, whole.
fn over_the_limit(subject: &Subject<'_>) -> Result<(), Stop> {
    let limit = limit_to_try(subject)?;
    let mut probe = subject.probe()?;
    let (key, next) = (subject.key("too long a value"), subject.key("next to too long a value"));
    let next_value = value::of(&next, 1, 24.min(limit));
    probe.put(&next, &next_value)?;
    for len in [limit + 1, limit + limit / 8 + 100] {
        let value = value::of(&key, 1, len);
        match probe.attempt(&Operation::Put { key: &key, value: &value })? {
            OwnedReply::Failed(OwnedFailure::Refused(_)) => {
                probe.holds(&next, &next_value)?;
                probe.misses(&key)?;
            }
            OwnedReply::Done if !subject.capabilities().value_limit_is_hard => {
                probe.holds(&key, &value)?;
                probe.holds(&next, &next_value)?;
                probe.delete(&key)?;
            }
            other => {
                let seen = format!("{len} bytes were to be refused, got {:?}", other.as_reply());
                return Err(Stop::wrong(ReasonKind::WrongReply, &key, seen));
            }
        }
    }
    probe.put(&key, &next_value)?;
    probe.holds(&key, &next_value)
}
