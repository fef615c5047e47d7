//! When the value of each key must be there, and when it must be gone, where the trace gives times to live.
//!
//! A write lives from some moment between its sending and its acknowledgement. A value must be there until its time to live is over after the first,
//! and be gone when it is over after the second; between, and within what the store declares, either is right. A key is one worker's at any time.

use super::ReplayPace;
use crate::expires::{Expires, MOMENT_BYTES, push_moment, shown};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use store::{Capabilities, Expiry, OperationKind};

/// The moment of what lasts.
const LASTS: u64 = u64::MAX;

/// The bytes kept per key.
pub const LIFE_BYTES: usize = 2 * size_of::<u64>();

/// The times of all keys.
pub struct KeyLives {
    expires: Expires,
    /// Whether the store itself starts a time to live again.
    touches: bool,
    speed: f64,
    began: Instant,
    /// Until when the value of each key must be there, and from when on it must be gone.
    spans: Box<[[AtomicU64; 2]]>,
}

/// What a value is sealed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentLife {
    /// Nothing: it lasts.
    Lasting,
    /// A time to live, which the store keeps.
    InStore {
        /// The time.
        ttl_ms: u64,
    },
    /// A moment behind it, which the reader compares.
    Moment {
        /// Nanoseconds since the trial began.
        over_ns: u64,
    },
}

impl KeyLives {
    /// Makes the times of this number of keys.
    pub fn new(keys: usize, store: &Capabilities, pace: ReplayPace) -> KeyLives {
        let spans = (0..keys).map(|_| [AtomicU64::new(LASTS), AtomicU64::new(LASTS)]).collect();
        let speed = match pace {
            ReplayPace::Highest => 1.0,
            ReplayPace::Recorded { speed } => speed,
        };
        let touches = store.has(OperationKind::Touch);
        KeyLives { expires: Expires::of(store), touches, speed, began: Instant::now(), spans }
    }

    /// Returns the time since the trial began.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Returns whether a touch is one operation of the store.
    pub fn touches(&self) -> bool {
        self.touches && self.expires != Expires::ByReader
    }

    /// Returns the time to live that the store is given for one of the trace: as many times shorter as the replay is faster, in steps that the store
    /// counts in, and no longer than it takes.
    pub fn ttl_ms(&self, of_trace_ms: u64) -> u64 {
        let ttl_ms = (of_trace_ms as f64 / self.speed).ceil().max(1.0) as u64;
        match self.expires {
            Expires::ByReader => ttl_ms,
            Expires::InStore(Expiry { grain_ms, least_ms, most_ms, .. }) => {
                ttl_ms.max(least_ms).next_multiple_of(grain_ms).min(most_ms)
            }
        }
    }

    /// Returns the longest time to live, which stands for one that lasts where a touch must name one.
    pub fn longest_ms(&self) -> u64 {
        match self.expires {
            Expires::ByReader => u64::MAX,
            Expires::InStore(Expiry { most_ms, .. }) => most_ms,
        }
    }

    /// Returns what a write that is sent now is sealed with, its time to live being one of the store's.
    pub fn sent(&self, ttl_ms: Option<u64>) -> SentLife {
        match (self.expires, ttl_ms) {
            (Expires::InStore(_), None) => SentLife::Lasting,
            (Expires::InStore(_), Some(ttl_ms)) => SentLife::InStore { ttl_ms },
            (Expires::ByReader, None) => SentLife::Moment { over_ns: LASTS },
            (Expires::ByReader, Some(ttl_ms)) => SentLife::Moment { over_ns: self.now_ns() + ttl_ms * 1_000_000 },
        }
    }

    /// Notes that a write, sent at that time and so sealed, was acknowledged.
    pub fn acknowledged(&self, id: u32, sent_ns: u64, life: SentLife) {
        let (early_ns, late_ns) = self.expires.slack_ns();
        let span = match life {
            SentLife::Lasting => [LASTS, LASTS],
            SentLife::Moment { over_ns } => [over_ns, over_ns],
            SentLife::InStore { ttl_ms } => {
                let ttl_ns = ttl_ms.saturating_mul(1_000_000);
                [(sent_ns + ttl_ns).saturating_sub(early_ns), self.now_ns() + ttl_ns + late_ns]
            }
        };
        self.set(id, span);
    }

    /// Notes that nobody knows how long the key lives: a write failed.
    pub fn unknown(&self, id: u32) {
        self.set(id, [0, LASTS]);
    }

    fn set(&self, id: u32, span: [u64; 2]) {
        for (at, moment) in self.spans[id as usize].iter().zip(span) {
            at.store(moment, Ordering::Relaxed);
        }
    }

    fn span(&self, id: u32) -> [u64; 2] {
        let [from, until] = &self.spans[id as usize];
        [from.load(Ordering::Relaxed), until.load(Ordering::Relaxed)]
    }

    /// Returns by how much a key was gone before its time; `None`: its time is over. What lasts is not early, but lost.
    pub fn early(&self, id: u32) -> Gone {
        let [from_ns, _] = self.span(id);
        match from_ns.checked_sub(self.now_ns()) {
            _ if from_ns == LASTS || self.expires == Expires::ByReader && from_ns > 0 => Gone::Lost,
            None | Some(0) => Gone::Over,
            Some(before_ns) => Gone::Early(format!("gone {} before its time", shown(before_ns))),
        }
    }

