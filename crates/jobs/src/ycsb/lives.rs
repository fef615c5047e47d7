//! When each value must be there and when it must be gone, where values have a time to live.
//!
//! A write takes effect some time between its sending and its acknowledgement, and lives from there. So a value must be there until the time to
//! live is over after the *sending* of a write that was acknowledged; it must be gone when that time is over after the latest
//! *acknowledgement*. Between the two, and within what the store declares ([`store::Expiry`]), either is right. Times are those of the client's
//! monotonic clock.

use super::versions::Ledger;
use crate::expires::{Expires, alive, push_moment, shown};
use jobkit::Offence;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use study::ReasonKind;

/// The longest wait for values to expire behind the run, so that it can be seen that they do.
const MOST_WAIT: Duration = Duration::from_secs(60);

/// The bytes kept per key.
pub const LIFE_BYTES: u64 = 16;

/// The times of all keys, shared by all threads.
pub struct Lifetimes {
    /// The time to live.
    pub ttl_ms: u64,
    /// The way in which values expire.
    pub expires: Expires,
    began: Instant,
    keys: Box<[Times]>,
    /// Reads of values whose time was over.
    expired: AtomicU64,
    worst_early_ns: AtomicU64,
    worst_late_ns: AtomicU64,
}

#[derive(Default)]
struct Times {
    /// When the latest acknowledged write was sent.
    sent_ns: AtomicU64,
    /// When the latest one was acknowledged.
    acknowledged_ns: AtomicU64,
}

/// The times of a key when a read was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lifetime {
    sent_ns: u64,
    acknowledged_ns: u64,
    /// When the read was sent.
    asked_ns: u64,
}

impl Lifetimes {
    /// Makes the times of this number of keys.
    pub fn new(keys: u64, ttl_ms: u64, expires: Expires) -> Lifetimes {
        Lifetimes {
            ttl_ms,
            expires,
            began: Instant::now(),
            keys: (0..keys).map(|_| Times::default()).collect(),
            expired: AtomicU64::new(0),
            worst_early_ns: AtomicU64::new(0),
            worst_late_ns: AtomicU64::new(0),
        }
    }

    /// Returns the time, in nanoseconds since these were made, and at least 1.
    pub fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64 | 1
    }

    fn ttl_ns(&self) -> u64 {
        self.ttl_ms * 1_000_000
    }

    /// Notes that a write of this key, sent then, was acknowledged just now. To be called before the ledger hears of it.
    pub fn written(&self, id: u64, sent_ns: u64) {
        let Some(times) = self.keys.get(id as usize) else { return };
        times.acknowledged_ns.fetch_max(self.now_ns(), Ordering::AcqRel);
        times.sent_ns.fetch_max(sent_ns, Ordering::AcqRel);
    }

    /// Returns the times of a key, for a read that is sent now. To be called after the ledger's sight was taken.
    pub fn life(&self, id: u64) -> Lifetime {
        let asked_ns = self.now_ns();
        let Some(times) = self.keys.get(id as usize) else { return Lifetime { asked_ns, ..Lifetime::default() } };
        Lifetime {
            sent_ns: times.sent_ns.load(Ordering::Acquire),
            acknowledged_ns: times.acknowledged_ns.load(Ordering::Acquire),
            asked_ns,
        }
    }

    /// Judges that a key was missing, of which a write was acknowledged before the read was sent.
    ///
    /// # Errors
    /// Its time was not over yet.
    pub fn gone(&self, ledger: &Ledger, id: u64, life: Lifetime) -> Result<(), Offence> {
        let (early_ns, _) = self.expires.slack_ns();
        let over_ns = (life.sent_ns + self.ttl_ns()).saturating_sub(early_ns);
        let before_ns = over_ns.saturating_sub(self.now_ns());
        if before_ns == 0 {
            self.expired.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        self.worst_early_ns.fetch_max(before_ns + early_ns, Ordering::Relaxed);
        let seen = format!("gone {} before its time of {}", shown(before_ns + early_ns), shown(self.ttl_ns()));
        Err(Offence::new(ReasonKind::ExpiredEarly, &ledger.names.key(id), seen))
    }

    /// Judges that the value written last was there, with no write in flight when the read was sent.
    ///
    /// # Errors
    /// Its time was over.
    pub fn there(&self, ledger: &Ledger, id: u64, life: Lifetime) -> Result<(), Offence> {
        let (_, late_ns) = self.expires.slack_ns();
        let after_ns = life.asked_ns.saturating_sub(life.acknowledged_ns + self.ttl_ns());
        if after_ns <= late_ns {
            return Ok(());
        }
        self.worst_late_ns.fetch_max(after_ns, Ordering::Relaxed);
        let seen = format!("still there {} after its time of {}", shown(after_ns), shown(self.ttl_ns()));
        Err(Offence::new(ReasonKind::ExpiredLate, &ledger.names.key(id), seen))
    }

    /// Judges that a value was there after the wait for all to be gone.
    #[cold]
    pub fn never(&self, ledger: &Ledger, id: u64, life: Lifetime) -> Offence {
        let after_ns = life.asked_ns.saturating_sub(life.acknowledged_ns + self.ttl_ns());
        self.worst_late_ns.fetch_max(after_ns, Ordering::Relaxed);
        let seen = format!("still there when all were to be gone, {} after its time", shown(after_ns));
        Offence::new(ReasonKind::NeverExpired, &ledger.names.key(id), seen)
    }

    /// Returns whether it is worth waiting until everything is gone.
    pub fn can_be_waited_for(&self) -> bool {
        Duration::from_nanos(self.ttl_ns() + self.expires.slack_ns().1) <= MOST_WAIT
    }

    /// Waits until the time of everything that was written is over, with what the store declares.
    pub fn wait(&self) {
        let latest_ns = self.keys.iter().map(|times| times.acknowledged_ns.load(Ordering::Acquire)).max();
        let over_ns = latest_ns.unwrap_or(0) + self.ttl_ns() + self.expires.slack_ns().1 + 1_000_000;
        std::thread::sleep(Duration::from_nanos(over_ns.saturating_sub(self.now_ns())));
    }

    /// Writes the moment at which a value written now is over, for its reader.
    pub fn push_moment(&self, out: &mut Vec<u8>) {
        push_moment(self.now_ns() + self.ttl_ns(), out);
    }

    /// Returns whether a value is alive by the moment behind it, and counts it if not.
    pub fn is_alive(&self, sealed: &[u8]) -> bool {
        let is_alive = alive(sealed, self.now_ns()).is_some();
        if !is_alive {
            self.expired.fetch_add(1, Ordering::Relaxed);
        }
        is_alive
    }

    /// Returns what was seen: reads of values whose time was over, and by how much the worst were early and late, in ms.
    pub fn facts(&self) -> [(&'static str, serde_json::Value); 3] {
        let ms = |ns: &AtomicU64| ns.load(Ordering::Relaxed).div_ceil(1_000_000).into();
        [
            ("expired_reads", self.expired.load(Ordering::Relaxed).into()),
            ("worst_early_ms", ms(&self.worst_early_ns)),
            ("worst_late_ms", ms(&self.worst_late_ns)),
        ]
    }
}
