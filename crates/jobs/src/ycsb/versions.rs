//! What is known of each key: two atomic words a key, shared by all threads.
//!
//! One word holds the version issued last and which of those before it are unfinished, the other the operation that began last of all
//! that have ended ([`order`] says what follows from it). A read takes both when it is sent, and its answer is judged by them: so an
//! answer that is out of date is found whatever is in flight, and one that could be right is never blamed. Nothing waits for another
//! thread, and what is kept of a key does not grow.
//!
//! A key's writes in flight are also kept by slot, for keys of which more than 32 versions were issued while one was unfinished: only
//! then is the table searched for the oldest. Versions run from 1 to 2^26 - 1 and around. Of a key of which a write failed a record of
//! its own is kept from then on, under a lock ([`doubt`]): the version that failed may be answered, and nothing else is forgiven.

mod doubt;
mod in_doubt;
mod order;
mod times;

use super::key::KeyNames;
use doubt::UncertainKey;
use order::{EndedOperation, MAX_VERSION, VERSION_BITS, Writes, is_forth, steps};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use store::Slot;
use times::WriteTimes;

const CHUNK: usize = 1 << 16;
/// Slots up to which each has a cache line of the table of writes in flight to itself.
const ROOMY_SLOTS: u32 = 256;
const ROOMY: usize = 8;

/// The bytes kept per key.
pub const ENTRY_BYTES: u64 = size_of::<Entry>() as u64;
/// Keys for which there is room where memory cannot be asked.
const USUAL_ROOM: u64 = 1 << 31;

/// Keys beyond the planned ones for which there is memory.
fn room() -> usize {
    store::memory::free_bytes().map_or(USUAL_ROOM, |bytes| bytes / ENTRY_BYTES) as usize
}

/// A key in the table of writes in flight, above the version; never 0. Of more than 2^37 keys two may have the same: then what is unfinished
/// of one is taken to be so of the other, which forgives and never blames.
#[inline]
fn mark(id: u64) -> u64 {
    (id | 1 << 37) << VERSION_BITS
}

/// Whether a write in flight is one of this key.
#[inline]
fn is_of(flight: u64, id: u64) -> bool {
    flight & !MAX_VERSION == mark(id)
}

/// One key.
#[derive(Default)]
#[repr(align(16))]
struct Entry {
    writes: AtomicU64,
    last: AtomicU64,
}

/// The knowledge about a key when a read is sent. Taking it waits for nothing: it is unpacked when the reply is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    writes: Writes,
    last: EndedOperation,
}

impl Sight {
    /// Returns whether the key must be there.
    #[inline]
    pub fn exists(self) -> bool {
        self.last.is_one()
    }

    /// Returns whether a write of the key had failed.
    #[inline]
    pub fn is_uncertain(self) -> bool {
        self.writes.is_uncertain()
    }

    /// Returns whether this is the version issued last then, and nothing new can be learned from it.
    #[inline]
    pub fn is_newest(self, version: u32) -> bool {
        self.writes.0 == self.last.0 && version != 0 && u64::from(version) == self.writes.issued()
    }
}

/// A write in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Write {
    /// The version it writes.
    pub version: u32,
    /// Of a key in doubt: when it began; 0 of others.
    moment: u32,
    began: EndedOperation,
}

/// Why a version is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// Older than the version given, which was acknowledged, or answered to a read that had ended.
    Stale(u32),
    /// Newer than the version given, which was issued last.
    NeverIssued(u32),
}

/// All keys.
pub struct Ledger {
    /// How ids become keys.
    pub names: KeyNames,
    /// Keys whose number was known before the run.
    planned: Vec<Entry>,
    /// Keys beyond them, in chunks made when the first of them is inserted.
    more: Vec<OnceLock<Box<[Entry]>>>,
    /// By slot: key ([`mark`]) and version of the write in flight; version 0: it is about to be issued.
    flights: Vec<AtomicU64>,
    stride: usize,
    /// Ids given out.
    ids: AtomicU64,
    /// The first writes of all ids below are acknowledged (or failed).
    settled: AtomicU64,
    limit: u64,
    /// Keys of which a write failed.
    doubts: Mutex<HashMap<u64, UncertainKey>>,
    /// Keys of which something acknowledged was not to be seen.
    lost: Mutex<BTreeSet<u64>>,
    /// Where nodes fail on purpose.
    times: OnceLock<WriteTimes>,
}

