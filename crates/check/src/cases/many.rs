//! Several keys in one request.

use super::Case;
use crate::fault::Stop;
use crate::probe::Must;
use crate::subject::Subject;
use crate::value;
use store::{Operation, OperationKind};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("get_many answers those present, in the order asked", &[OperationKind::GetMany], get_many),
        Case::new("put_many stores every pair and nothing else", &[OperationKind::PutMany], put_many),
    ]
}

const LENGTHS: [usize; 8] = [0, 1, 10, 100, 1000, 1025, 5, 20_000];

fn pairs(subject: &Subject<'_>, name: &str, count: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let limit = subject.longest_value_bytes();
    (0..count)
        .map(|number| {
            let key = subject.key(format!("{name} {number}"));
            let value = value::of(&key, 1, LENGTHS[number % LENGTHS.len()].min(limit));
            (key, value)
        })
        .collect()
}

fn get_many(subject: &Subject<'_>) -> Result<(), Stop> {
    let mut probe = subject.probe()?;
    let pairs = pairs(subject, "one of many", 100);
    let is_there = |at: usize| at % 4 != 1;
    for (_, (key, value)) in pairs.iter().enumerate().filter(|(at, _)| is_there(*at)) {
        probe.put(key, value)?;
    }
    for (round, count) in [1, 2, 3, 17, 100].into_iter().enumerate() {
        let asked = &value::shuffled(pairs.len(), round as u64)[..count];
        let keys: Vec<&[u8]> = asked.iter().map(|at| &pairs[*at].0[..]).collect();
        let present: Vec<(&[u8], &[u8])> =
            (asked.iter().filter(|at| is_there(**at))).map(|at| (&pairs[*at].0[..], &pairs[*at].1[..])).collect();
        probe.must(Operation::GetMany { keys: &keys }, Must::List(&present))?;
        // Another read behind it: rows left over would be its answer.
        probe.holds(&pairs[0].0, &pairs[0].1)?;
    }
    let absent: Vec<&[u8]> = (0..pairs.len()).filter(|at| !is_there(*at)).map(|at| &pairs[at].0[..]).collect();
    probe.must(Operation::GetMany { keys: &absent }, Must::List(&[]))?;
    probe.holds(&pairs[0].0, &pairs[0].1)
}

fn put_many(subject: &Subject<'_>) -> Result<(), Stop> {
    let mut probe = subject.probe()?;
    let pairs = pairs(subject, "put with others", 60);
    let next = subject.key("next to many");
    let next_value = value::of(&next, 1, 30);
    probe.put(&next, &next_value)?;
    for count in [1, 2, 60] {
        let batch: Vec<(&[u8], &[u8])> = pairs[..count].iter().map(|(key, value)| (&key[..], &value[..])).collect();
        probe.must(Operation::PutMany { pairs: &batch }, Must::BeDone)?;
        probe.holds(&next, &next_value)?;
        for (at, (key, value)) in pairs.iter().enumerate() {
            probe.must(Operation::Get { key }, if at < count { Must::Hold(value) } else { Must::Miss })?;
        }
    }
    // Written again with other values: each is replaced.
    let again: Vec<Vec<u8>> = pairs.iter().map(|(key, _)| value::of(key, 2, 33)).collect();
    let batch: Vec<(&[u8], &[u8])> = pairs.iter().zip(&again).map(|((key, _), value)| (&key[..], &value[..])).collect();
    probe.must(Operation::PutMany { pairs: &batch }, Must::BeDone)?;
    for (key, value) in &batch {
        probe.holds(key, value)?;
    }
    Ok(())
}
