//! Which parts of the key space had no answers, and when: measured where nodes fail on purpose.
//!
//! A part is dark from the first operation on it that is not answered well until the next that is: from the time that one was sent, if all
//! before were answered, else from the last good answer. So it does not depend on how many clients there are, nor on what they do meanwhile,
//! nor on whose operation is answered first when it is over; a part that is not asked for is not dark.

use measure::{Clock, Ticks};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Shorter than this is not dark: a busy machine pauses for as long.
const SHORTEST: Duration = Duration::from_millis(50);

/// Most times kept of one thread.
const MOST: usize = 1000;

/// The part of an operation that is not on one key: none.
pub(crate) const NO_PART: u16 = u16::MAX;

const NEVER: Ticks = Ticks::MAX;

/// The state of the parts, as all threads of a phase know it.
pub(crate) struct Lights {
    parts: Vec<Light>,
    shares: Vec<f64>,
    shortest: Ticks,
}

/// One part, on a line of memory of its own.
#[repr(align(128))]
struct Light {
    /// The last good answer.
    good: AtomicU64,
    /// Since when operations have failed without a good answer.
    failing: AtomicU64,
    /// The latest time without a good answer that was long enough: from when ...
    silent_from: AtomicU64,
    /// ... until when, and 0 before the first.
    silent_until: AtomicU64,
    /// The time at which the first operation was sent, of those answered so far, that waited in that time.
    waited_from: AtomicU64,
}

/// A time without answers, by this process's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    part: u16,
    from: Ticks,
    until: Ticks,
}

/// A part of the key space, and a time in which nothing was answered there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Darkness {
    /// The part: what one node served at first.
    pub part: u16,
    /// The part's share of all keys.
    pub share: f64,
    /// The start of the dark time, since the phase began.
    pub from_ns: u64,
    /// The end of the dark time: a good answer, or the end of the phase.
    pub until_ns: u64,
}

impl Lights {
    /// Parts with these shares of the keys.
    pub(crate) fn of(shares: Vec<f64>, clock: &Clock, now: Ticks) -> Lights {
        let light = |_: &f64| Light {
            good: AtomicU64::new(now),
            failing: AtomicU64::new(NEVER),
            silent_from: AtomicU64::new(0),
            silent_until: AtomicU64::new(0),
            waited_from: AtomicU64::new(NEVER),
        };
        Lights { parts: shares.iter().map(light).collect(), shares, shortest: clock.ticks(SHORTEST) }
    }

    /// Notes that an operation that was sent at `sent` was answered well just now, and the time before that answer.
    #[inline]
    pub(crate) fn good(&self, part: u16, sent: Ticks, now: Ticks, gaps: &mut Vec<Gap>) {
        let Some(light) = self.parts.get(usize::from(part)) else { return };
        let last = light.good.fetch_max(now, Ordering::Relaxed);
        let mut from = sent;
        if light.failing.load(Ordering::Relaxed) != NEVER {
            from = from.min(light.failing.swap(NEVER, Ordering::Relaxed));
        }
        if now.saturating_sub(last) >= self.shortest {
            let from = from.max(last);
            light.silent_from.store(last, Ordering::Relaxed);
            light.waited_from.store(from, Ordering::Relaxed);
            light.silent_until.store(now, Ordering::Release);
            self.note(Gap { part, from, until: now }, gaps);
        } else if sent < light.silent_until.load(Ordering::Acquire) {
            self.waited(part, light, sent, gaps);
        }
    }

    /// An operation was answered that others overtook when a time without answers ended: it may have waited longer than they.
    #[cold]
    fn waited(&self, part: u16, light: &Light, sent: Ticks, gaps: &mut Vec<Gap>) {
        let until = light.silent_until.load(Ordering::Acquire);
        let from = sent.max(light.silent_from.load(Ordering::Relaxed));
        if from < light.waited_from.fetch_min(from, Ordering::Relaxed) {
            self.note(Gap { part, from, until }, gaps);
        }
    }