impl Ledger {
    /// Makes a ledger of `records` keys to load and room for `inserts` more; `None`: as many as come and there is memory for. They are
    /// written by `slots` slots.
    pub fn new(records: u64, inserts: Option<u64>, slots: u32) -> Ledger {
        let entries = |count: usize| (0..count).map(|_| Entry::default()).collect();
        let planned = records + inserts.unwrap_or(0);
        let chunks = if inserts.is_none() { room().div_ceil(CHUNK) } else { 0 };
        let stride = if slots <= ROOMY_SLOTS { ROOMY } else { 1 };
        Ledger {
            names: KeyNames::InOrder,
            planned: entries(planned as usize),
            more: (0..chunks).map(|_| OnceLock::new()).collect(),
            flights: (0..slots as usize * stride).map(|_| AtomicU64::new(0)).collect(),
            stride,
            ids: AtomicU64::new(records),
            settled: AtomicU64::new(records),
            limit: planned + (chunks * CHUNK) as u64,
            doubts: Mutex::default(),
            lost: Mutex::default(),
            times: OnceLock::new(),
        }
    }

    /// Returns the same ledger, for keys with these names.
    pub fn named(self, names: KeyNames) -> Ledger {
        Ledger { names, ..self }
    }

    #[inline]
    fn entry(&self, id: u64) -> &Entry {
        match self.planned.get(id as usize) {
            Some(entry) => entry,
            None => self.beyond(id as usize - self.planned.len()),
        }
    }

    fn beyond(&self, at: usize) -> &Entry {
        let chunk = self.more[at / CHUNK].get_or_init(|| (0..CHUNK).map(|_| Entry::default()).collect());
        &chunk[at % CHUNK]
    }

    /// Returns the number of ids given out so far: those below exist or are being inserted.
    #[inline]
    pub fn ids(&self) -> u64 {
        self.ids.load(Ordering::Relaxed)
    }

    /// Returns the border below which all ids have been written to an end: they may be drawn, and a scan sent now must show them.
    #[inline]
    pub fn settled(&self) -> u64 {
        self.settled.load(Ordering::Acquire)
    }

    /// Moves the border of settled ids as far as it goes, after the first write of a new id has ended.
    pub fn settle(&self) {
        let mut border = self.settled();
        while border < self.ids() {
            let Sight { writes, last } = self.entry(border).sight();
            if !last.is_one() && !writes.is_uncertain() {
                break;
            }
            match self.settled.compare_exchange(border, border + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => border += 1,
                Err(now) => border = now,
            }
        }
    }

