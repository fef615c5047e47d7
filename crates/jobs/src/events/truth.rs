//! The answer, by one thread, from the input alone.

use super::portion::Portion;
use super::table::{EventSummary, SummaryTable};
use data::DataError;
use data::digest::LineDigest;
use data::events::EventText;
use std::collections::BTreeMap;

/// Every counter as it must be at the end.
pub struct Truth {
    /// Events of the input.
    pub events: u64,
    /// The number of additions, over all counters.
    pub additions: u64,
    /// The counters, in byte order of their keys.
    pub counters: Vec<EventSummary>,
    /// Bytes of keys and values.
    pub logical_bytes: u64,
}

impl Truth {
    /// Makes the truth of this text, every line of which is looked at.
    ///
    /// # Errors
    /// Names the line that is no event.
    pub fn of(text: &EventText) -> Result<Truth, DataError> {
        let (mut table, mut events, mut additions) = (SummaryTable::default(), 0, 0);
        text.check(|event| {
            events += 1;
            additions += event.fan_out();
            table.add(Portion::of(event));
        })?;
        let mut counters: Vec<EventSummary> = table.summaries().collect();
        counters.sort_by_cached_key(key);
        let logical_bytes =
            counters.iter().map(|counter| (key(counter).len() + counter.value.to_string().len()) as u64);
        Ok(Truth { events, additions, logical_bytes: logical_bytes.sum(), counters })
    }

    /// Returns the number of a counter that a summarizer came to.
    pub fn number_of(&self, counter: &EventSummary) -> Option<u64> {
        let wanted = key(counter);
        self.counters.binary_search_by(|known| key(known).cmp(&wanted)).ok().map(|number| number as u64)
    }

    /// Returns the digest of the answer, with other values (or none) for some counters.
    pub fn digest(&self, wrong: &BTreeMap<u32, Option<u64>>) -> String {
        let mut lines = LineDigest::default();
        let mut name = Vec::new();
        for (number, counter) in (0..).zip(&self.counters) {
            let value = match wrong.get(&number) {
                Some(None) => continue,
                Some(&Some(value)) => value,
                None => counter.value,
            };
            name.clear();
            counter.key(&mut name);
            lines.line(&[&name, value.to_string().as_bytes()]);
        }
        lines.finish()
    }
}

fn key(counter: &EventSummary) -> Vec<u8> {
    let mut key = Vec::new();
    counter.key(&mut key);
    key
}
