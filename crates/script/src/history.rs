//! What a script has written, so that every read can be checked: the last write of each key, by whom, and what is under way.
//!
//! An operation on a key its thread has met takes no lock and allocates nothing ([`crate::shared_map`], [`crate::entry`]), with these exceptions, each
//! of which is there because what is kept has no fixed size: with `kv.shared(true)` a key's history is a set, under a lock of the key's own;
//! where values are kept (`kv.append`, and stores that keep nothing) so is the value; and a scan, or a key that comes or goes in a script
//! that scans, takes the lock of the order of keys.

mod told;

use crate::clash::Clash;
use crate::crowd::{Swapped, Way};
use crate::entry::{Claim, Fingerprinted, KeyState, Since};
use crate::kind::KeyKind;
use crate::plausibility::Plausibility;
use crate::shared_map::{Keyed, Met, SharedMap};
use jobs::fingerprint::fingerprint;
use std::collections::BTreeSet;
use std::ops::{Bound, Range};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use store::{Keeps, RowBuffer, Rows, Slot};

/// The sharing of a key: who may write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// One client in each phase: every read of it is known to the byte.
    OneWriter,
    /// Any: a read must be a value somebody wrote and nobody had surely replaced.
    Shared,
}

/// The memory of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueMemory {
    /// A fingerprint.
    Prints,
    /// All of it: what is appended to must be known, and a store that keeps nothing is stood in for.
    Values,
}

/// The treatment of scans: whether they are compared with the keys that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scans {
    /// The script scans.
    Checked,
    /// It does not, so that no order is kept.
    None,
}

/// Everything written, for all threads of a trial.
pub(crate) struct WriteLedger {
    keys: SharedMap<KeyState>,
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
        let order = (scans == Scans::Checked).then(Mutex::default);
        WriteLedger { keys: SharedMap::default(), sharing, memory, keeps, order, moment: AtomicU64::new(0) }
    }

    /// Returns the moment at which a read of many keys begins: what is replaced from now on the read may still see.
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

    /// Returns whether the key holds at the end what it may.
    pub(crate) fn look_last(&self, key: &[u8], value: Option<&[u8]>) -> Plausibility {
        let seen: Fingerprinted = value.map(fingerprint);
        match self.keys.find(key) {
            None => Plausibility::Foreign,
            Some(entry) => entry.judge_last(seen, self.sharing),
        }
    }

    /// Returns whether a value of a script is stood in for.
    pub(crate) fn stands_in(&self) -> bool {
        self.keeps == Keeps::Nothing
    }

    /// Returns every key of a value that was ever written, or is there, in byte order.
    pub(crate) fn keys(&self, which: Which) -> Vec<Box<[u8]>> {
        self.keys_by(which, &ANYBODY)
    }

    /// Returns those whose last writer was one of these.
    pub(crate) fn keys_by(&self, which: Which, by: &Range<Slot>) -> Vec<Box<[u8]>> {
        let mut keys = Vec::new();
        self.keys.each(|entry| {
            let is_value = matches!(entry.kind.get(), None | Some(KeyKind::Value));
            if is_value && is_by(entry, by) && (which == Which::Ever || entry.is_there()) {
                keys.push(entry.key().into());
            }
        });
        keys.sort_unstable();
        keys
    }

    /// Returns every key that commands were sent with.
    pub(crate) fn command_keys(&self) -> Vec<Box<[u8]>> {
        let mut keys = Vec::new();
        self.keys.each(|entry| {
            if entry.kind.get() == Some(KeyKind::Command) {
                keys.push(entry.key().into());
            }
        });
        keys
    }

    /// Returns the number of keys that are there and were last written by one of these, and of bytes of keys and values; `None`: not all is known.
    pub(crate) fn size(&self, by: &Range<Slot>) -> (Option<u64>, u64) {
        let (mut keys, mut bytes, mut sure) = (0, 0, true);
        self.keys.each(|entry| {
            sure &= !is_by(entry, by) || !entry.is_unsure(self.sharing);
            if entry.is_there() && is_by(entry, by) {
                keys += 1;
                bytes += entry.key().len() as u64 + entry.bytes();
            }
        });
        (sure.then_some(keys), bytes)
    }
}

/// All clients there can be.
const ANYBODY: Range<Slot> = 0..Slot::MAX;

/// Whether it was last written by one of these, or by nobody.
fn is_by(entry: &KeyState, by: &Range<Slot>) -> bool {
    entry.writer().is_none_or(|writer| by.contains(&writer.slot))
}

/// The ledger as one thread uses it.
pub(crate) struct ThreadLedger<'a> {
    all: &'a WriteLedger,
    met: Met<KeyState>,
}

