//! Values replaced and keys deleted.

use super::Case;
use crate::fault::Stop;
use crate::probe::Must;
use crate::subject::Subject;
use crate::value;
use store::Operation;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("a value replaced by a shorter, a longer or an equal one is replaced whole", &[], replaced),
        Case::new("a deleted key is gone, can be written again, and a missing one says so", &[], deleted),
    ]
}

fn replaced(subject: &Subject<'_>) -> Result<(), Stop> {
    let mut probe = subject.probe()?;
    let (key, next) = (subject.key("replaced"), subject.key("next to the replaced"));
    let limit = subject.longest_value_bytes();
    let next_value = value::of(&next, 1, 40);
    probe.put(&next, &next_value)?;
    let lengths = [100, 10, 1000, 999, 0, 5000, 5000, 1, 100_000, 20, 20];
    for (version, len) in lengths.into_iter().filter(|len| *len <= limit).enumerate() {
        let value = value::of(&key, version as u64, len);
        probe.put(&key, &value)?;
        probe.holds(&key, &value)?;
        probe.holds(&next, &next_value)?;
        probe.put(&key, &value)?;
        probe.holds(&key, &value)?;
    }
    Ok(())
}

fn deleted(subject: &Subject<'_>) -> Result<(), Stop> {
    let mut probe = subject.probe()?;
    let (key, never) = (subject.key("deleted"), subject.key("never written"));
    for version in 0..3 {
        let value = value::of(&key, version, 50);
        probe.misses(&key)?;
        probe.put(&key, &value)?;
        probe.holds(&key, &value)?;
        probe.delete(&key)?;
        probe.misses(&key)?;
        probe.must(Operation::Delete { key: &key }, Must::Miss)?;
        probe.must(Operation::Delete { key: &never }, Must::Miss)?;
    }
    Ok(())
}
