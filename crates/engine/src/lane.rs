//! One thread's loop: slots, what they do next, when it is due, and what the replies were.

mod closed;
mod open;
mod replies;

use crate::dark::{Gap, Lights, NO_PART};
use crate::growth::Growth;
use crate::outcome::End;
use crate::pulse::Pulse;
use crate::schedule::{Next, Schedule};
use crate::settings::{Outages, Settings};
use job::Books;
use job::{Arriving, Think, Worker};
use measure::Live;
use measure::Series;
use measure::{Clock, Ticks};
use replies::Burst;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use store::{Failure, Operation, OperationKind, Reply, Session, Slot, StoreError, Until};

/// Consecutive lost connections after which a store is given up, if the deadline has not passed before.
const GIVE_UP_AFTER: u32 = 200;
/// Waits are cut short by this much and finished by looking at the clock: sleeps wake late, clocks do not.
const SPIN: Duration = Duration::from_micros(60);
/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(100);

#[derive(Clone, Copy)]
struct InFlight {
    kind: OperationKind,
    timed: bool,
    flight: Flight,
    sent: Ticks,
    due: Ticks,
    /// The part of the key space, where darkness is watched.
    part: u16,
}

impl InFlight {
    /// How long it has waited.
    fn waited(&self, now: Ticks) -> Ticks {
        if self.flight == Flight::Nothing || self.sent == 0 { 0 } else { now.saturating_sub(self.sent) }
    }
}

/// What a slot has in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flight {
    Nothing,
    Operation,
    Check,
}

/// State shared between the threads of a phase and its watcher.
pub(crate) struct Signals<'a> {
    pub(crate) stop: &'a AtomicBool,
    pub(crate) live: &'a Live,
    /// This thread's signs of life.
    pub(crate) pulse: &'a Pulse,
    /// Where nodes fail on purpose.
    pub(crate) lights: Option<&'a Lights>,
    /// Under open loop: what is due.
    pub(crate) schedule: Option<&'a Schedule>,
}

/// One thread's loop.
pub(crate) struct Lane<'a> {
    clock: Clock,
    job: Box<dyn Worker + 'a>,
    signals: Signals<'a>,
    /// One operation in this many is timed.
    every: u32,
    until_timed: u32,
    chained: bool,
    /// Of a job under open loop: what arrives.
    arrivals: Arriving,
    deadline: Ticks,
    /// What an operation may take; less than the deadline where outages are endured.
    timeout: Ticks,
    /// Under open loop: until when what was due within the time may still be sent.
    deadline_end: Ticks,
    spin: Ticks,
    tick: Ticks,
    /// Under open loop: the arrival that the next free slot sends, when it is due.
    arrival: Next<'a>,
    end: Ticks,
    /// Whether the time given is over.
    time_is_over: bool,
    /// Operations answered within the time given, once it is over.
    in_time: Option<u64>,
    /// Whether the job has no more work for this thread.
    pub(crate) ran_out: bool,
    /// When the last reply came.
    pub(crate) last_reply: Ticks,

    in_flight: Vec<InFlight>,
    active: u32,
    ready: VecDeque<Slot>,
    /// Room for the slots that are being given their next operation; empty otherwise.
    sending: VecDeque<Slot>,
    /// Since when a slot has been free, when one is.
    free_since: Ticks,
    waiting: Vec<Slot>,
    submitted: Vec<Slot>,
    now: Ticks,
    next_scan: Ticks,
    /// Whether nodes fail on purpose.
    endures: bool,
    /// Whether nothing is in flight on the session any more, though the phase did not come to its end.
    pub(crate) gave_all_up: bool,
    /// Consecutive lost connections after which the store is given up.
    give_up_after: u32,
    /// While connections are lost: until when a good reply must have come.
    lost_end: Ticks,
    published: u64,
    /// Whether the session answered the last operation at once.
    at_once: bool,
    burst: Burst,

    pub(crate) books: Books<'a>,
    pub(crate) growth: Growth,
    pub(crate) gaps: Vec<Gap>,
}

