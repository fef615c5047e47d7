//! What a script has counted: the sum of every counter, and what is under way. Sums do not depend on order, so they are exact at the end
//! also where several clients count. No lock is taken for a counter its thread has met, unless it is deleted.

mod count;

use crate::clash::Clash;
use crate::shared_map::{Met, SharedMap};
use count::Count;
pub(crate) use count::CountSince;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Writes key and field as one string of bytes: the length of the key goes before, as either may hold any byte.
pub(crate) fn name<'b>(key: &[u8], field: &[u8], buffer: &'b mut Vec<u8>) -> &'b [u8] {
    buffer.clear();
    buffer.extend_from_slice(&(key.len() as u32).to_le_bytes());
    buffer.extend_from_slice(key);
    buffer.extend_from_slice(field);
    buffer
}

/// A counter, or a record of counters.
#[derive(Default)]
struct Record {
    /// Of a plain counter there is one, without a name.
    fields: BTreeSet<Box<[u8]>>,
    /// Deletes that are under way.
    deletes: u32,
}

/// All counters, or all records of counters.
pub(crate) struct Counters {
    counts: SharedMap<Count>,
    records: Mutex<BTreeMap<Box<[u8]>, Record>>,
    /// What a counter of the store holds.
    range: RangeInclusive<i64>,
}

/// The figures found of a counter at the end.
pub(crate) struct LastCount {
    /// The sum of what was acknowledged.
    pub(crate) sum: i64,
    /// Whether increments are missing that were acknowledged.
    pub(crate) lacks: bool,
    /// What it must have been, if that is something else.
    pub(crate) due: Option<String>,
}

const NOBODY: &str = "not a counter: nobody counted there";

impl Counters {
    pub(crate) fn new(range: RangeInclusive<i64>) -> Counters {
        Counters { counts: SharedMap::default(), records: Mutex::default(), range }
    }

    fn records(&self) -> MutexGuard<'_, BTreeMap<Box<[u8]>, Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a counter that was read at the end holds what it may.
    pub(crate) fn look_last(&self, key: &[u8], field: &[u8], seen: Option<i64>) -> LastCount {
        match (self.counts.find(name(key, field, &mut Vec::new())), seen) {
            (None, None) => LastCount { sum: 0, lacks: false, due: None },
            (None, Some(_)) => LastCount { sum: 0, lacks: false, due: Some(NOBODY.into()) },
            (Some(count), seen) => {
                let (seen, since) = (seen.unwrap_or(0), count.since());
                let due = count.judge(since, seen);
                LastCount { sum: since.sum(), lacks: due.is_some() && seen < since.sum(), due }
            }
        }
    }

    /// Returns the names of all, in byte order.
    pub(crate) fn keys(&self) -> Vec<Box<[u8]>> {
        self.records().keys().cloned().collect()
    }

    /// Returns the fields of a record.
    pub(crate) fn fields(&self, key: &[u8]) -> Vec<Box<[u8]>> {
        self.records().get(key).map_or_else(Vec::new, |record| record.fields.iter().cloned().collect())
    }

    /// Returns how many of them are there; `None`: that is not known.
    pub(crate) fn left(&self) -> Option<u64> {
        let records = self.records();
        let (mut left, mut buffer) = (0, Vec::new());
        for (key, record) in records.iter() {
            let mut is_there = false;
            for field in &record.fields {
                let Some(count) = self.counts.find(name(key, field, &mut buffer)) else { continue };
                if !count.is_sure() {
                    return None;
                }
                is_there |= count.is_there();
            }
            left += u64::from(is_there);
        }
        Some(left)
    }

    fn of_record(&self, key: &[u8], record: &Record) -> Vec<Arc<Count>> {
        let mut buffer = Vec::new();
        record.fields.iter().filter_map(|field| self.counts.find(name(key, field, &mut buffer))).collect()
    }

    /// Notes that a delete of a counter, or of a record, is about to be sent.
    pub(crate) fn deletes(&self, key: &[u8]) {
        let mut records = self.records();
        let record = records.entry(key.into()).or_default();
        record.deletes += 1;
        self.of_record(key, record).iter().for_each(|count| count.deletes());
    }

