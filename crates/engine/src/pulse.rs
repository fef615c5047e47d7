//! Signs of life of a phase's threads: one that is in a call that never returns gives none.
//!
//! A thread gives a sign each time round its own loop: between operations, and 10 times per second while it waits for replies. Only a
//! call into the store keeps it from that. Where every operation is timed a sign stands between any two that are slow.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time that a thread which could go on may have to wait until it has a processor, for each thread it shares that with.
const SHARE: Duration = Duration::from_millis(10);

/// One thread's signs, on a line of memory of their own.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Pulse(AtomicU64);

impl Pulse {
    /// Notes that the thread is in its loop: one more round.
    #[inline]
    pub(crate) fn beat(&self) {
        // Only this thread writes it: a load and a store do, no atomic addition is needed.
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Lasts as long as the thread may be in its loop.
    pub(crate) fn alive(&self) -> Alive<'_> {
        Alive(self)
    }
}

/// A thread that may be in its loop, until it is dropped: also when the thread panics.
pub(crate) struct Alive<'a>(&'a Pulse);

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Relaxed);
    }
}

/// The watcher's memory of the signs of all threads.
pub(crate) struct Pulses<'a> {
    pulses: &'a [Pulse],
    /// What each was last, and since when.
    seen: Vec<(u64, Instant)>,
    /// How long a thread may have to wait for a processor.
    turn: Duration,
}

impl<'a> Pulses<'a> {
    pub(crate) fn new(pulses: &'a [Pulse], now: Instant) -> Pulses<'a> {
        let cpus = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        Pulses { pulses, seen: vec![(0, now); pulses.len()], turn: SHARE * pulses.len() as u32 / cpus }
    }

    /// Returns how long the most silent of the threads in their loops has given no sign; `None`: no thread is in its loop.
    pub(crate) fn silent(&mut self, now: Instant) -> Option<Duration> {
        let mut longest: Option<Duration> = None;
        for (pulse, seen) in self.pulses.iter().zip(&mut self.seen) {
            let beats = pulse.0.load(Ordering::Relaxed);
            if beats != seen.0 {
                *seen = (beats, now);
            }
            if beats > 0 {
                longest = longest.max(Some(now.saturating_duration_since(seen.1)));
            }
        }
        longest.map(|silent| silent.saturating_sub(self.turn))
    }
}

#[cfg(test)]
mod tests {
    use super::{Pulse, Pulses};
    use std::time::{Duration, Instant};

    #[test]
    fn the_most_silent_thread_counts_and_only_while_it_is_in_its_loop() {
        let pulses = [Pulse::default(), Pulse::default()];
        let (begun, second) = (Instant::now(), Duration::from_secs(1));
        let mut watched = Pulses::new(&pulses, begun);
        let close = |silent: Option<Duration>, expected: Duration| {
            silent.is_some_and(|silent| expected - silent <= Duration::from_millis(20))
        };
        assert_eq!(watched.silent(begun + second), None, "none has begun");
        pulses.iter().for_each(Pulse::beat);
        assert!(close(watched.silent(begun + second * 2), Duration::ZERO));
        pulses[1].beat();
        assert!(close(watched.silent(begun + second * 5), second * 3), "the first was last seen to move at 2 s");
        drop(pulses[0].alive());
        assert!(close(watched.silent(begun + second * 6), second), "the second, at 5 s");
        drop(pulses[1].alive());
        assert_eq!(watched.silent(begun + second * 60), None);
    }
}