    fn note(&self, gap: Gap, gaps: &mut Vec<Gap>) {
        if gap.until.saturating_sub(gap.from) >= self.shortest && gaps.len() < MOST {
            gaps.push(gap);
        }
    }

    /// Notes that an operation that was sent at `sent` has failed.
    #[cold]
    pub(crate) fn failed(&self, part: u16, sent: Ticks) {
        let Some(light) = self.parts.get(usize::from(part)) else { return };
        light.failing.fetch_min(sent.max(light.good.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    /// Returns the dark times that were noted, and the ones that still lasted when the phase ended, in order of time.
    pub(crate) fn seen(&self, mut gaps: Vec<Gap>, clock: &Clock, begin: Ticks, stop: Ticks) -> Vec<Darkness> {
        for (part, light) in self.parts.iter().enumerate() {
            let from = light.failing.load(Ordering::Relaxed);
            if from != NEVER && stop.saturating_sub(from) >= self.shortest {
                gaps.push(Gap { part: part as u16, from, until: stop });
            }
        }
        // Of one time that several operations waited in the first of them counts.
        gaps.sort_unstable_by_key(|gap| (gap.part, gap.until, gap.from));
        gaps.dedup_by_key(|gap| (gap.part, gap.until));
        gaps.sort_unstable_by_key(|gap| (gap.from, gap.part));
        let after = |at: Ticks| clock.ns(at.saturating_sub(begin));
        let darkness = |gap: Gap| Darkness {
            part: gap.part,
            share: self.shares[usize::from(gap.part)],
            from_ns: after(gap.from),
            until_ns: after(gap.until),
        };
        gaps.into_iter().map(darkness).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Lights;
    use measure::Clock;
    use std::time::Duration;

    #[test]
    fn a_part_is_dark_from_the_first_operation_that_fails_to_the_next_that_does_not() {
        let clock = Clock::get();
        let ms = |count: u64| clock.ticks(Duration::from_millis(count));
        let lights = Lights::of(vec![0.25, 0.75], &clock, 0);
        let mut gaps = [Vec::new(), Vec::new()];
        // The first part: answered at 100, failed from 101 on, answered at 601 to one thread and at 602 to another.
        lights.good(0, ms(99), ms(100), &mut gaps[0]);
        lights.failed(0, ms(101));
        lights.failed(0, ms(300));
        lights.good(0, ms(600), ms(601), &mut gaps[0]);
        lights.good(0, ms(102), ms(602), &mut gaps[1]);
        // The second: of three that wait together the last two are answered first, by two threads; then one takes long alone, then one while
        // another is answered; and nothing comes after 2000.
        lights.good(1, ms(300), ms(400), &mut gaps[1]);
        lights.good(1, ms(30), ms(404), &mut gaps[1]);
        lights.good(1, ms(10), ms(405), &mut gaps[0]);
        lights.good(1, ms(20), ms(406), &mut gaps[0]);
        lights.good(1, ms(1000), ms(1500), &mut gaps[1]);
        lights.good(1, ms(1510), ms(1520), &mut gaps[1]);
        lights.good(1, ms(1505), ms(1590), &mut gaps[1]);
        lights.failed(1, ms(2000));
        let all = gaps.concat();
        let seen = lights.seen(all, &clock, 0, ms(2500));
        let times: Vec<(u16, u64, u64)> =
            seen.iter().map(|it| (it.part, it.from_ns / 1_000_000, it.until_ns.div_ceil(1_000_000))).collect();
        let close = |(part, from, until): (u16, u64, u64), expected: (u16, u64, u64)| {
            part == expected.0 && from.abs_diff(expected.1) <= 1 && until.abs_diff(expected.2) <= 1
        };
        let expected = [(1, 10, 400), (0, 101, 601), (1, 1000, 1500), (1, 1520, 1590), (1, 2000, 2500)];
        assert_eq!(times.len(), expected.len(), "{times:?}");
        assert!(times.iter().zip(expected).all(|(seen, expected)| close(*seen, expected)), "{times:?}");
        assert_eq!((seen[0].share, seen[1].share), (0.75, 0.25));
    }
}
