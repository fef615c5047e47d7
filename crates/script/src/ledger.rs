//! What a script has written, so that every read can be checked: the last write of each key, by whom, and what is under way.
//!
//! One lock per shard and operation, held for a look-up; nothing is allocated for a key that is known.

use crate::entry::{Claim, Fingerprinted, KeyState, Plausibility, Since};
use jobs::fingerprint::fingerprint;
use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::{Keeps, RowBuffer, Rows, Slot};

/// Shards: more than there are threads.
const SHARDS: usize = 64;

/// Who may write a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// One client in each phase: every read of it is known to the byte.
    OneWriter,
    /// Any: a read must be a value somebody wrote.
    Shared,
}

/// What is kept of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueMemory {
    /// A fingerprint.
    Prints,
    /// All of it: what is appended to must be known, and a store that keeps nothing is stood in for.
    Values,
}

/// Whether scans are compared with the keys that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scans {
    /// The script scans.
    Checked,
    /// It does not, so that no order is kept.
    None,
}

/// Another client has written the key in this phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OtherWriter(pub(crate) Slot);

/// Everything written under one kind of keys.
pub(crate) struct WriteLedger {
    shards: Vec<Mutex<HashMap<Box<[u8]>, KeyState>>>,
    sharing: Sharing,
    memory: ValueMemory,
    keeps: Keeps,
    /// The keys that are there, in byte order, where the script scans.
    order: Option<Mutex<BTreeSet<Box<[u8]>>>>,
    /// Counts the reads of many keys that were begun.
    moment: AtomicU64,
}

impl WriteLedger {
    pub(crate) fn new(sharing: Sharing, memory: ValueMemory, keeps: Keeps, scans: Scans) -> WriteLedger {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        let order = (scans == Scans::Checked).then(Mutex::default);
        WriteLedger { shards, sharing, memory, keeps, order, moment: AtomicU64::new(0) }
    }

