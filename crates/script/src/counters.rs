//! What a script has counted: the sum of every counter, and what is under way. Sums do not depend on order, so they are exact at the end
//! also where several clients count.

use crate::entry::Claim;
use crate::ledger::{OtherWriter, Sharing};
use jobs::fingerprint::fingerprint;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SHARDS: usize = 64;

/// A counter.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    writer: Option<Claim>,
    /// Everything acknowledged.
    sum: i64,
    /// Everything sent and not acknowledged.
    flying: i64,
    /// Something was taken off, so that bounds say nothing while others count.
    falls: bool,
    /// An increment failed: nobody knows whether it took place.
    doubtful: bool,
}

/// The fields of a record of counters; of a plain counter there is one, without a name.
type Fields = BTreeMap<Box<[u8]>, Count>;

/// All counters, or all records of counters.
pub(crate) struct Counters {
    shards: Vec<Mutex<HashMap<Box<[u8]>, Fields>>>,
    sharing: Sharing,
}

impl Counters {
    pub(crate) fn new(sharing: Sharing) -> Counters {
        Counters { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), sharing }
    }

    fn shard(&self, key: &[u8]) -> MutexGuard<'_, HashMap<Box<[u8]>, Fields>> {
        let at = fingerprint(key) as usize % SHARDS;
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count<T>(&self, key: &[u8], field: &[u8], act: impl FnOnce(&mut Count) -> T) -> T {
        let mut shard = self.shard(key);
        if !shard.contains_key(key) {
            shard.insert(key.into(), Fields::new());
        }
        let fields = shard.entry(key.into()).or_default();
        if !fields.contains_key(field) {
            fields.insert(field.into(), Count::default());
        }
        act(fields.entry(field.into()).or_default())
    }

    /// An increment is about to be sent; the sum so far.
    pub(crate) fn starts(&self, by: Claim, key: &[u8], field: &[u8], step: i64) -> Result<i64, OtherWriter> {
        self.count(key, field, |count| {
            if let Some(other) = count.writer
                && self.sharing == Sharing::OneWriter
                && other.phase == by.phase
                && other.slot != by.slot
            {
                return Err(OtherWriter(other.slot));
            }
            count.writer = Some(by);
            count.flying = count.flying.wrapping_add(step);
            count.falls |= step < 0;
            Ok(count.sum)
        })
    }

    /// It was answered with this number; what it must have been, if that is something else.
    pub(crate) fn ends(&self, key: &[u8], field: &[u8], step: i64, since: i64, seen: i64) -> Option<String> {
        self.count(key, field, |count| {
            let most = count.sum.wrapping_add(count.flying);
            count.sum = count.sum.wrapping_add(step);
            count.flying = count.flying.wrapping_sub(step);
            judge(count, self.sharing, since.wrapping_add(step), most, seen)
        })
    }

    /// Nobody knows whether it took place.
    pub(crate) fn unsure(&self, key: &[u8], field: &[u8], step: i64) {
        self.count(key, field, |count| {
            count.doubtful = true;
            count.flying = count.flying.wrapping_sub(step);
        });
    }

    /// The sum so far of a counter that is about to be read.
    pub(crate) fn sum(&self, key: &[u8], field: &[u8]) -> i64 {
        self.shard(key).get(key).and_then(|fields| fields.get(field)).map_or(0, |count| count.sum)
    }

    /// What a counter that was read must have been, if that is something else; `None` was read where there is none.
    pub(crate) fn look(
        &self,
        by: Option<Claim>,
        key: &[u8],
        field: &[u8],
        since: i64,
        seen: Option<i64>,
    ) -> Option<String> {
        let shard = self.shard(key);
        match (shard.get(key).and_then(|fields| fields.get(field)), seen) {
            (None, None) => None,
            (None, Some(_)) => Some("no counter, nobody counted there".into()),
            (Some(count), seen) => {
                let others = count.flying != 0 && count.writer != by;
                let sharing = if others { Sharing::Shared } else { Sharing::OneWriter };
                let most = count.sum.wrapping_add(count.flying);
                let least = if others || count.writer != by { since } else { count.sum };
                judge(count, sharing, least, most, seen.unwrap_or(0))
            }
        }
    }

    /// The names of all, in byte order.
    pub(crate) fn keys(&self) -> Vec<Box<[u8]>> {
        let mut keys = Vec::new();
        for shard in &self.shards {
            keys.extend(shard.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned());
        }
        keys.sort_unstable();
        keys
    }

    /// The fields of a record.
    pub(crate) fn fields(&self, key: &[u8]) -> Vec<Box<[u8]>> {
        self.shard(key).get(key).map_or_else(Vec::new, |fields| fields.keys().cloned().collect())
    }

    /// Whether every sum is known.
    pub(crate) fn is_sure(&self) -> bool {
        self.shards.iter().all(|shard| {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.values().flat_map(Fields::values).all(|count| !count.doubtful && count.flying == 0)
        })
    }
}

fn judge(count: &Count, sharing: Sharing, least: i64, most: i64, seen: i64) -> Option<String> {
    if count.doubtful {
        return None;
    }
    match sharing {
        Sharing::OneWriter if least == most => (seen != least).then(|| format!("{least}")),
        _ if count.falls || (least..=most).contains(&seen) => None,
        _ => Some(format!("{least} to {most}")),
    }
}
