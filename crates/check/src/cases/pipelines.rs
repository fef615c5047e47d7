//! Many operations of different sizes in flight on one connection.

use super::Case;
use crate::fault::Stop;
use crate::probe::Must;
use crate::subject::Subject;
use crate::value;
use store::{Operation, OperationKind};

/// Lengths mixed in one stream of requests.
const LENGTHS: [usize; 12] = [0, 1, 10, 64, 100, 511, 1000, 1024, 4097, 16_384, 65_537, 3];

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("16 operations in flight on one connection keep their answers", &[], |subject| mixed(subject, 16)),
        Case::new("128 operations in flight on one connection keep their answers", &[], |subject| mixed(subject, 128)),
        Case::new("misses between hits in one stream stay misses", &[], misses),
        Case::new("reads, writes and counters in one stream keep apart", &NEEDS, kinds),
    ]
}

fn mixed(subject: &Subject<'_>, in_flight: u32) -> Result<(), Stop> {
    let limit = subject.longest_value_bytes();
    let mut probe = subject.probe_with(in_flight)?;
    let keys: Vec<Vec<u8>> = (0..240).map(|number| subject.key(format!("stream {in_flight} {number}"))).collect();
    for round in 0..3 {
        let order = value::shuffled(keys.len(), u64::from(in_flight) + round);
        let (older, newer): (Vec<_>, Vec<_>) = keys
            .iter()
            .enumerate()
            .map(|(number, key)| {
                let len = LENGTHS[(number + round as usize) % LENGTHS.len()].min(limit);
                let old_len = LENGTHS[(number + round as usize + LENGTHS.len() - 1) % LENGTHS.len()].min(limit);
                (value::of(key, round.wrapping_sub(1), old_len), value::of(key, round, len))
            })
            .unzip();
        // Half of the keys are read while the other half is written; then all are read.
        let script: Vec<_> = order
            .iter()
            .map(|&at| match (at % 2, round) {
                (0, _) => (Operation::Put { key: &keys[at], value: &newer[at] }, Must::BeDone),
                (_, 0) => (Operation::Get { key: &keys[at] }, Must::Miss),
                _ => (Operation::Get { key: &keys[at] }, Must::Hold(&older[at])),
            })
            .collect();
        probe.all_must(&script)?;
        let script: Vec<_> = (order.iter().filter(|at| **at % 2 == 1))
            .map(|&at| (Operation::Put { key: &keys[at], value: &newer[at] }, Must::BeDone))
            .collect();
        probe.all_must(&script)?;
        let script: Vec<_> =
            order.iter().map(|&at| (Operation::Get { key: &keys[at] }, Must::Hold(&newer[at]))).collect();
        probe.all_must(&script)?;
    }
    Ok(())
}

fn misses(subject: &Subject<'_>) -> Result<(), Stop> {
    let mut probe = subject.probe_with(32)?;
    let keys: Vec<Vec<u8>> = (0..200).map(|number| subject.key(format!("now and then {number}"))).collect();
    let values: Vec<Vec<u8>> =
        keys.iter().enumerate().map(|(number, key)| value::of(key, 1, number * 7 % 300)).collect();
    let is_hit = |at: usize| at.is_multiple_of(3);
    let script: Vec<_> = (0..keys.len())
        .filter(|at| is_hit(*at))
        .map(|at| (Operation::Put { key: &keys[at], value: &values[at] }, Must::BeDone))
        .collect();
    probe.all_must(&script)?;
    for round in 0..3 {
        let script: Vec<_> = value::shuffled(keys.len(), round)
            .into_iter()
            .map(|at| {
                (Operation::Get { key: &keys[at] }, if is_hit(at) { Must::Hold(&values[at]) } else { Must::Miss })
            })
            .collect();
        probe.all_must(&script)?;
    }
    Ok(())
}

const NEEDS: [OperationKind; 2] = [OperationKind::Increment, OperationKind::GetCounter];

fn kinds(subject: &Subject<'_>) -> Result<(), Stop> {
    let mut probe = subject.probe_with(16)?;
    let keys: Vec<Vec<u8>> = (0..60).map(|number| subject.key(format!("of kinds {number}"))).collect();
    let values: Vec<Vec<u8>> = keys.iter().map(|key| value::of(key, 1, 200)).collect();
    for round in 1..=3_i64 {
        let script: Vec<_> = (0..keys.len())
            .map(|at| {
                let (key, value) = (&keys[at], &values[at]);
                match at % 3 {
                    0 => (Operation::Increment { key, by: at as i64 + 1 }, Must::Count((at as i64 + 1) * round)),
                    1 => (Operation::Put { key, value }, Must::BeDone),
                    _ => (Operation::Delete { key }, Must::Miss),
                }
            })
            .collect();
        probe.all_must(&script)?;
        let script: Vec<_> = (0..keys.len())
            .rev()
            .map(|at| match at % 3 {
                0 => (Operation::GetCounter { key: &keys[at] }, Must::Count((at as i64 + 1) * round)),
                1 => (Operation::Get { key: &keys[at] }, Must::Hold(&values[at])),
                _ => (Operation::Get { key: &keys[at] }, Must::Miss),
            })
            .collect();
        probe.all_must(&script)?;
    }
    Ok(())
}