    /// Returns a new id; `None` when there is no room.
    #[inline]
    pub fn insert(&self) -> Option<u64> {
        self.ids.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |ids| (ids < self.limit).then_some(ids + 1)).ok()
    }

    #[inline]
    fn flight(&self, slot: Slot) -> &AtomicU64 {
        &self.flights[slot as usize * self.stride]
    }

    /// Issues the next version of a key, about to be written by this slot.
    #[inline]
    pub fn begin_write(&self, id: u64, slot: Slot) -> Write {
        let (entry, flight) = (self.entry(id), self.flight(slot));
        let key = mark(id);
        // Known before its number is, so that nobody who sees that the number was issued misses it here.
        flight.store(key, Ordering::Release);
        let mut seen = entry.writes.load(Ordering::Acquire);
        let writes = loop {
            let next = Writes(seen).issue();
            match entry.writes.compare_exchange_weak(seen, next.0, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break next,
                Err(now) => seen = now,
            }
        };
        flight.store(key | writes.issued(), Ordering::Release);
        if writes.is_uncertain() {
            return self.begin_in_doubt(id, writes.issued() as u32);
        }
        let began = if writes.is_crowded() { self.begin_among(id, slot, writes) } else { writes.write() };
        Write { version: writes.issued() as u32, moment: 0, began }
    }

    /// The beginning of the write issued last, of a key of which versions older than the window may be unfinished.
    #[cold]
    fn begin_among(&self, id: u64, slot: Slot, writes: Writes) -> EndedOperation {
        let steps_back = |flight: u64| match flight & MAX_VERSION {
            0 => MAX_VERSION, // about to be issued: it may be any
            version => Some(steps(version, writes.issued())).filter(|&steps| is_forth(steps)).unwrap_or(0),
        };
        let flights = (0..).zip(self.flights.iter().step_by(self.stride));
        let others = flights.filter(|&(other, _)| other != slot).map(|(_, flight)| flight.load(Ordering::Acquire));
        let oldest = others.filter(|flight| is_of(*flight, id)).map(steps_back).max().unwrap_or(0);
        if Writes::is_beyond(oldest) {
            return writes.write_among(oldest);
        }
        // Unless something was issued since, which may have pushed another one out of the window.
        let _ = self.entry(id).writes.compare_exchange(writes.0, writes.quiet().0, Ordering::AcqRel, Ordering::Acquire);
        writes.write()
    }

    /// Notes that a write of this slot was acknowledged.
    #[inline]
    pub fn end_write(&self, id: u64, slot: Slot, write: Write) {
        let entry = self.entry(id);
        let writes = entry.finish(u64::from(write.version));
        if write.moment == 0 {
            entry.ended(write.began);
        }
        if writes.is_uncertain() {
            self.end_in_doubt(id, write);
        }
        if let Some(times) = self.times.get() {
            times.acknowledged(id);
        }
        self.flight(slot).store(0, Ordering::Release);
    }

    /// Asks the processor to bring what is known of a key near; it waits for nothing.
    #[inline]
    pub fn prefetch(&self, id: u64) {
        let Some(entry) = self.planned.get(id as usize) else { return };
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing, and the address is that of a live entry.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = entry;
    }

    /// Returns the state of a key now, to judge the reply to a read sent now.
    #[inline]
    pub fn sight(&self, id: u64) -> Sight {
        let sight = self.entry(id).sight();
        if sight.writes.is_uncertain() { self.sight_in_doubt(id, sight) } else { sight }
    }

    /// Judges the version that was answered to a read sent when the key was as `sight` says, and learns from it.
    ///
    /// # Errors
    /// When it is out of date, or was never issued.
    pub fn judge(&self, id: u64, sight: Sight, version: u32) -> Result<(), Age> {
        let entry = self.entry(id);
        let now = Writes(entry.writes.load(Ordering::Acquire));
        let answered = u64::from(version);
        if version == 0 || answered > MAX_VERSION || !is_forth(steps(answered, now.issued())) {
            return Err(Age::NeverIssued(now.issued() as u32));
        }
        if now.is_uncertain() {
            return self.judge_in_doubt(id, sight, version);
        }
        if sight.last.outdates(answered) {
            return Err(Age::Stale(sight.last.version() as u32));
        }
        entry.finish(answered);
        if let Some(read) = sight.writes.read(answered) {
            entry.ended(read);
        }
        Ok(())
    }
}

impl Entry {
    #[inline]
    fn sight(&self) -> Sight {
        Sight {
            writes: Writes(self.writes.load(Ordering::Acquire)),
            last: EndedOperation(self.last.load(Ordering::Acquire)),
        }
    }

    /// Of a key in doubt: something was acknowledged or read, so it exists.
    #[cold]
    fn mark(&self) {
        let _ = self.last.compare_exchange(0, EndedOperation::SOME.0, Ordering::AcqRel, Ordering::Acquire);
    }

    /// This version has taken effect; gives the writes as they are then.
    #[inline]
    fn finish(&self, version: u64) -> Writes {
        let mut seen = self.writes.load(Ordering::Acquire);
        loop {
            let next = Writes(seen).finish(version).0;
            if next == seen {
                return Writes(seen);
            }
            match self.writes.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Writes(next),
                Err(now) => seen = now,
            }
        }
    }

    /// This operation has ended.
    #[inline]
    fn ended(&self, operation: EndedOperation) {
        let mut seen = self.last.load(Ordering::Acquire);
        while operation.began_after(EndedOperation(seen)) {
            match self.last.compare_exchange_weak(seen, operation.0, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }
}

#[cfg(test)]
mod tests;
