//! The starting line: the clock starts when every thread is ready, and not at all if one cannot run.

use measure::{Clock, Progress, Ticks};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The one who runs a phase, and hears how it goes.
pub trait Watcher {
    /// Hears that every thread stands at the line, and says when the phase begins. Workers that share a trial begin it together: none of
    /// them before this has returned in each.
    fn ready(&mut self) -> Begin {
        Begin::Now
    }

    /// Hears about 10 times per second how far it is.
    fn progress(&mut self, progress: Progress);
}

impl<F: FnMut(Progress)> Watcher for F {
    fn progress(&mut self, progress: Progress) {
        self(progress);
    }
}

/// When a phase begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// At once.
    Now,
    /// Then, by the clock of this process; at once if that is over.
    At(Instant),
}

/// The last of the wait for a start, which a thread with a processor to itself spends awake.
const AWAKE: Duration = Duration::from_micros(200);

/// Waits for the start of a phase that this number of threads begin. The thread sleeps; where each has a processor, it spends the end of the wait awake.
pub(crate) fn wait_until(start: Ticks, clock: &Clock, threads: u32) {
    let wait = Duration::from_nanos(clock.ns(start.saturating_sub(clock.now())));
    if wait.is_zero() {
        return;
    }
    let cpus = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let awake = if threads <= cpus { AWAKE } else { Duration::ZERO };
    std::thread::sleep(wait.saturating_sub(awake));
    while clock.now() < start {
        std::hint::spin_loop();
    }
}

/// The word the threads hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// The phase began then.
    Go(Ticks),
    Abort,
}

#[derive(Default)]
struct State {
    ready: u32,
    failed: u32,
    start: Option<Start>,
}

/// The place where threads wait until all are there.
#[derive(Default)]
pub(crate) struct StartingLine {
    state: Mutex<State>,
    /// Every thread is there. Only the starter waits for it: were all woken by each that arrives, many threads would take the square
    /// of their number of wake-ups.
    complete: Condvar,
    started: Condvar,
}

impl StartingLine {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all `threads` are ready or have failed, then tells them. `go` is asked when the phase begins, if none has failed. Returns
    /// what it said.
    pub(crate) fn start(&self, threads: u32, go: impl FnOnce() -> Ticks) -> Option<Ticks> {
        let mut state = self.lock();
        while state.ready + state.failed < threads && state.start.is_none() {
            state = self.complete.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let begin = (state.failed == 0 && state.start.is_none()).then(go);
        state.start = Some(begin.map_or(Start::Abort, Start::Go));
        self.started.notify_all();
        begin
    }

    /// Sends everybody home, also those who arrive later.
    pub(crate) fn abort(&self) {
        self.lock().start = Some(Start::Abort);
        self.started.notify_all();
        self.complete.notify_one();
    }

    /// Returns a thread's mark at the line; dropped without [`Mark::ready`], it counts as failed.
    pub(crate) fn mark(&self) -> Mark<'_> {
        Mark { line: self, arrived: false }
    }
}

/// One thread's mark at the line.
pub(crate) struct Mark<'a> {
    line: &'a StartingLine,
    arrived: bool,
}

impl Mark<'_> {
    /// Waits for the start.
    pub(crate) fn ready(mut self) -> Start {
        self.arrived = true;
        let mut state = self.line.lock();
        state.ready += 1;
        self.line.complete.notify_one();
        loop {
            match state.start {
                Some(start) => return start,
                None => state = self.line.started.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        if !self.arrived {
            self.line.lock().failed += 1;
            self.line.complete.notify_one();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Start, StartingLine, wait_until};
    use measure::Clock;
    use std::time::Duration;

    #[test]
    fn all_start_when_all_are_ready_and_none_when_one_fails() {
        for failing in [false, true] {
            let line = StartingLine::default();
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| line.mark().ready());
                let other = scope
                    .spawn(|| if failing { drop(line.mark()) } else { assert_eq!(line.mark().ready(), Start::Go(7)) });
                let expected = if failing { Start::Abort } else { Start::Go(7) };
                // When one has failed, not all are ready.
                assert_eq!(line.start(2, || 7), (!failing).then_some(7));
                assert_eq!(waiting.join().unwrap(), expected);
                other.join().unwrap();
            });
        }
    }

    #[test]
    fn nobody_starts_before_the_time_and_nobody_waits_for_one_that_is_over() {
        let clock = Clock::get();
        for threads in [1, 10_000] {
            let start = clock.now() + clock.ticks(Duration::from_millis(5));
            wait_until(start, &clock, threads);
            assert!(clock.now() >= start);
        }
        let begun = clock.now();
        wait_until(begun.saturating_sub(clock.ticks(Duration::from_secs(1))), &clock, 1);
        assert!(clock.ns(clock.now() - begun) < 1_000_000_000);
    }
}
