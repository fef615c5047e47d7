//! The time of a phase, as one thread sees it.

use measure::{Clock, Ticks};
use std::time::Duration;

/// Waits are cut short by this much and finished by looking at the clock: sleeps wake late, clocks do not.
const SPIN: Duration = Duration::from_micros(60);
/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(100);

/// The clock, and what is due by it.
pub(super) struct Time {
    pub(super) clock: Clock,
    /// When the clock was last looked at.
    pub(super) now: Ticks,
    /// When the time given is over: never, where none is given. Before the start: the time given.
    pub(super) end: Ticks,
    /// Operations answered within the time given, once that is over.
    pub(super) in_time: Option<u64>,
    /// When deadlines are looked at next.
    pub(super) next_scan: Ticks,
    pub(super) spin: Ticks,
    pub(super) tick: Ticks,
}

impl Time {
    /// The time of a phase that has not begun.
    pub(super) fn new(clock: Clock, given: Option<Duration>) -> Time {
        Time {
            now: 0,
            end: given.map_or(Ticks::MAX, |given| clock.ticks(given)),
            in_time: None,
            next_scan: 0,
            spin: clock.ticks(SPIN),
            tick: clock.ticks(TICK),
            clock,
        }
    }

    /// Begins now, in a phase that began at `origin`.
    pub(super) fn start(&mut self, origin: Ticks) {
        self.look();
        self.end = origin.saturating_add(self.end);
        self.next_scan = self.now + self.tick;
    }

    /// Looks at the clock.
    #[inline(always)]
    pub(super) fn look(&mut self) {
        self.now = self.clock.now();
    }

    /// Whether the time given has run out, and nobody has noted that yet.
    #[inline(always)]
    pub(super) fn has_just_ended(&self) -> bool {
        self.now >= self.end && self.in_time.is_none()
    }
}
