//! Events from CSV: `id,f1,f2,...` a line, 64-bit integers, in the order in which they are to be appended.

use super::Event;
use crate::digest::LineDigest;
use crate::lines::Lines;
use crate::{DataError, Spot};
use std::path::Path;

const REMEDY: &str = "write id,field,field,... in 64-bit integers, and no header";

/// Events in memory: 16 bytes each in order of the file, and an index by key.
pub struct EventTable {
    /// In the order of the file.
    pub events: Vec<Event>,
    /// The ids there are, ascending.
    pub ids: Vec<u64>,
    /// Where each id's events end in `order`.
    ends: Vec<u32>,
    /// Positions of the events of one id after the other, ascending within an id.
    order: Vec<u32>,
}

impl EventTable {
    fn new(events: Vec<Event>) -> EventTable {
        let mut order: Vec<u32> = (0..events.len() as u32).collect();
        order.sort_unstable_by_key(|&at| (events[at as usize].id, at));
        let (mut ids, mut ends): (Vec<u64>, Vec<u32>) = (Vec::new(), Vec::new());
        for (count, &at) in (1..).zip(&order) {
            let id = events[at as usize].id;
            if ids.last() != Some(&id) {
                ids.push(id);
                ends.push(0);
            }
            if let Some(end) = ends.last_mut() {
                *end = count;
            }
        }
        EventTable { events, ids, ends, order }
    }

    /// Returns the events of key number `key`, in the order of the file.
    pub fn events_of(&self, key: u64) -> impl Iterator<Item = Event> {
        let key = key as usize;
        let start = if key == 0 { 0 } else { self.ends[key - 1] };
        self.order[start as usize..self.ends[key] as usize].iter().map(|&at| self.events[at as usize])
    }

    /// Events of the key that has most.
    pub fn most_events(&self) -> u64 {
        (0..self.ids.len() as u64).map(|key| self.events_of(key).count() as u64).max().unwrap_or(0)
    }
}

/// Reads a file; with the digest of its text.
pub fn read(path: &Path) -> Result<(EventTable, String), DataError> {
    let name = path.display().to_string();
    let mut lines = Lines::open(path)?;
    let (mut events, mut digest) = (Vec::new(), LineDigest::default());
    while let Some((number, line)) = lines.next_line()? {
        digest.line(&[line.as_bytes()]);
        if line.trim_ascii().is_empty() {
            continue;
        }
        if events.len() == u32::MAX as usize {
            return Err(DataError::whole(&name, "more than 4,294,967,295 events", "split the file"));
        }
        events.push(event(line).map_err(|(byte, problem)| {
            DataError::at(&name, Spot::of(number, line.as_bytes(), byte), problem, REMEDY)
        })?);
    }
    if events.is_empty() {
        return Err(DataError::whole(&name, "it holds no event", REMEDY));
    }
    Ok((EventTable::new(events), digest.finish()))
}

/// One line; on failure the byte where the wrong field begins, and what is wrong with it.
fn event(line: &str) -> Result<Event, (usize, String)> {
    let mut at = 0;
    let (mut id, mut fields) = (None, None);
    for (number, text) in (1..).zip(line.split(',')) {
        let word = text.trim_ascii();
        // Unsigned or signed: both are 64 bits.
        let value = word.parse::<u64>().or_else(|_| word.parse::<i64>().map(i64::cast_unsigned)).map_err(|_| {
            let what = if number == 1 { "field 1 (the id)".into() } else { format!("field {number}") };
            (at, format!("{what} is '{word}', not a 64-bit integer"))
        })?;
        match id {
            None => id = Some(value),
            Some(_) => fields = Some(fields.unwrap_or(0) ^ value),
        }
        at += text.len() + 1;
    }
    match (id, fields) {
        (Some(id), Some(fields)) => Ok(Event { id, fields }),
        _ => Err((line.len(), "an id without a field".into())),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Event, event, read};

    #[test]
    fn the_fields_are_combined_by_exclusive_or_and_may_be_signed() {
        assert_eq!(event("1,19970101,1,1177"), Ok(Event { id: 1, fields: 19_970_101 ^ 1 ^ 1177 }));
        assert_eq!(event(" 18446744073709551615 , -1"), Ok(Event { id: u64::MAX, fields: u64::MAX }));
    }

    #[test]
    fn a_malformed_line_is_named_with_its_column_and_field() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.csv");
        for (text, words) in [
            ("1,2\n3,4,x5\n", "line 2, column 5: field 3 is 'x5', not a 64-bit integer"),
            ("id,when\n1,2\n", "line 1, column 1: field 1 (the id) is 'id'"),
            ("1,2\n\n7\n", "line 3, column 2: an id without a field"),
            ("1,18446744073709551616\n", "line 1, column 3: field 2"),
            ("1,,2\n", "line 1, column 3: field 2 is ''"),
            ("\n", "it holds no event"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read(&path).err().unwrap().to_string();
            assert!(error.contains(words) && error.contains("64-bit integers, and no header"), "{error}");
        }
    }
}
