//! One thread's loop: slots, what they do next, when it is due, and what the replies were.

mod closed;
mod open;
mod patience;
mod replies;
mod sampling;
mod slots;
mod time;

use crate::dark::{Gap, Lights, NO_PART};
use crate::growth::Growth;
use crate::outcome::End;
use crate::pulse::Pulse;
use crate::schedule::{Next, Schedule};
use crate::settings::Settings;
use jobkit::{Books, Worker};
use measure::{Clock, Live, Series, Ticks};
use open::Open;
use patience::Patience;
use sampling::Sampling;
use slots::{Flight, InFlight, Slots};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use store::{Failure, Operation, Reply, Session, Slot, StoreError, Until};
use time::Time;

/// State shared between the threads of a phase and its watcher.
pub(crate) struct Signals<'a> {
    pub(crate) stop: &'a AtomicBool,
    pub(crate) live: &'a Live,
    /// This thread's signs of life.
    pub(crate) pulse: &'a Pulse,
}

/// One thread's loop.
pub(crate) struct Lane<'a> {
    job: Box<dyn Worker + 'a>,
    signals: Signals<'a>,
    time: Time,
    slots: Slots,
    sampling: Sampling,
    patience: Patience,
    /// Where nodes fail on purpose.
    dark: Option<Dark<'a>>,
    /// Under open loop.
    open: Option<Open<'a>>,
    /// Whether the job has no more work for this thread.
    pub(crate) ran_out: bool,
    /// Operations the watcher knows of.
    published: u64,
    pub(crate) books: Books<'a>,
    pub(crate) growth: Growth,
}

/// What is seen of the parts of the key space.
struct Dark<'a> {
    lights: &'a Lights,
    gaps: Vec<Gap>,
}

