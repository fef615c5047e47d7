//! What a script has counted: the sum of every counter, and what is under way. Sums do not depend on order, so they are exact at the end
//! also where several clients count. No lock is taken for a counter its thread has met.

use crate::entry::Claim;
use crate::ledger::{OtherWriter, Sharing};
use crate::shared_map::{Keyed, Met, SharedMap};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A counter, or a field of a record of counters.
struct Count {
    /// Its key and its field, as [`name`] has them.
    name: Box<[u8]>,
    writer: AtomicU64,
    /// Everything sent, with the increments that failed, of which nobody knows whether they took place.
    sent: AtomicI64,
    /// Everything acknowledged.
    sum: AtomicI64,
    /// Something was taken off, so that bounds say nothing while others count.
    falls: AtomicBool,
}

impl Keyed for Count {
    fn named(name: &[u8]) -> Count {
        Count {
            name: name.into(),
            writer: AtomicU64::new(0),
            sent: AtomicI64::new(0),
            sum: AtomicI64::new(0),
            falls: AtomicBool::new(false),
        }
    }

    fn key(&self) -> &[u8] {
        &self.name
    }
}

impl Count {
    /// What a reply must have been that was sent when the sum was `least`, if it is something else.
    fn judge(&self, least: i64, seen: i64) -> Option<String> {
        let most = self.sent.load(Ordering::Acquire);
        if least == most {
            return (seen != least).then(|| format!("{least}"));
        }
        let possible = self.falls.load(Ordering::Acquire) || (least..=most).contains(&seen);
        (!possible).then(|| format!("{least} to {most}"))
    }
}

/// Key and field as one string of bytes: the length of the key goes before, as either may hold any byte.
pub(crate) fn name<'b>(key: &[u8], field: &[u8], buffer: &'b mut Vec<u8>) -> &'b [u8] {
    buffer.clear();
    buffer.extend_from_slice(&(key.len() as u32).to_le_bytes());
    buffer.extend_from_slice(key);
    buffer.extend_from_slice(field);
    buffer
}

/// The fields of each record; of a plain counter there is one, without a name.
type Fields = BTreeMap<Box<[u8]>, BTreeSet<Box<[u8]>>>;

/// All counters, or all records of counters.
pub(crate) struct Counters {
    counts: SharedMap<Count>,
    fields: Mutex<Fields>,
    sharing: Sharing,
}

impl Counters {
    pub(crate) fn new(sharing: Sharing) -> Counters {
        Counters { counts: SharedMap::default(), fields: Mutex::default(), sharing }
    }

    /// What a counter that was read at the end must have been, if that is something else, and its sum.
    pub(crate) fn look_last(&self, key: &[u8], field: &[u8], seen: Option<i64>) -> (i64, Option<String>) {
        match (self.counts.find(name(key, field, &mut Vec::new())), seen) {
            (None, None) => (0, None),
            (None, Some(_)) => (0, Some("no counter, nobody counted there".into())),
            (Some(count), seen) => {
                let sum = count.sum.load(Ordering::Acquire);
                (sum, count.judge(sum, seen.unwrap_or(0)))
            }
        }
    }

    /// The names of all, in byte order.
    pub(crate) fn keys(&self) -> Vec<Box<[u8]>> {
        self.fields.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// The fields of a record.
    pub(crate) fn fields(&self, key: &[u8]) -> Vec<Box<[u8]>> {
        let fields = self.fields.lock().unwrap_or_else(PoisonError::into_inner);
        fields.get(key).map_or_else(Vec::new, |fields| fields.iter().cloned().collect())
    }

    /// Whether every sum is known.
    pub(crate) fn is_sure(&self) -> bool {
        let mut sure = true;
        self.counts.each(|count| {
            sure &= count.sent.load(Ordering::Acquire) == count.sum.load(Ordering::Acquire);
        });
        sure
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

    fn find(&mut self, key: &[u8], field: &[u8]) -> Option<&Count> {
        self.met.find(&self.all.counts, name(key, field, &mut self.name))
    }

    /// An increment is about to be sent; the sum so far.
    pub(crate) fn starts(&mut self, by: Claim, key: &[u8], field: &[u8], step: i64) -> Result<i64, OtherWriter> {
        let all = self.all;
        if self.find(key, field).is_none() {
            let mut fields = all.fields.lock().unwrap_or_else(PoisonError::into_inner);
            fields.entry(key.into()).or_default().insert(field.into());
        }
        let count = self.met.make(&all.counts, &self.name);
        by.take(&count.writer, all.sharing)?;
        if step < 0 {
            count.falls.store(true, Ordering::Release);
        }
        let sum = count.sum.load(Ordering::Acquire);
        count.sent.fetch_add(step, Ordering::AcqRel);
        Ok(sum)
    }

    /// It was answered with this number, having been sent when the sum was `since`; what it must have been, if that is something else.
    pub(crate) fn ends(&mut self, key: &[u8], field: &[u8], step: i64, since: i64, seen: i64) -> Option<String> {
        let count = self.find(key, field)?;
        count.sum.fetch_add(step, Ordering::AcqRel);
        count.judge(since.wrapping_add(step), seen)
    }

    /// The sum so far of a counter that is about to be read.
    pub(crate) fn sum(&mut self, key: &[u8], field: &[u8]) -> i64 {
        self.find(key, field).map_or(0, |count| count.sum.load(Ordering::Acquire))
    }

    /// What a counter that was read must have been, if that is something else; `None` was read where there is none. It was asked for when
    /// the sum was `since`.
    pub(crate) fn look(&mut self, key: &[u8], field: &[u8], since: i64, seen: Option<i64>) -> Option<String> {
        match (self.find(key, field), seen) {
            (None, None) => None,
            (None, Some(_)) => Some("no counter, nobody counted there".into()),
            (Some(count), seen) => count.judge(since, seen.unwrap_or(0)),
        }
    }
}
