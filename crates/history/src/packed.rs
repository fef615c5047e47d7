//! An operation as a row of 64-bit words, for files that only this process reads.

use std::io::{self, Read, Write};

use crate::act::{Act, ActEnd, ActKind, SwapAnswer};

/// Stands before a version.
const SOME: u64 = 1;
/// Stands where there is no version.
const NONE: u64 = 0;

/// Writes an operation.
pub(crate) fn write(out: &mut impl Write, operation: &Act) -> io::Result<()> {
    let (end, at) = match operation.end {
        ActEnd::Answered(at) => (0, at),
        ActEnd::Refused(at) => (1, at),
        ActEnd::Unknown => (2, 0),
    };
    let mut words = vec![operation.key, u64::from(operation.client), operation.sent_ns, end, at];
    let optional = |it: Option<u64>| [if it.is_some() { SOME } else { NONE }, it.unwrap_or(0)];
    match &operation.kind {
        ActKind::Put(version) => words.extend([0, *version]),
        ActKind::Get(version) => words.extend([1].into_iter().chain(optional(*version))),
        ActKind::Delete => words.push(2),
        ActKind::CompareAndSet { expected, new, swap } => {
            words.extend([3].into_iter().chain(optional(*expected)));
            words.extend([*new, u64::from(*swap == SwapAnswer::Done)]);
        }
        ActKind::Add { by, now } => {
            words.extend([4, by.cast_unsigned()].into_iter().chain(optional(now.map(i64::cast_unsigned))));
        }
        ActKind::Sum(sum) => words.extend([5, sum.cast_unsigned()]),
        ActKind::Append(element) => words.extend([6, *element]),
        ActKind::List(elements) => words.extend([7].iter().chain(elements)),
    }
    out.write_all(&(words.len() as u64).to_le_bytes())?;
    words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))
}

/// Reads the next operation; none at the end.
pub(crate) fn read(input: &mut impl Read) -> io::Result<Option<Act>> {
    let mut word = [0; 8];
    match input.read_exact(&mut word) {
        Err(end) if end.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut words = vec![0; u64::from_le_bytes(word) as usize];
    for one in &mut words {
        input.read_exact(&mut word)?;
        *one = u64::from_le_bytes(word);
    }
    Ok(operation(&words))
}

/// Returns the operation that words stand for.
fn operation(words: &[u64]) -> Option<Act> {
    let [key, client, sent_ns, end, at, kind @ ..] = words else { return None };
    let optional = |some: u64, it: u64| (some == SOME).then_some(it);
    let kind = match *kind {
        [0, version] => ActKind::Put(version),
        [1, some, version] => ActKind::Get(optional(some, version)),
        [2] => ActKind::Delete,
        [3, some, expected, new, done] => ActKind::CompareAndSet {
            expected: optional(some, expected),
            new,
            swap: if done == 1 { SwapAnswer::Done } else { SwapAnswer::Declined },
        },
        [4, by, some, now] => ActKind::Add { by: by.cast_signed(), now: optional(some, now).map(u64::cast_signed) },
        [5, sum] => ActKind::Sum(sum.cast_signed()),
        [6, element] => ActKind::Append(element),
        [7, ref elements @ ..] => ActKind::List(elements.to_vec()),
        _ => return None,
    };
    let end = match end {
        0 => ActEnd::Answered(*at),
        1 => ActEnd::Refused(*at),
        _ => ActEnd::Unknown,
    };
    Some(Act { key: *key, client: *client as u32, kind, sent_ns: *sent_ns, end })
}
