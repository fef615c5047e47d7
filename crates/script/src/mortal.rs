//! Values with a time to live: from when on each may be gone, and until when it may be there.
//!
//! A write takes effect some time between its sending and its acknowledgement, and what it wrote lives from there. While a write of a key is
//! under way, and where several clients write it, what all of them may have done holds together. Only scripts that name a time to live come here; each
//! key then has a lock of its own.

use crate::shared_map::{Keyed, Met, SharedMap};
use jobs::expires::{Expires, alive, push_moment};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Never.
const LASTS: u64 = u64::MAX;

/// The lives of all keys, for all threads of a trial.
pub(crate) struct Lives {
    pub(crate) expires: Expires,
    began: Instant,
    keys: SharedMap<LivingKey>,
    expired: AtomicU64,
}

/// The life of a key.
struct LivingKey {
    key: Box<[u8]>,
    span: Mutex<Span>,
}

/// What is known of it.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Counts the beginnings and ends of writes.
    turn: u64,
    /// Writes under way.
    flying: u32,
    /// When it may be gone.
    over_from_ns: u64,
    /// Until when it may be there.
    over_until_ns: u64,
}

/// The life of a key when something was asked of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Glimpse {
    asked_ns: u64,
    known: Option<Span>,
}

/// What is right of a key that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// Its time may be over.
    Right,
    /// Its time is over only this number of nanoseconds later.
    Early(u64),
    /// It has no time to live.
    NoTime,
}

impl Glimpse {
    /// Returns the life before a write that found nothing, for it to be judged as a read is.
    pub(crate) fn as_reader(self) -> Glimpse {
        Glimpse { known: self.known.map(|before| Span { turn: before.turn + 2, ..before }), ..self }
    }
}

impl Keyed for LivingKey {
    fn named(key: &[u8]) -> LivingKey {
        let span = Span { turn: 0, flying: 0, over_from_ns: LASTS, over_until_ns: LASTS };
        LivingKey { key: key.into(), span: Mutex::new(span) }
    }

    fn key(&self) -> &[u8] {
        &self.key
    }
}

impl LivingKey {
    fn span(&self) -> MutexGuard<'_, Span> {
        self.span.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lives {
    pub(crate) fn new(expires: Expires) -> Lives {
        Lives { expires, began: Instant::now(), keys: SharedMap::default(), expired: AtomicU64::new(0) }
    }

    fn now_ns(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Returns the number of reads of values whose time was over.
    pub(crate) fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }

    /// Replaces `out` by the value with its moment behind it. Without a time to live it lasts.
    pub(crate) fn seal(&self, value: &[u8], ttl_ms: Option<u64>, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(value);
        let over_ns = ttl_ms.map_or(LASTS, |ttl_ms| self.now_ns() + ttl_ms * 1_000_000);
        push_moment(over_ns, out);
    }

    /// Returns a value without its moment; `None`: its time is over. One that was not written with a moment comes back as it is.
    pub(crate) fn opened<'v>(&self, value: &'v [u8]) -> Option<&'v [u8]> {
        alive(value, self.now_ns())
    }

    /// Returns the milliseconds that a value with its moment behind it has left, or that it lasts; `None`: its time is over.
    pub(crate) fn left_of(&self, sealed: &[u8]) -> Option<i64> {
        let over_ns = sealed.last_chunk().map_or(LASTS, |over_ns| u64::from_le_bytes(*over_ns));
        match over_ns.checked_sub(self.now_ns()) {
            _ if over_ns == LASTS => Some(store::LASTS),
            None | Some(0) => None,
            Some(left_ns) => Some(left_ns.div_ceil(1_000_000) as i64),
        }
    }

    /// Returns the time left of a key on a store that keeps nothing, as one would tell it that does; `None`: it has none.
    pub(crate) fn left_for(&self, key: &[u8]) -> Option<i64> {
        let over_ns = self.keys.find(key).map(|life| life.span().over_from_ns).filter(|over_ns| *over_ns != LASTS)?;
        over_ns.checked_sub(self.now_ns()).map(|left_ns| left_ns.div_ceil(1_000_000) as i64)
    }

    /// Judges the time left that a store tells of a key that is there; returns what it must tell.
    pub(crate) fn wrong_left(&self, key: &[u8], moment: Glimpse, left_ms: i64) -> Option<String> {
        let (asked, now) = (moment.known?, *self.keys.find(key)?.span());
        let is_known = asked.turn == now.turn && asked.flying == 0;
        let (from_ns, until_ns) = (asked.over_from_ns, asked.over_until_ns);
        match (is_known, from_ns, until_ns) {
            (false, ..) | (_, 0, LASTS) => None,
            (_, LASTS, LASTS) => (left_ms != store::LASTS).then(|| "it has no time to live".into()),
            _ => {
                let grain_ms = self.expires.grain_ms();
                let least_ms = (from_ns.saturating_sub(self.now_ns()) / 1_000_000).saturating_sub(grain_ms);
                let most_ms = until_ns.saturating_sub(moment.asked_ns) / 1_000_000 + grain_ms + 1;
                let is_right = (left_ms == store::LASTS && until_ns == LASTS)
                    || u64::try_from(left_ms).is_ok_and(|left_ms| (least_ms..=most_ms).contains(&left_ms));
                (!is_right).then(|| format!("{least_ms} to {most_ms} ms are left"))
            }
        }
    }

    /// Returns the life of a key at the end, when nothing is under way.
    pub(crate) fn last(&self, key: &[u8]) -> Glimpse {
        Glimpse { asked_ns: self.now_ns(), known: self.keys.find(key).map(|life| *life.span()) }
    }

    /// Judges that a key was not there which holds a value, as far as is known without its time.
    pub(crate) fn absent(&self, key: &[u8], moment: Glimpse) -> Absence {
        let (Some(asked), Some(now)) = (moment.known, self.keys.find(key).map(|life| *life.span())) else {
            return Absence::NoTime;
        };
        let over_ns = asked.over_from_ns.min(now.over_from_ns);
        match over_ns.checked_sub(self.now_ns()) {
            _ if asked.turn != now.turn || asked.flying > 0 => Absence::Right,
            _ if over_ns == LASTS => Absence::NoTime,
            None | Some(0) => {
                self.expired.fetch_add(1, Ordering::Relaxed);
                Absence::Right
            }
            Some(before_ns) => Absence::Early(before_ns + self.expires.slack_ns().0),
        }
    }

    /// Judges that a key was there; returns by how much that was too late, in nanoseconds.
    pub(crate) fn late_ns(&self, key: &[u8], moment: Glimpse) -> Option<u64> {
        let (asked, now) = (moment.known?, *self.keys.find(key)?.span());
        let is_quiet = asked.turn == now.turn && asked.flying == 0 && asked.over_until_ns != LASTS;
        let after_ns = moment.asked_ns.checked_sub(asked.over_until_ns).filter(|_| is_quiet)?;
        (after_ns > 0 && self.expires != Expires::ByReader).then(|| after_ns + self.expires.slack_ns().1)
    }
}

