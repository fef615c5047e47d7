//! What is known of each key: one atomic word a key, shared by all threads.
//!
//! The word holds the version issued last, the number of writes in flight, and a floor. When a write is issued while
//! none is in flight, all earlier ones are acknowledged, so from its acknowledgement on no older version may be seen:
//! the floor is set to it. Hence
//! * the final version lies between floor and issued, with any number of clients;
//! * so does the version of a read that was sent while no write was in flight.
//!
//! That finds lost and stale updates without a lock and without knowing the order in which concurrent writes took
//! effect. Versions run from 1 to 2^26 - 1 and around; 4,095 writes in flight (or one that failed) make a key
//! uncertain for ever, which only means it is no longer checked for age.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const VERSION_BITS: u32 = 26;
const MAX_VERSION: u64 = (1 << VERSION_BITS) - 1;
const UNCERTAIN: u64 = (1 << (64 - 2 * VERSION_BITS)) - 1;
const CHUNK: usize = 1 << 16;

/// The state of one key, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    issued: u64,
    floor: u64,
    in_flight: u64,
}

impl State {
    #[inline]
    fn unpack(word: u64) -> State {
        State {
            issued: word & MAX_VERSION,
            floor: word >> VERSION_BITS & MAX_VERSION,
            in_flight: word >> (2 * VERSION_BITS),
        }
    }

    #[inline]
    fn pack(self) -> u64 {
        self.issued | self.floor << VERSION_BITS | self.in_flight << (2 * VERSION_BITS)
    }

    /// Whether a write was ever acknowledged.
    #[inline]
    fn exists(self) -> bool {
        self.issued > 1 && self.in_flight != UNCERTAIN || self.issued == 1 && self.in_flight == 0
    }
}

/// Steps from version `from` on to version `to`.
#[inline]
fn steps(from: u64, to: u64) -> u64 {
    if to >= from { to - from } else { to + MAX_VERSION - from }
}

/// What a reply may be, decided when the read is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// A write failed, or the key never was acknowledged: anything may be there.
    Nothing,
    /// The key exists; writes are in flight, so its version is not certain.
    Exists,
    /// The key exists, with this version or a later one.
    AtLeast(u32),
}

/// The word of a key as it was when a read was sent. Taking it waits for nothing: it is unpacked when the reply is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight(u64);

impl Sight {
    /// What a read sent then must find.
    #[inline]
    pub fn known(self) -> Known {
        let state = State::unpack(self.0);
        match state.in_flight {
            0 if state.issued > 0 => Known::AtLeast(state.floor as u32),
            _ if state.exists() => Known::Exists,
            _ => Known::Nothing,
        }
    }

    /// Whether this is the version issued last then: it cannot be stale, and the ledger need not be asked again.
    #[inline]
    pub fn is_newest(self, version: u32) -> bool {
        version != 0 && u64::from(version) == self.0 & MAX_VERSION
    }
}

/// Why a version is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// Older than the version given, which was acknowledged.
    Stale(u32),
    /// Newer than the version given, which was issued last.
    NeverIssued(u32),
}

/// All keys.
pub struct Ledger {
    /// Keys whose number was known before the run.
    planned: Vec<AtomicU64>,
    /// Keys beyond them, in chunks made when the first of them is inserted.
    more: Vec<OnceLock<Box<[AtomicU64]>>>,
    /// Ids given out.
    ids: AtomicU32,
    /// The first writes of all ids below are acknowledged (or failed).
    settled: AtomicU32,
    limit: u32,
}

impl Ledger {
    /// A ledger of `records` keys to load and room for `inserts` more; `None`: as many as come, up to 2^31 in all.
    pub fn new(records: u32, inserts: Option<u32>) -> Ledger {
        let zeros = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let planned = records + inserts.unwrap_or(0);
        let chunks = if inserts.is_none() { ((1usize << 31) - planned as usize).div_ceil(CHUNK) } else { 0 };
        Ledger {
            planned: zeros(planned as usize),
            more: (0..chunks).map(|_| OnceLock::new()).collect(),
            ids: AtomicU32::new(records),
            settled: AtomicU32::new(records),
            limit: if inserts.is_none() { 1 << 31 } else { planned },
        }
    }

