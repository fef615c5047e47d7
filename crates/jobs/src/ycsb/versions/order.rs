//! What is known of the versions of one key, in two words: which writes are unfinished, and which versions are out of date.
//!
//! A version is *finished* when its write was acknowledged, or a read that answered it has ended: from then on it has taken effect. An
//! operation that begins after that, and writes or reads another version, took effect later; when it has ended, too, no read that
//! begins then may answer the finished version. So of all operations that have ended the one that began last says which versions are
//! out of date: all that were finished when it began, but its own. Of writes in flight at the same time it says nothing: they may
//! take effect in any order, and which one was last only reads can tell.

/// Bits of a version: they run from 1 to 2^26 - 1 and around.
pub const VERSION_BITS: u32 = 26;
/// The last version.
pub const MAX_VERSION: u64 = (1 << VERSION_BITS) - 1;
/// Versions below a number of which each is known to be finished or not.
const WINDOW: u64 = 32;
const WINDOW_MASK: u64 = (1 << WINDOW) - 1;
const SINCE_SHIFT: u32 = VERSION_BITS + WINDOW as u32;
/// Of the writes: one failed, and the key has a record of its own. What was seen of them when a read was sent then has a moment of that
/// record in the place of the window.
const UNCERTAIN: u64 = 1 << SINCE_SHIFT;
/// Of the writes: versions older than the window may be unfinished. Of an operation: it was a write that began then, and stands with
/// the oldest of them.
const CROWDED: u64 = 1 << 63;

/// Steps from version `from` on to version `to`.
#[inline]
pub fn steps(from: u64, to: u64) -> u64 {
    if to >= from { to - from } else { to + MAX_VERSION - from }
}

/// The version `steps` steps before this one.
#[inline]
fn back(version: u64, steps: u64) -> u64 {
    if version > steps { version - steps } else { version + MAX_VERSION - steps }
}

/// Returns whether that many steps lead forward, not back.
#[inline]
pub fn is_forth(steps: u64) -> bool {
    steps <= MAX_VERSION / 2
}

/// The version issued last, and which of those before it are unfinished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes(pub u64);

impl Writes {
    /// Returns the version issued last; 0: none.
    #[inline]
    pub fn issued(self) -> u64 {
        self.0 & MAX_VERSION
    }

    #[inline]
    fn window(self) -> u64 {
        self.0 >> VERSION_BITS & WINDOW_MASK
    }

    /// Returns whether a write failed.
    #[inline]
    pub fn is_uncertain(self) -> bool {
        self.0 & UNCERTAIN != 0
    }

    /// Returns whether versions older than the window may be unfinished.
    #[inline]
    pub fn is_crowded(self) -> bool {
        self.0 & CROWDED != 0
    }

    /// Returns these writes with one more version issued.
    #[inline]
    pub fn issue(self) -> Writes {
        let version = if self.issued() == MAX_VERSION { 1 } else { self.issued() + 1 };
        let window = self.window();
        let falls_out = window >> (WINDOW - 1) << 63;
        let window = (window << 1 | 1) & WINDOW_MASK;
        Writes(version | window << VERSION_BITS | self.0 & (UNCERTAIN | CROWDED) | falls_out)
    }

    /// Returns these writes with this version finished.
    #[inline]
    pub fn finish(self, version: u64) -> Writes {
        let steps = steps(version, self.issued());
        if steps < WINDOW { Writes(self.0 & !(1 << VERSION_BITS << steps)) } else { self }
    }

    /// Versions of the window that are unfinished.
    pub fn unfinished(self) -> impl Iterator<Item = u64> {
        let bits = (0..WINDOW).filter(move |bit| self.window() >> bit & 1 == 1);
        bits.map(move |bit| back(self.issued(), bit))
    }

    /// Returns the writes of a key in doubt, as a read that begins in this moment sees them; `is_doubts`: the last operation is that of
    /// its record.
    pub fn in_doubt(self, moment: u32, is_doubts: bool) -> Writes {
        let crowded = if is_doubts { CROWDED } else { 0 };
        Writes(self.issued() | u64::from(moment) << VERSION_BITS | UNCERTAIN | crowded)
    }