impl<'a> Lane<'a> {
    pub(crate) fn new(
        job: Box<dyn Worker + 'a>,
        slots: u32,
        settings: &Settings,
        signals: Signals<'a>,
        growth: Growth,
    ) -> Lane<'a> {
        let clock = Clock::get();
        let idle = InFlight {
            kind: OperationKind::Get,
            timed: false,
            flight: Flight::Nothing,
            sent: 0,
            due: 0,
            part: NO_PART,
        };
        Lane {
            chained: job.think() == Think::Free,
            arrivals: job.arrivals(),
            job,
            every: settings.timing.one_in(),
            until_timed: settings.timing.one_in(),
            deadline: clock.ticks(settings.deadline),
            timeout: clock.ticks(settings.timeout()),
            deadline_end: Ticks::MAX,
            spin: clock.ticks(SPIN),
            tick: clock.ticks(TICK),
            arrival: Next::Unknown,
            time_is_over: false,
            in_time: None,
            ran_out: false,
            last_reply: 0,
            end: settings.duration.map_or(Ticks::MAX, |duration| clock.ticks(duration)),
            in_flight: vec![idle; slots as usize],
            active: 0,
            ready: (0..slots).collect(),
            sending: VecDeque::with_capacity(slots as usize),
            free_since: 0,
            waiting: Vec::with_capacity(slots as usize),
            submitted: Vec::with_capacity(slots as usize),
            now: 0,
            next_scan: 0,
            gave_all_up: false,
            endures: matches!(settings.outages, Outages::Endure { .. }),
            give_up_after: match settings.outages {
                Outages::GiveUp => GIVE_UP_AFTER,
                Outages::Endure { .. } => u32::MAX,
            },
            lost_end: Ticks::MAX,
            published: 0,
            at_once: true,
            burst: Burst::NONE,
            books: Books::new(Series::new(&clock, 0), signals.live),
            signals,
            growth,
            gaps: Vec::new(),
            clock,
        }
    }

    /// Switches the clock on; the phase began at `origin`. Returns the time of this thread's start.
    pub(crate) fn start(&mut self, origin: Ticks) -> Ticks {
        let now = self.clock.now();
        (self.now, self.last_reply) = (now, now);
        self.books.series = Series::new(&self.clock, now);
        self.growth.begin(now);
        self.end = origin.saturating_add(self.end);
        self.deadline_end = self.end.saturating_add(self.deadline);
        self.next_scan = now + self.tick;
        now
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
            if until == Until::Now && self.active == 0 && self.ready.is_empty() {
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
        self.ready.extend(self.waiting.drain(..));
        self.now = self.clock.now();
        if self.is_lost() || self.now >= self.next_scan && self.too_long(session) {
            if self.endures {
                self.leave_off(session);
            }
            return Ok(Some(End::Unanswered));
        }
        if self.now >= self.end && !self.time_is_over {
            self.end_time(None);
        }
        match self.signals.schedule {
            Some(schedule) => self.dispatch_due(session, schedule)?,
            None => self.dispatch_ready(session)?,
        }
        self.stamp_submitted();
        if self.active == 0 && self.waiting.is_empty() && self.is_over() {
            return Ok(Some(End::Completed));
        }
        Ok(None)
    }

    /// Whether connections are lost, and nothing good was answered, too often or for longer than any reply may take.
    fn is_lost(&mut self) -> bool {
        if self.books.lost_in_a_row == 0 {
            self.lost_end = Ticks::MAX;
        } else if self.lost_end == Ticks::MAX {
            self.lost_end = self.now.saturating_add(self.deadline);
        }
        self.books.lost_in_a_row >= self.give_up_after || self.now > self.lost_end
    }

    /// The time given is over: what is answered from now on is late, and so was the last reply to `late`.
    #[cold]
    fn end_time(&mut self, late: Option<Slot>) {
        self.time_is_over = true;
        self.in_time = Some(self.books.counts.answered().saturating_sub(late.is_some().into()));
        self.job.time_is_over(late);
    }

    /// Whether nothing more will be sent, given that nothing is in flight.
    fn is_over(&mut self) -> bool {
        if self.ready.is_empty() {
            self.ran_out = true; // the job has sent all it had, however long the schedule would go on
            return true;
        }
        match self.signals.schedule {
            None => self.now >= self.end,
            Some(_) => matches!(self.arrival, Next::Over) || self.now >= self.deadline_end,
        }
    }

    /// How long the next poll may wait.
    fn until(&self) -> Until {
        let is_open = self.signals.schedule.is_some();
        if !self.waiting.is_empty() && self.active == 0 {
            return Until::Now;
        }
        if self.active == 0 && !is_open {
            return Until::Now;
        }
        // Under closed loop nothing is due at a time: a wait that is long enough lets a bridge simply block.
        let mut at = if is_open { self.next_scan.max(self.now) } else { self.now + self.tick };
        match &self.arrival {
            Next::Held(held) if held.due.saturating_sub(self.spin) <= self.now => return Until::Now,
            Next::Held(held) => at = at.min(held.due - self.spin),
            Next::Perhaps(again) => at = at.min(*again),
            Next::Unknown if is_open && !self.ready.is_empty() => return Until::Now,
            Next::Unknown | Next::Over => {}
        }
        // The end of the time ends a closed loop; under open loop what was due is still to be sent.
        if !is_open {
            at = at.min(self.end.max(self.now + self.spin));
        }
        Until::At(self.clock.instant(at))
    }

    /// Looks for operations that have had their time. Where that is less than the deadline they fail, and the phase goes on; true when one
    /// has waited for as long as any may. The job hears of each.
    #[cold]
    fn too_long(&mut self, session: &mut dyn Session) -> bool {
        self.next_scan = self.now + self.tick.min(self.timeout / 4 + 1);
        let now = self.now;
        if self.timeout < self.deadline {
            for slot in 0..self.in_flight.len() {
                if self.in_flight[slot].waited(now) > self.timeout {
                    session.abandon(slot as Slot, self); // where it cannot, the deadline still ends the phase
                }
            }
        }
        let deadline = self.deadline;
        self.fail_in_flight(|state| state.waited(now) > deadline)
    }

    /// Ends the phase, so that what it left can be read on the same session: a new one may need nodes that are down.
    #[cold]
    fn leave_off(&mut self, session: &mut dyn Session) {
        for slot in 0..self.in_flight.len() {
            if self.in_flight[slot].flight != Flight::Nothing {
                session.abandon(slot as Slot, self);
            }
        }
        // What is read back then is held against what may have happened.
        self.gave_all_up = !self.fail_in_flight(|_| true);
        self.job.leave_off();
    }

    /// Fails what is in flight, as far as it `is_over`; whether there was any.
    #[cold]
    fn fail_in_flight(&mut self, is_over: impl Fn(&InFlight) -> bool) -> bool {
        let mut any = false;
        for slot in 0..self.in_flight.len() {
            let state = self.in_flight[slot];
            if state.flight != Flight::Nothing && is_over(&state) {
                self.in_flight[slot].flight = Flight::Nothing;
                self.active -= 1;
                if let Some(lights) = self.signals.lights {
                    lights.failed(state.part, state.sent);
                }
                let reply = Reply::Failed(Failure::Deadline);
                match state.flight {
                    Flight::Check => self.checked(slot as Slot, &reply),
                    _ => {
                        if state.timed {
                            self.books.fail(state.kind, self.now);
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
fn part_of(lights: Option<&Lights>, session: &dyn Session, operation: &Operation<'_>) -> u16 {
    match (lights, operation.key()) {
        (Some(_), Some(key)) => session.part(key),
        _ => NO_PART,
    }
}