    /// Notes that the delete was acknowledged.
    pub(crate) fn deleted(&self, key: &[u8]) {
        let mut records = self.records();
        let Some(record) = records.get_mut(key) else { return };
        record.deletes = record.deletes.saturating_sub(1);
        self.of_record(key, record).iter().for_each(|count| count.deleted());
    }

    /// Notes that nobody knows whether, or when, the counter was deleted.
    #[cold]
    pub(crate) fn doubt(&self, key: &[u8]) {
        let records = self.records();
        let Some(record) = records.get(key) else { return };
        self.of_record(key, record).iter().for_each(|count| count.doubt());
    }

    /// A counter, or a field of a record, is counted for the first time: `crossed`, if its key was being deleted.
    #[cold]
    fn meets(&self, key: &[u8], field: &[u8], crossed: bool) {
        let mut records = self.records();
        let record = records.entry(key.into()).or_default();
        record.fields.insert(field.into());
        let count = self.counts.make(name(key, field, &mut Vec::new()));
        if crossed || record.deletes > 0 {
            count.doubt();
        }
    }
}

/// Counters as one thread uses them.
pub(crate) struct ThreadCounters<'a> {
    all: &'a Counters,
    met: Met<Count>,
    name: Vec<u8>,
}

impl<'a> ThreadCounters<'a> {
    pub(crate) fn new(all: &'a Counters) -> ThreadCounters<'a> {
        ThreadCounters { all, met: Met::default(), name: Vec::new() }
    }

    /// Returns all of them, as all threads know them.
    pub(crate) fn all(&self) -> &'a Counters {
        self.all
    }

    fn find(&mut self, key: &[u8], field: &[u8]) -> Option<&Count> {
        self.met.find(&self.all.counts, name(key, field, &mut self.name))
    }

    /// Returns whether it was counted by anybody.
    pub(crate) fn knows(&mut self, key: &[u8], field: &[u8]) -> bool {
        self.find(key, field).is_some()
    }

    /// Notes that the counter is counted for the first time: see [`Counters::meets`].
    #[cold]
    pub(crate) fn meets(&mut self, key: &[u8], field: &[u8], crossed: bool) {
        self.all.meets(key, field, crossed);
    }

    /// Notes that an increment is about to be sent; returns what is known so far.
    pub(crate) fn starts(&mut self, key: &[u8], field: &[u8], step: i64) -> Result<CountSince, Clash> {
        let all = self.all;
        let count = self.met.make(&all.counts, name(key, field, &mut self.name));
        let (since, reach) = count.starts(step);
        let range @ (least, most) = (*all.range.start(), *all.range.end());
        match reach.into_inner() {
            _ if count.is_doubtful() => Ok(since),
            (comes_to, _) if comes_to < i128::from(least) => Err(Clash::OutOfRange { comes_to, range }),
            (_, comes_to) if comes_to > i128::from(most) => Err(Clash::OutOfRange { comes_to, range }),
            _ => Ok(since),
        }
    }

    /// Notes that an increment was answered with this number, having been sent when `since` was known of the counter; returns what the
    /// number must have been, if that is something else.
    pub(crate) fn ends(&mut self, key: &[u8], field: &[u8], step: i64, since: CountSince, seen: i64) -> Option<String> {
        let count = self.find(key, field)?;
        count.ends(step);
        count.judge(since.with(step), seen)
    }

    /// Returns what is known of a counter that is about to be read.
    pub(crate) fn asks(&mut self, key: &[u8], field: &[u8]) -> CountSince {
        self.find(key, field).map_or(CountSince::default(), Count::since)
    }

    /// Returns the sum so far.
    pub(crate) fn sum(&mut self, key: &[u8], field: &[u8]) -> i64 {
        self.asks(key, field).sum()
    }

    /// Returns what a counter that was read must have been, if that is something else; `None` was read where there is none. The counter was
    /// asked for when `since` was known of it.
    pub(crate) fn look(&mut self, key: &[u8], field: &[u8], since: CountSince, seen: Option<i64>) -> Option<String> {
        match (self.find(key, field), seen) {
            (None, None) => None,
            (None, Some(_)) => Some(NOBODY.into()),
            (Some(count), seen) => count.judge(since, seen.unwrap_or(0)),
        }
    }
}