    /// Returns the moment in which a read began that saw the key in doubt.
    pub fn moment(self) -> Option<u32> {
        self.is_uncertain().then_some(self.window() as u32)
    }

    /// Returns these writes with one failed.
    #[inline]
    pub fn fail(self) -> Writes {
        Writes(self.0 | UNCERTAIN)
    }

    /// Returns these writes with no unfinished version older than the window.
    #[inline]
    pub fn quiet(self) -> Writes {
        Writes(self.0 & !CROWDED)
    }

    /// Returns the write of the version issued last, as an operation that begins now.
    #[inline]
    pub fn write(self) -> EndedOperation {
        EndedOperation(self.finish(self.issued()).0 & !(UNCERTAIN | CROWDED))
    }

    /// Returns the same, where the oldest unfinished version may be `steps` steps back.
    pub fn write_among(self, steps: u64) -> EndedOperation {
        let steps = steps.clamp(WINDOW - 1, MAX_VERSION / 2);
        EndedOperation(self.issued() | back(self.issued(), steps) << VERSION_BITS | CROWDED)
    }

    /// Returns whether the window ends before a version `steps` steps back.
    pub fn is_beyond(steps: u64) -> bool {
        steps >= WINDOW
    }

    /// Returns a read that began now and answered this version; `None`: it says nothing of others.
    #[inline]
    pub fn read(self, version: u64) -> Option<EndedOperation> {
        let since = steps(version, self.issued());
        if since >= WINDOW || self.0 & (UNCERTAIN | CROWDED) != 0 {
            return None;
        }
        Some(EndedOperation(self.finish(version).0 | since << SINCE_SHIFT))
    }
}

/// An operation that has ended: its version, and what was unfinished when it began. 0: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedOperation(pub u64);

impl EndedOperation {
    /// One of which nothing else is known: it outdates nothing.
    pub const SOME: EndedOperation = EndedOperation(CROWDED | 1 << SINCE_SHIFT);

    /// Returns the last operation of a key in doubt: its version, and the moment in which it began.
    pub fn in_doubt(version: u32, began: u32) -> EndedOperation {
        EndedOperation(u64::from(version) | u64::from(began) << VERSION_BITS | CROWDED)
    }

    /// Returns the same, taken apart.
    pub fn of_doubt(self) -> (u32, u32) {
        (self.issued() as u32, self.window() as u32)
    }

    #[inline]
    fn issued(self) -> u64 {
        self.0 & MAX_VERSION
    }

    #[inline]
    fn window(self) -> u64 {
        self.0 >> VERSION_BITS & WINDOW_MASK
    }

    #[inline]
    fn is_crowded(self) -> bool {
        self.0 & CROWDED != 0
    }

    /// Returns whether there was one.
    #[inline]
    pub fn is_one(self) -> bool {
        self.0 != 0
    }

    /// How many versions were issued between its own and its beginning.
    #[inline]
    fn since(self) -> u64 {
        if self.is_crowded() { 0 } else { self.0 >> SINCE_SHIFT }
    }

    /// Returns the version it wrote or read.
    #[inline]
    pub fn version(self) -> u64 {
        back(self.issued(), self.since())
    }

    /// Returns whether a read that began after it had ended may not answer this version.
    #[inline]
    pub fn outdates(self, version: u64) -> bool {
        let steps = steps(version, self.issued());
        if self.issued() == 0 || !is_forth(steps) {
            return false;
        }
        if self.is_crowded() {
            return steps > self::steps(self.0 >> VERSION_BITS & MAX_VERSION, self.issued());
        }
        steps != self.since() && (steps >= WINDOW || self.window() >> steps & 1 == 0)
    }

    /// Returns whether it began after the other.
    #[inline]
    pub fn began_after(self, other: EndedOperation) -> bool {
        let steps = steps(other.issued(), self.issued());
        if steps > 0 || !other.is_one() {
            return is_forth(steps);
        }
        // Of the same number of versions issued the later has fewer unfinished; a write was the first of all.
        match (self.is_crowded(), other.is_crowded()) {
            (false, true) => true,
            (true, _) => false,
            _ => self.window() != other.window() && self.window() & !other.window() == 0,
        }
    }
}