impl<'a> Lane<'a> {
    pub(crate) fn new(
        job: Box<dyn Worker + 'a>,
        slots: u32,
        settings: &Settings,
        signals: Signals<'a>,
        lights: Option<&'a Lights>,
        schedule: Option<&'a Schedule>,
        growth: Growth,
    ) -> Lane<'a> {
        let clock = Clock::get();
        Lane {
            time: Time::new(clock, settings.duration),
            slots: Slots::new(slots),
            sampling: Sampling::new(settings.timing.one_in(), job.think()),
            patience: Patience::new(settings, &clock),
            dark: lights.map(|lights| Dark { lights, gaps: Vec::new() }),
            open: schedule.map(|schedule| Open::new(schedule, job.arrivals())),
            job,
            ran_out: false,
            published: 0,
            books: Books::new(Series::new(&clock, 0), signals.live),
            signals,
            growth,
        }
    }

    /// Switches the clock on; the phase began at `origin`. Returns the time of this thread's start.
    pub(crate) fn start(&mut self, origin: Ticks) -> Ticks {
        self.time.start(origin);
        let now = self.time.now;
        self.books.series = Series::new(&self.time.clock, now);
        self.growth.begin(now);
        if let Some(open) = &mut self.open {
            open.start(now, self.time.end.saturating_add(self.patience.deadline));
        }
        now
    }

    /// Returns when the last reply came under open loop; 0 under closed loop.
    pub(crate) fn last_reply(&self) -> Ticks {
        self.open.as_ref().map_or(0, |open| open.last_reply)
    }

    /// Returns whether nothing is in flight on the session any more, though the phase did not come to its end.
    pub(crate) fn gave_all_up(&self) -> bool {
        self.patience.endured.as_ref().is_some_and(|endured| endured.gave_all_up)
    }

    /// Returns the times in which parts of the key space had no answers.
    pub(crate) fn take_gaps(&mut self) -> Vec<Gap> {
        self.dark.as_mut().map(|dark| std::mem::take(&mut dark.gaps)).unwrap_or_default()
    }

    /// Runs until the phase ends or the session has to be waited for.
    pub(crate) fn turn(&mut self, session: &mut dyn Session, cx: &mut Context<'_>) -> Poll<Result<End, StoreError>> {
        loop {
            if let Some(end) = self.dispatch(session)? {
                return Poll::Ready(Ok(end));
            }
            let until = self.until();
            match session.poll(cx, until, self) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(result) => result?,
            }
            if until == Until::Now && self.slots.active == 0 && self.slots.ready.is_empty() {
                std::thread::yield_now(); // every slot waits for a lock another thread holds
            }
        }
    }

    /// Gives work to every slot that can take some. `Some` when the phase is over.
    fn dispatch(&mut self, session: &mut dyn Session) -> Result<Option<End>, StoreError> {
        self.publish();
        self.signals.pulse.beat();
        if self.signals.stop.load(Ordering::Relaxed) {
            return Ok(Some(End::Interrupted));
        }
        self.slots.ready.extend(self.slots.waiting.drain(..));
        self.time.look();
        self.job.time_is(self.time.now);
        let is_lost = self.patience.is_over(self.books.lost_in_a_row, self.time.now);
        if is_lost || self.time.now >= self.time.next_scan && self.too_long(session) {
            if self.patience.endured.is_some() {
                self.leave_off(session);
            }
            return Ok(Some(End::Unanswered));
        }
        if self.time.has_just_ended() {
            self.end_time(None);
        }
        match self.open.take() {
            Some(mut open) => {
                let sent = self.dispatch_due(session, &mut open);
                self.open = Some(open);
                sent?;
            }
            None => self.dispatch_ready(session)?,
        }
        self.stamp_submitted();
        if self.slots.active == 0 && self.slots.waiting.is_empty() && self.is_over() {
            return Ok(Some(End::Completed));
        }
        Ok(None)
    }

    /// The time given is over: what is answered from now on is late, and so was the last reply to `late`.
    #[cold]
    fn end_time(&mut self, late: Option<Slot>) {
        self.time.in_time = Some(self.books.counts.answered().saturating_sub(late.is_some().into()));
        self.job.time_is_over(late);
    }

    /// Whether nothing more will be sent, given that nothing is in flight.
    fn is_over(&mut self) -> bool {
        if self.slots.ready.is_empty() {
            self.ran_out = true; // the job has sent all it had, however long the schedule would go on
            return true;
        }
        match &self.open {
            None => self.time.now >= self.time.end,
            Some(open) => open.is_over(self.time.now),
        }
    }

    /// How long the next poll may wait.
    fn until(&self) -> Until {
        let Slots { active, ready, waiting, .. } = &self.slots;
        let Time { clock, now, end, next_scan, spin, tick, .. } = self.time;
        if *active == 0 && (!waiting.is_empty() || self.open.is_none()) {
            return Until::Now;
        }
        let Some(open) = &self.open else {
            // Nothing is due at a time: a wait that is long enough lets a bridge simply block. The end of the time ends the loop.
            return Until::At(clock.instant((now + tick).min(end.max(now + spin))));
        };
        // What was due within the time is still to be sent after its end.
        let at = next_scan.max(now);
        Until::At(clock.instant(match &open.arrival {
            Next::Held(held) if held.due.saturating_sub(spin) <= now => return Until::Now,
            Next::Held(held) => at.min(held.due - spin),
            Next::Perhaps(again) => at.min(*again),
            Next::Unknown if !ready.is_empty() => return Until::Now,
            Next::Unknown | Next::Over => at,
        }))
    }

    /// Looks for operations that have had their time. Where that is less than the deadline they fail, and the phase goes on; true when one
    /// has waited for as long as any may. The job hears of each.
    #[cold]
    fn too_long(&mut self, session: &mut dyn Session) -> bool {
        let (now, deadline, timeout) = (self.time.now, self.patience.deadline, self.patience.timeout());
        self.time.next_scan = now + self.time.tick.min(timeout.unwrap_or(deadline) / 4 + 1);
        if let Some(timeout) = timeout {
            for slot in 0..self.slots.in_flight.len() {
                if self.slots.in_flight[slot].waited(now) > timeout {
                    session.abandon(slot as Slot, self); // where it cannot, the deadline still ends the phase
                }
            }
        }
        self.fail_in_flight(|state| state.waited(now) > deadline)
    }

    /// Ends the phase, so that what it left can be read on the same session: a new one may need nodes that are down.
    #[cold]
    fn leave_off(&mut self, session: &mut dyn Session) {
        for slot in 0..self.slots.in_flight.len() {
            if self.slots.in_flight[slot].flight != Flight::Nothing {
                session.abandon(slot as Slot, self);
            }
        }
        // What is read back then is held against what may have happened.
        let gave_all_up = !self.fail_in_flight(|_| true);
        if let Some(endured) = &mut self.patience.endured {
            endured.gave_all_up = gave_all_up;
        }
        self.job.leave_off();
    }

    /// Fails what is in flight, as far as it `is_over`; whether there was any.
    #[cold]
    fn fail_in_flight(&mut self, is_over: impl Fn(&InFlight) -> bool) -> bool {
        let mut any = false;
        for slot in 0..self.slots.in_flight.len() {
            let state = self.slots.in_flight[slot];
            if state.flight != Flight::Nothing && is_over(&state) {
                self.slots.in_flight[slot].flight = Flight::Nothing;
                self.slots.active -= 1;
                if let Some(dark) = &self.dark {
                    dark.lights.failed(state.part, state.sent);
                }
                let reply = Reply::Failed(Failure::Deadline);
                match state.flight {
                    Flight::Check => self.checked(slot as Slot, &reply),
                    _ => {
                        if state.timed {
                            self.books.fail(state.kind, self.time.now);
                        }
                        self.complete(slot as Slot, state.kind, &reply);
                    }
                }
                any = true;
            }
        }
        any
    }

    /// Lets the watcher know how far this thread is.
    #[inline]
    fn publish(&mut self) {
        let new = self.books.counts.operations - self.published;
        if new > 0 {
            self.signals.live.add_operations(new);
            self.published = self.books.counts.operations;
        }
    }
}

/// The part of the key space an operation is in, where that is asked for.
#[inline]
fn part_of(dark: Option<&Dark<'_>>, session: &dyn Session, operation: &Operation<'_>) -> u16 {
    match (dark, operation.key()) {
        (Some(_), Some(key)) => session.part(key),
        _ => NO_PART,
    }
}
