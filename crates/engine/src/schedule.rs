//! When operations are due under open loop: one process of arrivals, whatever the threads.

mod gaps;

use crate::outcome::{End, Offered};
use crate::settings::{Arrivals, Settings};
use gaps::Gaps;
use measure::{Clock, Ticks};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The arrivals of a phase, shared by its threads. A thread with a free slot takes the next arrival, waits until that is due, and sends; so
/// every thread helps wherever there is work, and an uneven share of the work slows no arrival down. Due times depend on the start and the
/// seed alone, never on threads or replies.
pub(crate) struct Schedule {
    clock: Clock,
    /// The rate of this process.
    ops_per_s: f64,
    /// The time given, from the start.
    duration: Option<Ticks>,
    state: Mutex<State>,
}

struct State {
    origin: Ticks,
    gaps: Gaps,
    /// Arrivals that threads hold.
    held: u32,
    /// When the last that was handed out is due.
    last_taken: Ticks,
    /// Arrivals that were given back, the earliest last.
    returned: Vec<Ticks>,
    sent: u64,
    /// When the latest that was sent was due, and when the last was sent.
    last_due: Ticks,
    last_sent: Ticks,
}

/// An arrival that a thread holds: it is sent, or goes to another thread when dropped.
pub(crate) struct Arrival<'a> {
    schedule: &'a Schedule,
    /// When it is due.
    pub(crate) due: Ticks,
}

impl Arrival<'_> {
    /// Notes that the arrival has been sent.
    pub(crate) fn sent(self, now: Ticks) {
        let state = &mut *self.schedule.state();
        state.held -= 1;
        state.sent += 1;
        state.last_due = state.last_due.max(self.due);
        state.last_sent = state.last_sent.max(now);
        std::mem::forget(self);
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        let state = &mut *self.schedule.state();
        state.held -= 1;
        if let Gaps::Recorded = state.gaps {
            return; // it is that of one operation, which its thread asks for again
        }
        state.returned.push(self.due);
        state.returned.sort_unstable_by(|one, other| other.cmp(one));
    }
}

/// The next arrival, as far as a thread knows.
pub(crate) enum Next<'a> {
    /// It has not asked.
    Unknown,
    /// It holds this one.
    Held(Arrival<'a>),
    /// Nothing is left, but other threads hold arrivals, which they may give back: ask again then.
    Perhaps(Ticks),
    /// Every arrival of the time given was sent.
    Over,
}

/// How soon a thread asks again while another holds an arrival that is overdue.
const ASK_AGAIN: Duration = Duration::from_millis(1);

impl Schedule {
    /// Makes the arrivals of a phase; `None` under closed loop.
    pub(crate) fn new(settings: &Settings, clock: &Clock) -> Option<Schedule> {
        let ops_per_s = match settings.arrivals {
            Arrivals::Closed => return None,
            Arrivals::Recorded => 0.0,
            Arrivals::Fixed { ops_per_s } | Arrivals::Poisson { ops_per_s } => ops_per_s * settings.share().fraction(),
        };
        let gaps = Gaps::new(settings, clock)?;
        let returned = Vec::with_capacity(16);
        let state = State { origin: 0, gaps, held: 0, last_taken: 0, returned, sent: 0, last_due: 0, last_sent: 0 };
        let duration = settings.duration.map(|duration| clock.ticks(duration));
        Some(Schedule { clock: *clock, ops_per_s, duration, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the clock. Called before any thread takes an arrival.
    pub(crate) fn start(&self, now: Ticks) {
        let mut state = self.state();
        (state.origin, state.last_due, state.last_sent) = (now, now, now);
    }

    /// Hands out the next arrival, first those that were given back.
    pub(crate) fn take(&self, now: Ticks) -> Next<'_> {
        let state = &mut *self.state();
        let due = match state.returned.pop() {
            Some(due) => due,
            None if state.gaps.has_next() => {
                let due = state.origin + state.gaps.due() as Ticks;
                state.gaps.step();
                state.last_taken = due;
                due
            }
            None if state.held > 0 => {
                return Next::Perhaps(state.last_taken.max(now) + self.clock.ticks(ASK_AGAIN));
            }
            None => return Next::Over,
        };
        state.held += 1;
        Next::Held(Arrival { schedule: self, due })
    }

    /// Returns whether each operation is due when the job says.
    pub(crate) fn is_recorded(&self) -> bool {
        matches!(self.state().gaps, Gaps::Recorded)
    }

    /// Returns the arrival of an operation that is due that long after the start.
    pub(crate) fn hold(&self, due: Duration) -> Arrival<'_> {
        let state = &mut *self.state();
        state.held += 1;
        Arrival { schedule: self, due: state.origin + self.clock.ticks(due) }
    }

    /// Arrivals that were never sent. `end`: how the phase ended; `ran_out`: the job had no more work for any thread; `operations`: how many
    /// the job has; `stop`: when the last thread ended.
    pub(crate) fn not_sent(&self, end: End, ran_out: bool, operations: Option<u64>, stop: Ticks) -> u64 {
        let state = self.state();
        let most = operations.unwrap_or(u64::MAX);
        let owed = match end {
            End::Interrupted => return 0, // the user wanted no more
            End::Completed if ran_out => return 0,
            End::Completed | End::Unanswered => match (self.duration, operations) {
                (None, Some(all)) => all,
                (None, None) => state.due_before(stop).min(most),
                (Some(_), _) => state.due_before(Ticks::MAX).min(most),
            },
        };
        owed.saturating_sub(state.sent)
    }

    /// Returns what was offered, after the phase.
    pub(crate) fn offered(&self, ran_out: bool) -> Offered {
        let state = self.state();
        let duration = |ticks: Ticks| Duration::from_nanos(self.clock.ns(ticks));
        let within = duration(state.lasts(self.duration.filter(|_| !ran_out)));
        Offered {
            asked_per_s: match state.gaps {
                Gaps::Recorded => state.sent as f64 / within.as_secs_f64().max(1e-9),
                Gaps::Fixed { .. } | Gaps::Poisson { .. } => self.ops_per_s,
            },
            sent: state.sent,
            within,
            late: duration(state.last_sent.saturating_sub(state.last_due)),
        }
    }

    /// Returns the time from the start until one more arrival than were sent would be due.
    pub(crate) fn lasts(&self) -> Ticks {
        self.state().lasts(None)
    }
}

impl State {
    /// From the start until one more than were sent would be due; of random arrivals that ended with the time given, that time.
    fn lasts(&self, given: Option<Ticks>) -> Ticks {
        match (&self.gaps, given) {
            (Gaps::Fixed { .. }, _) => self.gaps.behind(self.sent) as Ticks,
            (Gaps::Recorded, _) => self.last_due - self.origin,
            (Gaps::Poisson { .. }, Some(given)) => given,
            (Gaps::Poisson { .. }, None) => {
                let behind = self.origin + self.gaps.behind(self.sent) as Ticks;
                let next = self.returned.iter().copied().fold(behind, Ticks::min);
                next.max(self.last_due) - self.origin
            }
        }
    }

    /// How many arrivals are due before this, sent or not.
    fn due_before(&self, end: Ticks) -> u64 {
        let mut rest = self.gaps.clone();
        let mut count = self.sent + u64::from(self.held) + self.returned.len() as u64;
        if let Gaps::Fixed { number, total, .. } = rest
            && end == Ticks::MAX
        {
            return count + (total - number);
        }
        while rest.has_next() && self.origin + (rest.due() as Ticks) < end {
            rest.step();
            count += 1;
        }
        count
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