impl<'a> ThreadLedger<'a> {
    pub(crate) fn new(all: &'a WriteLedger) -> ThreadLedger<'a> {
        ThreadLedger { all, met: Met::default() }
    }

    fn entry(&mut self, key: &[u8]) -> &KeyState {
        self.met.make(&self.all.keys, key)
    }

    fn find(&mut self, key: &[u8]) -> Option<&KeyState> {
        self.met.find(&self.all.keys, key)
    }

    /// Returns the moment at which a read of many keys begins.
    pub(crate) fn moment(&self) -> u64 {
        self.all.moment()
    }

    /// Returns whether a value of a script is stood in for.
    pub(crate) fn stands_in(&self) -> bool {
        self.all.stands_in()
    }

    /// Returns what the key is used for so far.
    pub(crate) fn kind(&mut self, key: &[u8]) -> Option<KeyKind> {
        self.find(key).and_then(|entry| entry.kind.get())
    }

    /// Checks that the key may be read as this kind; a key that nobody wrote may.
    pub(crate) fn reads(&mut self, key: &[u8], kind: KeyKind) -> Result<(), Clash> {
        self.kind(key).filter(|known| *known != kind).map_or(Ok(()), |other| Err(Clash::OtherKind(other)))
    }

    /// Notes that the key is used for this kind from now on; returns whether the key is being deleted.
    pub(crate) fn claims(&mut self, key: &[u8], kind: KeyKind) -> Result<bool, Clash> {
        let sharing = self.all.sharing;
        let entry = self.entry(key);
        entry.kind.claim(kind).map_err(Clash::OtherKind)?;
        Ok(entry.is_unsure(sharing))
    }

    /// Notes that a write is about to be sent; `None` deletes.
    pub(crate) fn writes(&mut self, by: Claim, key: &[u8], value: Option<&[u8]>) -> Result<(), Clash> {
        let (print, sharing) = (value.map(fingerprint), self.all.sharing);
        let entry = self.entry(key);
        if value.is_some() {
            entry.kind.claim(KeyKind::Value).map_err(Clash::OtherKind)?;
        }
        entry.claim(by, sharing)?;
        entry.starts(by, print, Way::Replaces, sharing);
        Ok(())
    }

    /// Bytes are about to be added to a value; the value there will be then.
    pub(crate) fn appends(&mut self, by: Claim, key: &[u8], bytes: &[u8]) -> Result<(), Clash> {
        let (sharing, whole) = (self.all.sharing, self.longer(key, bytes));
        let entry = self.entry(key);
        entry.kind.claim(KeyKind::Value).map_err(Clash::OtherKind)?;
        entry.claim(by, sharing)?;
        entry.starts(by, whole, Way::Appends, sharing);
        Ok(())
    }

    /// Returns the value with these bytes added.
    pub(crate) fn longer(&mut self, key: &[u8], bytes: &[u8]) -> Fingerprinted {
        let mut whole = self.entry(key).kept().value.clone().unwrap_or_default();
        whole.extend_from_slice(bytes);
        Some(fingerprint(&whole))
    }

    /// Notes that a write was acknowledged.
    pub(crate) fn wrote(&mut self, by: Claim, key: &[u8], value: Option<&[u8]>) {
        let all = self.all;
        let entry = self.entry(key);
        if all.memory == ValueMemory::Values {
            let mut kept = entry.kept();
            match value {
                None => kept.value = None,
                Some(new) => {
                    let kept = kept.value.get_or_insert_default();
                    kept.clear();
                    kept.extend_from_slice(new);
                }
            }
        }
        let bytes = value.map_or(0, <[u8]>::len);
        let moment = all.moment.load(Ordering::SeqCst);
        if entry.ends(by, value.map(fingerprint), bytes, moment, all.sharing) != value.is_some() {
            all.reorder(key, value.is_some());
        }
    }

    /// Notes that an append was acknowledged.
    pub(crate) fn appended(&mut self, by: Claim, key: &[u8], bytes: &[u8]) {
        let all = self.all;
        let entry = self.entry(key);
        let (print, length) = {
            let mut kept = entry.kept();
            let whole = kept.value.get_or_insert_default();
            whole.extend_from_slice(bytes);
            (fingerprint(whole), whole.len())
        };
        // What an append that failed has added, or not, is still there.
        let doubtful = entry.is_doubtful();
        if !entry.ends(by, Some(print), length, all.moment.load(Ordering::SeqCst), all.sharing) {
            all.reorder(key, true);
        }
        if doubtful {
            entry.stay_in_doubt();
        }
    }

    /// Notes that a value of this key has a time to live.
    pub(crate) fn mortal(&mut self, key: &[u8]) {
        self.entry(key).make_mortal();
    }

    /// Notes that nobody knows whether the write took place.
    pub(crate) fn unsure(&mut self, by: Claim, key: &[u8]) {
        let sharing = self.all.sharing;
        self.entry(key).doubt(by, sharing);
    }

    /// Notes that a write failed: it may take effect at any time, also after later ones.
    pub(crate) fn may_come_late(&mut self, key: &[u8], value: Fingerprinted) {
        self.entry(key).may_come_late(value);
    }

    /// Notes that a conditional write did not take place.
    pub(crate) fn refused(&mut self, by: Claim, key: &[u8]) {
        let sharing = self.all.sharing;
        self.entry(key).withdraw(by, sharing);
    }

    /// Notes that a delete found nothing to delete.
    pub(crate) fn missed(&mut self, by: Claim, key: &[u8]) {
        match self.all.sharing {
            Sharing::OneWriter => self.wrote(by, key, None),
            Sharing::Shared => self.refused(by, key),
        }
    }

    /// Returns whether a compare-and-set may have replaced this, having been sent `since`.
    pub(crate) fn swapped(&mut self, key: &[u8], before: Option<&[u8]>, since: Since) -> Swapped {
        match (self.all.sharing, since) {
            (Sharing::Shared, Since::Version(settled)) if !self.stands_in() => {
                let entry = self.entry(key);
                match before {
                    None if entry.is_mortal() => Swapped::Right,
                    _ => entry.swaps(before.map(fingerprint), settled),
                }
            }
            _ => Swapped::Right,
        }
    }

    /// Returns what is known of a value before it is asked for.
    pub(crate) fn asks(&mut self, key: &[u8]) -> Result<Since, Clash> {
        let sharing = self.all.sharing;
        let Some(entry) = self.find(key) else { return Ok(Since::Version(0)) };
        match entry.kind.get() {
            Some(other @ (KeyKind::Counter | KeyKind::Record | KeyKind::Command)) => Err(Clash::OtherKind(other)),
            Some(KeyKind::Value) | None => Ok(Since::Version(entry.version(sharing))),
        }
    }

    /// Returns whether a key may have been answered so: it was `since` when it was asked for.
    pub(crate) fn look(&mut self, by: Claim, key: &[u8], since: Since, value: Option<&[u8]>) -> Plausibility {
        if self.stands_in() {
            return Plausibility::Right;
        }
        let (seen, sharing): (Fingerprinted, _) = (value.map(fingerprint), self.all.sharing);
        match self.find(key) {
            None if value.is_none() => Plausibility::Right,
            None => Plausibility::Foreign,
            Some(entry) => match entry.kind.get() {
                Some(other @ (KeyKind::Counter | KeyKind::Record | KeyKind::Command)) => Plausibility::OtherKind(other),
                _ => entry.judge(by, since, seen, sharing),
            },
        }
    }

    /// Returns a key that a scan of these rows has left out: it was there all the time.
    pub(crate) fn left_out(&mut self, by: Claim, start: &[u8], limit: usize, rows: &Rows<'_>) -> Option<Box<[u8]>> {
        let last = rows.len().checked_sub(1).and_then(|last| rows.get(last)).map(|(key, _)| key);
        let end = match last {
            Some(last) if rows.len() >= limit => Bound::Included(last),
            _ => Bound::Unbounded,
        };
        if matches!(end, Bound::Included(last) if last < start) {
            return None;
        }
        let (all, sharing) = (self.all, self.all.sharing);
        let order = all.order.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = rows.iter().map(|(key, _)| key).peekable();
        for key in order.range::<[u8], _>((Bound::Included(start), end)) {
            while seen.peek().is_some_and(|seen| **seen < **key) {
                seen.next();
            }
            if seen.peek() != Some(&&**key) && self.find(key).is_some_and(|entry| entry.must_be_there(by, sharing)) {
                return Some(key.clone());
            }
        }
        None
    }

    /// Gives what was last written there, where values are kept.
    pub(crate) fn value(&mut self, key: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        let Some(entry) = self.find(key) else { return false };
        entry.kept().value.as_ref().inspect(|value| out.extend_from_slice(value)).is_some()
    }

    /// Gives what a scan would give, where values are kept.
    pub(crate) fn scan(&mut self, start: &[u8], limit: usize, rows: &mut RowBuffer) {
        let Some(order) = &self.all.order else { return };
        let order = order.lock().unwrap_or_else(PoisonError::into_inner);
        let mut value = Vec::new();
        for key in order.range::<[u8], _>((Bound::Included(start), Bound::Unbounded)).take(limit) {
            if self.value(key, &mut value) {
                rows.push(key, &value);
            }
        }
    }
}

/// The choice of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// All that were ever written.
    Ever,
    /// Those that are there.
    There,
}