/// The lives of keys as one thread uses them.
pub(crate) struct ThreadLives<'a> {
    pub(crate) all: &'a Lives,
    met: Met<LivingKey>,
}

impl<'a> ThreadLives<'a> {
    pub(crate) fn new(all: &'a Lives) -> ThreadLives<'a> {
        ThreadLives { all, met: Met::default() }
    }

    /// Returns the life of a key that is about to be read.
    pub(crate) fn asks(&mut self, key: &[u8]) -> Glimpse {
        let asked_ns = self.all.now_ns();
        Glimpse { asked_ns, known: self.met.find(&self.all.keys, key).map(|life| *life.span()) }
    }

    /// Notes that a write of a key is about to be sent, and returns the key's life before.
    pub(crate) fn starts(&mut self, key: &[u8]) -> Glimpse {
        let asked_ns = self.all.now_ns();
        let mut span = self.met.make(&self.all.keys, key).span();
        let before = *span;
        (span.turn, span.flying) = (span.turn + 1, span.flying + 1);
        Glimpse { asked_ns, known: Some(before) }
    }

    /// Notes that a write was acknowledged, after which the key lives for so long; without a time to live it lasts, or is gone.
    pub(crate) fn ends(&mut self, key: &[u8], moment: Glimpse, ttl_ms: Option<u64>) {
        let (early_ns, late_ns) = self.all.expires.slack_ns();
        let now_ns = self.all.now_ns();
        let (from_ns, until_ns) = match ttl_ms {
            None => (LASTS, LASTS),
            Some(ttl_ms) => {
                let ttl_ns = ttl_ms * 1_000_000;
                ((moment.asked_ns + ttl_ns).saturating_sub(early_ns), now_ns + ttl_ns + late_ns)
            }
        };
        let mut span = self.met.make(&self.all.keys, key).span();
        (span.turn, span.flying) = (span.turn + 1, span.flying.saturating_sub(1));
        let is_alone = span.flying == 0 && moment.known.is_some_and(|before| before.turn + 2 == span.turn);
        (span.over_from_ns, span.over_until_ns) = match is_alone {
            true => (from_ns, until_ns),
            false => (span.over_from_ns.min(from_ns), span.over_until_ns.max(until_ns)),
        };
    }

    /// Notes that a write changed nothing.
    pub(crate) fn withdraws(&mut self, key: &[u8]) {
        let mut span = self.met.make(&self.all.keys, key).span();
        (span.turn, span.flying) = (span.turn + 1, span.flying.saturating_sub(1));
    }

    /// Notes that nobody knows whether a write took effect: the key may go at any time, or last.
    #[cold]
    pub(crate) fn doubts(&mut self, key: &[u8]) {
        let mut span = self.met.make(&self.all.keys, key).span();
        (span.turn, span.flying) = (span.turn + 1, span.flying.saturating_sub(1));
        (span.over_from_ns, span.over_until_ns) = (0, LASTS);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Absence, Expires, Lives, ThreadLives};
    use std::time::Duration;
    use store::Expiry;

    fn lives() -> Lives {
        Lives::new(Expires::InStore(Expiry { early_ms: 0, late_ms: 0, ..Expiry::IN_MS }))
    }

    #[test]
    fn a_key_must_be_there_before_its_time_and_gone_behind_it() {
        let all = lives();
        let mut lives = ThreadLives::new(&all);
        let write = lives.starts(b"k");
        lives.ends(b"k", write, Some(30));
        let asked = lives.asks(b"k");
        assert!(matches!(all.absent(b"k", asked), Absence::Early(_)));
        assert_eq!(all.late_ns(b"k", asked), None);
        std::thread::sleep(Duration::from_millis(40));
        let asked = lives.asks(b"k");
        assert_eq!((all.absent(b"k", asked), all.expired()), (Absence::Right, 1));
        assert!(all.late_ns(b"k", asked).unwrap() > 0);
    }

    #[test]
    fn a_put_without_a_time_lasts_and_while_it_is_under_way_either_is_right() {
        let all = lives();
        let mut lives = ThreadLives::new(&all);
        let write = lives.starts(b"k");
        lives.ends(b"k", write, Some(1));
        std::thread::sleep(Duration::from_millis(3));
        let put = lives.starts(b"k");
        let meanwhile = lives.asks(b"k");
        assert_eq!((all.absent(b"k", meanwhile), all.late_ns(b"k", meanwhile)), (Absence::Right, None));
        lives.ends(b"k", put, None);
        assert_eq!((all.absent(b"k", meanwhile), all.late_ns(b"k", meanwhile)), (Absence::Right, None));
        let asked = lives.asks(b"k");
        assert_eq!((all.absent(b"k", asked), all.late_ns(b"k", asked)), (Absence::NoTime, None));
        assert_eq!(all.absent(b"other", lives.asks(b"other")), Absence::NoTime);
    }

    #[test]
    fn of_two_writes_at_once_the_shorter_may_end_it_and_the_longer_may_keep_it() {
        let all = lives();
        let (mut one, mut two) = (ThreadLives::new(&all), ThreadLives::new(&all));
        let (first, second) = (one.starts(b"k"), two.starts(b"k"));
        one.ends(b"k", first, Some(1));
        two.ends(b"k", second, Some(60_000));
        std::thread::sleep(Duration::from_millis(3));
        let asked = one.asks(b"k");
        assert_eq!((all.absent(b"k", asked), all.late_ns(b"k", asked)), (Absence::Right, None));
        let third = one.starts(b"k");
        one.ends(b"k", third, Some(60_000));
        assert!(matches!(all.absent(b"k", one.asks(b"k")), Absence::Early(_)));
    }

    #[test]
    fn a_write_in_doubt_makes_everything_right() {
        let all = lives();
        let mut lives = ThreadLives::new(&all);
        let write = lives.starts(b"k");
        lives.ends(b"k", write, Some(60_000));
        lives.starts(b"k");
        lives.doubts(b"k");
        let asked = lives.asks(b"k");
        assert_eq!((all.absent(b"k", asked), all.late_ns(b"k", asked)), (Absence::Right, None));
    }

    #[test]
    fn a_sealed_value_opens_before_its_moment_and_not_behind_it() {
        let all = Lives::new(Expires::ByReader);
        let mut sealed = Vec::new();
        all.seal(b"value", None, &mut sealed);
        assert_eq!(all.opened(&sealed), Some(&b"value"[..]));
        all.seal(b"value", Some(60_000), &mut sealed);
        assert_eq!(all.opened(&sealed), Some(&b"value"[..]));
        all.seal(b"", Some(0), &mut sealed);
        assert_eq!((all.opened(&sealed), all.opened(b"short")), (None, Some(&b"short"[..])));
    }
}