    #[inline]
    fn word(&self, id: u32) -> &AtomicU64 {
        match self.planned.get(id as usize) {
            Some(word) => word,
            None => self.beyond(id as usize - self.planned.len()),
        }
    }

    fn beyond(&self, at: usize) -> &AtomicU64 {
        let chunk = self.more[at / CHUNK].get_or_init(|| (0..CHUNK).map(|_| AtomicU64::new(0)).collect());
        &chunk[at % CHUNK]
    }

    /// Ids given out so far: those below exist or are being inserted.
    #[inline]
    pub fn ids(&self) -> u32 {
        self.ids.load(Ordering::Relaxed)
    }

    /// All ids below have been written to an end: they may be drawn, and a scan sent now must show them.
    #[inline]
    pub fn settled(&self) -> u32 {
        self.settled.load(Ordering::Acquire)
    }

    /// The first write of a new id has ended: moves the border of settled ids as far as it goes.
    pub fn settle(&self) {
        let mut border = self.settled();
        while border < self.ids() {
            let state = State::unpack(self.word(border).load(Ordering::Acquire));
            if !state.exists() && state.in_flight != UNCERTAIN {
                break;
            }
            match self.settled.compare_exchange(border, border + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => border += 1,
                Err(now) => border = now,
            }
        }
    }

    /// A new id; `None` when there is no room.
    #[inline]
    pub fn insert(&self) -> Option<u32> {
        self.ids.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |ids| (ids < self.limit).then_some(ids + 1)).ok()
    }

    /// Issues the next version of a key, about to be written.
    #[inline]
    pub fn begin_write(&self, id: u32) -> u32 {
        let word = self.word(id);
        let mut seen = word.load(Ordering::Acquire);
        loop {
            let mut state = State::unpack(seen);
            state.issued = if state.issued == MAX_VERSION { 1 } else { state.issued + 1 };
            if state.in_flight == 0 {
                state.floor = state.issued;
            }
            if state.in_flight != UNCERTAIN {
                state.in_flight += 1;
            }
            match word.compare_exchange_weak(seen, state.pack(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return state.issued as u32,
                Err(now) => seen = now,
            }
        }
    }

    /// A write was acknowledged.
    #[inline]
    pub fn end_write(&self, id: u32) {
        let _ = self.word(id).fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
            let mut state = State::unpack(word);
            if state.in_flight == UNCERTAIN || state.in_flight == 0 {
                return None;
            }
            state.in_flight -= 1;
            Some(state.pack())
        });
    }

    /// A write failed: nobody knows what is there.
    #[cold]
    pub fn fail_write(&self, id: u32) {
        self.word(id).fetch_or(UNCERTAIN << (2 * VERSION_BITS), Ordering::AcqRel);
    }

    /// Asks the processor to bring the word of a key near; it waits for nothing.
    #[inline]
    pub fn prefetch(&self, id: u32) {
        let Some(word) = self.planned.get(id as usize) else { return };
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing, and the address is that of a live word.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = word;
    }

    /// The state of a key now, to judge the reply to a read sent now.
    #[inline]
    pub fn sight(&self, id: u32) -> Sight {
        Sight(self.word(id).load(Ordering::Acquire))
    }

    /// What a read of this key, sent now, must find.
    #[inline]
    pub fn known(&self, id: u32) -> Known {
        self.sight(id).known()
    }

    /// Judges the version a reply carries.
    ///
    /// # Errors
    /// When it is too old, or was never issued.
    #[inline]
    pub fn judge(&self, id: u32, known: Known, version: u32) -> Result<(), Age> {
        let issued = State::unpack(self.word(id).load(Ordering::Acquire)).issued;
        let version = u64::from(version);
        if version == issued && version != 0 {
            return Ok(()); // the newest there is cannot be stale
        }
        let lag = steps(version, issued);
        if version == 0 || version > MAX_VERSION || lag > MAX_VERSION / 2 {
            return Err(Age::NeverIssued(issued as u32));
        }
        match known {
            Known::AtLeast(floor) if lag > steps(u64::from(floor), issued) => Err(Age::Stale(floor)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