    /// Returns what is wrong with a key that is there, when it was asked for at that time.
    pub fn late(&self, id: u32, asked_ns: u64) -> Option<String> {
        let [_, until_ns] = self.span(id);
        let after_ns = asked_ns.checked_sub(until_ns).filter(|&after_ns| after_ns > 0)?;
        Some(format!("still there {} after its time", shown(after_ns)))
    }

    /// Takes the moment from behind a value: the value, and whether it lives still. A moment that is not the one it was written with stays: no value
    /// is as long then.
    pub fn opened<'v>(&self, id: u32, sealed: &'v [u8]) -> (&'v [u8], Freshness) {
        if self.expires != Expires::ByReader {
            return (sealed, Freshness::Still);
        }
        let Some((value, moment)) = sealed.split_last_chunk::<MOMENT_BYTES>() else {
            return (sealed, Freshness::Still);
        };
        let over_ns = u64::from_le_bytes(*moment);
        let [from_ns, until_ns] = self.span(id);
        if !(from_ns..=until_ns).contains(&over_ns) {
            return (sealed, Freshness::Still);
        }
        (value, if over_ns > self.now_ns() { Freshness::Still } else { Freshness::NoLonger })
    }
}

/// How a key is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Its time was over.
    Over,
    /// Before its time, in words.
    Early(String),
    /// Its value has no time to live that the store knows of.
    Lost,
}

/// Whether a value that was found lives still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// It does.
    Still,
    /// Its reader sees that its time is over.
    NoLonger,
}

impl SentLife {
    /// Writes behind a value what its reader compares.
    pub fn seal(self, value: &mut Vec<u8>) {
        if let SentLife::Moment { over_ns } = self {
            push_moment(over_ns, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Freshness, Gone, KeyLives, ReplayPace, SentLife};
    use store::{Capabilities, Expiry, OperationKind};

    fn lives(expiry: Option<Expiry>, speed: f64) -> KeyLives {
        let native = match expiry {
            Some(_) => Capabilities::BASIC.native.and(&[OperationKind::PutTtl, OperationKind::Touch]),
            None => Capabilities::BASIC.native,
        };
        let store = Capabilities { expiry, native, ..Capabilities::BASIC };
        KeyLives::new(1, &store, ReplayPace::Recorded { speed })
    }

    #[test]
    fn a_time_to_live_is_as_much_shorter_as_the_replay_is_faster_in_the_steps_of_the_store() {
        let seconds = Expiry::in_seconds(1000, 1000, 30 * 86_400_000);
        for (expiry, speed, of_trace_ms, ttl_ms) in [
            (Some(Expiry::IN_MS), 1.0, 1500, 1500),
            (Some(Expiry::IN_MS), 10.0, 1501, 151),
            (Some(seconds), 1.0, 1500, 2000),
            (Some(seconds), 100.0, 1500, 1000),
            (Some(seconds), 1.0, 400 * 86_400_000, 30 * 86_400_000),
            (None, 2.0, 3, 2),
        ] {
            assert_eq!(lives(expiry, speed).ttl_ms(of_trace_ms), ttl_ms, "{expiry:?} {speed}");
        }
    }

    #[test]
    fn what_is_gone_before_its_time_is_early_and_what_is_there_behind_it_is_late() {
        let lives = lives(Some(Expiry { early_ms: 0, late_ms: 0, ..Expiry::IN_MS }), 1.0);
        assert_eq!((lives.early(0), lives.late(0, u64::MAX - 1)), (Gone::Lost, None));
        let life = lives.sent(Some(60_000));
        lives.acknowledged(0, lives.now_ns(), life);
        assert!(matches!(lives.early(0), Gone::Early(words) if words.starts_with("gone ")));
        assert_eq!(lives.late(0, lives.now_ns()), None);
        assert!(lives.late(0, lives.now_ns() + 61_000_000_000).is_some_and(|words| words.starts_with("still there ")));
        lives.acknowledged(0, 0, SentLife::InStore { ttl_ms: 0 });
        assert_eq!(lives.early(0), Gone::Over);
        lives.unknown(0);
        assert_eq!((lives.early(0), lives.late(0, u64::MAX - 1)), (Gone::Over, None));
    }

    #[test]
    fn a_reader_compares_the_moment_in_the_value_and_knows_it() {
        let lives = lives(None, 1.0);
        for (ttl_ms, lives_on) in
            [(None, Freshness::Still), (Some(60_000), Freshness::Still), (Some(0), Freshness::NoLonger)]
        {
            let (mut value, life) = (b"value".to_vec(), lives.sent(ttl_ms));
            life.seal(&mut value);
            lives.acknowledged(0, 0, life);
            assert_eq!(lives.opened(0, &value), (&b"value"[..], lives_on), "{ttl_ms:?}");
            assert_eq!(lives.early(0), Gone::Lost, "the store drops nothing");
            *value.last_mut().unwrap_or(&mut 0) ^= 1;
            assert_eq!(lives.opened(0, &value).0.len(), 13, "another moment");
        }
    }
}