    /// A read of many keys begins: what is replaced from now on it may still see.
    pub(crate) fn moment(&self) -> u64 {
        self.moment.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// A key came, or went.
    fn reorder(&self, key: &[u8], is_there: bool) {
        let Some(order) = &self.order else { return };
        let mut order = order.lock().unwrap_or_else(PoisonError::into_inner);
        if is_there {
            order.insert(key.into());
        } else {
            order.remove(key);
        }
    }

    /// A key that a scan of these rows has left out: it was there all the time.
    pub(crate) fn left_out(&self, by: Claim, start: &[u8], limit: usize, rows: &Rows<'_>) -> Option<Box<[u8]>> {
        let last = rows.len().checked_sub(1).and_then(|last| rows.get(last)).map(|(key, _)| key);
        let end = match last {
            Some(last) if rows.len() >= limit => Bound::Included(last),
            _ => Bound::Unbounded,
        };
        if matches!(end, Bound::Included(last) if last < start) {
            return None;
        }
        let order = self.order.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = rows.iter().map(|(key, _)| key).peekable();
        for key in order.range::<[u8], _>((Bound::Included(start), end)) {
            while seen.peek().is_some_and(|seen| **seen < **key) {
                seen.next();
            }
            if seen.peek() != Some(&&**key) && self.shard(key).get(key).is_some_and(|entry| entry.must_be_there(by)) {
                return Some(key.clone());
            }
        }
        None
    }

    fn shard(&self, key: &[u8]) -> MutexGuard<'_, HashMap<Box<[u8]>, KeyState>> {
        let at = fingerprint(key) as usize % SHARDS;
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry<T>(&self, key: &[u8], act: impl FnOnce(&mut KeyState) -> T) -> T {
        let mut shard = self.shard(key);
        if let Some(entry) = shard.get_mut(key) {
            return act(entry);
        }
        act(shard.entry(key.into()).or_default())
    }

    /// A write is about to be sent; `None` deletes.
    pub(crate) fn writes(&self, by: Claim, key: &[u8], value: Option<&[u8]>) -> Result<(), OtherWriter> {
        let print = value.map(fingerprint);
        self.entry(key, |entry| {
            entry.claim(by, self.sharing)?;
            entry.starts(print, self.sharing);
            Ok(())
        })
    }

    /// Bytes are about to be added to a value; the value there will be then.
    pub(crate) fn appends(&self, by: Claim, key: &[u8], bytes: &[u8]) -> Result<(), OtherWriter> {
        self.entry(key, |entry| {
            entry.claim(by, self.sharing)?;
            let mut whole = entry.value.clone().unwrap_or_default();
            whole.extend_from_slice(bytes);
            entry.starts(Some(fingerprint(&whole)), self.sharing);
            Ok(())
        })
    }

    /// A write was acknowledged.
    pub(crate) fn wrote(&self, by: Claim, key: &[u8], value: Option<&[u8]>) {
        let print = value.map(fingerprint);
        if self.entry(key, |entry| {
            if self.memory == ValueMemory::Values {
                match value {
                    None => entry.value = None,
                    Some(new) => {
                        let kept = entry.value.get_or_insert_default();
                        kept.clear();
                        kept.extend_from_slice(new);
                    }
                }
            }
            entry.bytes = value.map_or(0, <[u8]>::len) as u64;
            let was_there = entry.is_there();
            entry.ends(by, print, self.moment.load(Ordering::SeqCst), self.sharing);
            was_there
        }) != value.is_some()
        {
            self.reorder(key, value.is_some());
        }
    }

    /// An append was acknowledged.
    pub(crate) fn appended(&self, by: Claim, key: &[u8], bytes: &[u8]) {
        self.entry(key, |entry| {
            let whole = entry.value.get_or_insert_default();
            whole.extend_from_slice(bytes);
            entry.bytes = whole.len() as u64;
            let print = fingerprint(whole);
            entry.ends(by, Some(print), self.moment.load(Ordering::SeqCst), self.sharing);
        });
        self.reorder(key, true);
    }

    /// Nobody knows whether the write took place.
    pub(crate) fn unsure(&self, key: &[u8]) {
        self.entry(key, KeyState::doubt);
    }

    /// A conditional write did not take place.
    pub(crate) fn refused(&self, key: &[u8]) {
        self.entry(key, KeyState::withdraw);
    }

    /// How often the key was written, before it is asked for.
    pub(crate) fn version(&self, key: &[u8]) -> u32 {
        self.shard(key).get(key).map_or(0, |entry| entry.version)
    }

    /// Whether a key may have been answered so: it was `since` when it was asked for.
    pub(crate) fn look(&self, by: Claim, key: &[u8], since: Since, value: Option<&[u8]>) -> Plausibility {
        if self.keeps == Keeps::Nothing {
            return Plausibility::Right;
        }
        let seen: Fingerprinted = value.map(fingerprint);
        match self.shard(key).get(key) {
            None if value.is_none() => Plausibility::Right,
            None => Plausibility::Foreign,
            Some(entry) => entry.judge(by, since, seen, self.sharing),
        }
    }

    /// Whether the key holds at the end what it may.
    pub(crate) fn look_last(&self, key: &[u8], value: Option<&[u8]>) -> Plausibility {
        let seen: Fingerprinted = value.map(fingerprint);
        match self.shard(key).get(key) {
            None => Plausibility::Foreign,
            Some(entry) => entry.judge_last(seen, self.sharing),
        }
    }

    /// What was last written there, where values are kept.
    pub(crate) fn value(&self, key: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        let shard = self.shard(key);
        let value = shard.get(key).and_then(|entry| entry.value.as_ref());
        value.inspect(|value| out.extend_from_slice(value)).is_some()
    }

    /// What a scan would give, where values are kept.
    pub(crate) fn scan(&self, start: &[u8], limit: usize, rows: &mut RowBuffer) {
        let Some(order) = &self.order else { return };
        let order = order.lock().unwrap_or_else(PoisonError::into_inner);
        let mut value = Vec::new();
        for key in order.range::<[u8], _>((Bound::Included(start), Bound::Unbounded)).take(limit) {
            if self.value(key, &mut value) {
                rows.push(key, &value);
            }
        }
    }

    /// Whether a value of a script is stood in for.
    pub(crate) fn stands_in(&self) -> bool {
        self.keeps == Keeps::Nothing
    }

    /// Every key that was ever written and may be there, in byte order.
    pub(crate) fn keys(&self, which: Which) -> Vec<Box<[u8]>> {
        let mut keys = Vec::new();
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let wanted = |entry: &KeyState| which == Which::Ever || entry.is_there();
            keys.extend(shard.iter().filter(|(_, entry)| wanted(entry)).map(|(key, _)| key.clone()));
        }
        keys.sort_unstable();
        keys
    }

    /// Keys that are there, and bytes of keys and values; `None`: not all is known.
    pub(crate) fn size(&self) -> (Option<u64>, u64) {
        let (mut keys, mut bytes, mut sure) = (0, 0, true);
        for shard in &self.shards {
            for (key, entry) in shard.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                sure &= !entry.is_unsure();
                if entry.is_there() {
                    keys += 1;
                    bytes += key.len() as u64 + entry.bytes;
                }
            }
        }
        (sure.then_some(keys), bytes)
    }
}

/// Which keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// All that were ever written.
    Ever,
    /// Those that are there.
    There,
}
