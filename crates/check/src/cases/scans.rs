//! Reading keys in order.

use super::Case;
use crate::fault::Stop;
use crate::probe::Must;
use crate::subject::Subject;
use crate::value;
use store::{Operation, OperationKind, OwnedReply};

pub fn cases() -> Vec<Case> {
    vec![Case::new("a scan answers keys in byte order, from its start, up to its limit", &[OperationKind::Scan], scan)]
}

fn scan(subject: &Subject<'_>) -> Result<(), Stop> {
    let mut probe = subject.probe()?;
    let key = |tail: &[u8]| subject.key([b"scan/", tail].concat());
    let mut keys: Vec<Vec<u8>> = (0..40).map(|number| key(format!("{:02}", number * 2).as_bytes())).collect();
    // Byte order is neither that of letters nor that of signed bytes.
    let tails: [&[u8]; 11] = [b"", b"\0", b"A", b"Z", b"a", b"a\0", b"ab", b"z", b"\x7f", b"\x80", b"\xff"];
    keys.extend(tails.map(key));
    keys.sort();
    let values: Vec<Vec<u8>> = keys.iter().enumerate().map(|(number, key)| value::of(key, 1, number * 13)).collect();
    for at in value::shuffled(keys.len(), subject.options.seed) {
        probe.put(&keys[at], &values[at])?;
    }
    let rows: Vec<(&[u8], &[u8])> = keys.iter().zip(&values).map(|(key, value)| (&key[..], &value[..])).collect();
    let next = (Operation::Get { key: &keys[7] }, Must::Hold(&values[7]));
    for (from, limit) in [(0, rows.len()), (0, 1), (0, 10), (5, 10), (rows.len() - 1, 1), (11, 30)] {
        let operation = Operation::Scan { start: rows[from].0, limit: limit as u32 };
        probe.must(operation, Must::List(&rows[from..from + limit]))?;
        probe.must(next.0, next.1)?;
    }
    // A start that is no key itself: the first one behind it comes first.
    let between = key(b"03");
    let from = keys.partition_point(|known| *known < between);
    probe.must(Operation::Scan { start: &between, limit: 4 }, Must::List(&rows[from..from + 4]))?;
    // What is deleted is not in the order any more.
    probe.delete(&keys[from])?;
    probe.must(Operation::Scan { start: &between, limit: 4 }, Must::List(&rows[from + 1..from + 5]))?;
    // Behind the last key there may be somebody else's data, but none of ours.
    let behind = key(b"\xff\xff");
    if let OwnedReply::Rows(found) = probe.ask(&Operation::Scan { start: &behind, limit: 5 })?
        && let Some((found, value)) = found.rows().iter().find(|(found, _)| found.starts_with(&key(b"")))
    {
        let seen = format!("a scan from after it found it, with {}", crate::fault::excerpt(value, 0));
        return Err(Stop::wrong(study::ReasonKind::UnexpectedHit, found, seen));
    }
    Ok(())
}
