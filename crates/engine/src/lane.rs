//! One thread's loop: slots, what they do next, when it is due, and what the replies were.

use crate::clock::{Clock, Ticks};
use crate::job::{Step, Think, Worker};
use crate::offence::{Offence, Offences};
use crate::outcome::{Counts, End, Histograms};
use crate::schedule::Schedule;
use crate::series::Series;
use crate::settings::Settings;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use store::{Failure, OperationKind, Reply, Session, Sink, Slot, StoreError, Until};
use study::ReasonKind;

/// Consecutive lost connections after which a store is given up.
const GIVE_UP_AFTER: u32 = 200;
/// Operations of one slot before the others have their turn, where replies come at once.
const TURN: u32 = 64;
/// Waits are cut short by this much and finished by looking at the clock: sleeps wake late, clocks do not.
const SPIN: Duration = Duration::from_micros(60);
/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(100);

#[derive(Clone, Copy)]
struct InFlight {
    kind: OperationKind,
    timed: bool,
    active: bool,
    sent: Ticks,
    due: Ticks,
}

/// Replies of one kind that arrived together to operations sent together: one latency, recorded once.
struct Burst {
    kind: OperationKind,
    sent: Ticks,
    arrived: Ticks,
    replies: u32,
}

/// State shared between the threads of a phase and whoever watches it.
pub(crate) struct Signals<'a> {
    pub(crate) stop: &'a AtomicBool,
    pub(crate) done: &'a AtomicU64,
}

/// One thread's loop.
pub(crate) struct Lane<'a> {
    clock: Clock,
    job: Box<dyn Worker + 'a>,
    signals: Signals<'a>,
    /// One operation in so many is timed.
    every: u32,
    until_timed: u32,
    chained: bool,
    deadline: Ticks,
    deadline_end: Ticks,
    spin: Ticks,
    tick: Ticks,
    schedule: Option<Schedule>,
    end: Ticks,

    in_flight: Vec<InFlight>,
    active: u32,
    ready: VecDeque<Slot>,
    waiting: Vec<Slot>,
    submitted: Vec<Slot>,
    now: Ticks,
    next_scan: Ticks,
    published: u64,
    lost_in_a_row: u32,
    /// Whether the session answered the last operation at once.
    at_once: bool,
    burst: Burst,

    pub(crate) counts: Counts,
    pub(crate) histograms: Histograms,
    pub(crate) series: Series,
    pub(crate) offences: Offences,
}

impl<'a> Lane<'a> {
    pub(crate) fn new(
        job: Box<dyn Worker + 'a>,
        slots: u32,
        settings: &Settings,
        schedule: Option<Schedule>,
        signals: Signals<'a>,
    ) -> Lane<'a> {
        let clock = Clock::get();
        let idle = InFlight { kind: OperationKind::Get, timed: false, active: false, sent: 0, due: 0 };
        Lane {
            chained: job.think() == Think::Free,
            job,
            signals,
            every: settings.timing.one_in(),
            until_timed: settings.timing.one_in(),
            deadline: clock.ticks(settings.deadline),
            deadline_end: Ticks::MAX,
            spin: clock.ticks(SPIN),
            tick: clock.ticks(TICK),
            schedule,
            end: settings.duration.map_or(Ticks::MAX, |duration| clock.ticks(duration)),
            in_flight: vec![idle; slots as usize],
            active: 0,
            ready: (0..slots).collect(),
            waiting: Vec::with_capacity(slots as usize),
            submitted: Vec::with_capacity(slots as usize),
            now: 0,
            next_scan: 0,
            published: 0,
            lost_in_a_row: 0,
            at_once: true,
            burst: Burst { kind: OperationKind::Get, sent: 0, arrived: 0, replies: 0 },
            counts: Counts::default(),
            histograms: Histograms::default(),
            series: Series::new(&clock, 0),
            offences: Offences::default(),
            clock,
        }
    }

    /// Switches the clock on. Returns the time of the start.
    pub(crate) fn start(&mut self) -> Ticks {
        let now = self.clock.now();
        self.now = now;
        self.series = Series::new(&self.clock, now);
        if let Some(schedule) = &mut self.schedule {
            schedule.start(now);
        }
        self.end = now.saturating_add(self.end);
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
        if self.signals.stop.load(Ordering::Relaxed) {
            return Ok(Some(End::Interrupted));
        }
        if self.lost_in_a_row >= GIVE_UP_AFTER {
            return Ok(Some(End::Unanswered));
        }
        self.ready.extend(self.waiting.drain(..));
        self.now = self.clock.now();
        if self.now >= self.next_scan && self.deadline_passed() {
            return Ok(Some(End::Unanswered));
        }
        if self.schedule.is_some() {
            self.dispatch_due(session)?
        } else {
            self.dispatch_ready(session)?
        }
        self.stamp_submitted();
        if self.active == 0 && self.waiting.is_empty() && self.is_over() {
            return Ok(Some(End::Completed));
        }
        Ok(None)
    }

    /// Whether nothing more will be sent, given that nothing is in flight.
    fn is_over(&mut self) -> bool {
        let nobody_left = self.ready.is_empty();
        match &self.schedule {
            None => nobody_left || self.now >= self.end,
            Some(schedule) => {
                if nobody_left {
                    return true; // the job has sent all it had, however long the schedule would go on
                }
                if self.now >= self.deadline_end {
                    self.counts.not_sent = schedule.backlog(self.now);
                    return true;
                }
                schedule.due().is_none()
            }
        }
    }

    fn dispatch_ready(&mut self, session: &mut dyn Session) -> Result<(), StoreError> {
        for _ in 0..self.ready.len() {
            if self.now >= self.end {
                return Ok(());
            }
            let Some(slot) = self.ready.pop_front() else { return Ok(()) };
            if self.at_once { self.run_slot(session, slot)? } else { self.send_slot(session, slot)? }
        }
        Ok(())
    }

    fn dispatch_due(&mut self, session: &mut dyn Session) -> Result<(), StoreError> {
        for _ in 0..self.ready.len() {
            let Some(due) = self.schedule.as_ref().and_then(Schedule::due) else { return Ok(()) };
            if self.now >= self.deadline_end {
                return Ok(()); // the grace for what was due is over
            }
            if due > self.now {
                self.now = self.clock.now();
                if due > self.now {
                    return Ok(());
                }
            }
            let Some(slot) = self.ready.pop_front() else { return Ok(()) };
            match self.job.next(slot) {
                Step::Finished => {}
                Step::Wait => self.waiting.push(slot),
                Step::Operation(operation) => {
                    let kind = operation.kind();
                    self.counts.bytes_written += operation.bytes_written();
                    let sent = self.clock.now();
                    self.in_flight[slot as usize] = InFlight { kind, timed: true, active: true, sent, due };
                    if let Some(schedule) = &mut self.schedule {
                        schedule.advance();
                    }
                    match session.submit(slot, &operation)? {
                        Some(reply) => {
                            self.now = self.clock.now();
                            self.counts.add(kind, &reply);
                            self.series.count(1);
                            if let Err(offence) = self.job.reply(slot, &reply) {
                                self.offend(offence);
                            }
                            record_open(self, kind, sent, due);
                            self.in_flight[slot as usize].active = false;
                            self.ready.push_back(slot);
                        }
                        None => {
                            self.active += 1;
                            self.submitted.push(slot);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Closed loop: the slot's next operation; where replies come at once, up to [`TURN`] of them. Counts are kept in locals
    /// within a turn: on the null store every store to memory shows.
    #[inline]
    fn run_slot(&mut self, session: &mut dyn Session, slot: Slot) -> Result<(), StoreError> {
        let chained = self.chained && self.every == 1;
        let mut start = if chained { self.clock.now() } else { 0 };
        let mut tally = Counts::default();
        let mut turns_left = TURN;
        let result = loop {
            if turns_left == 0 {
                self.ready.push_back(slot);
                break Ok(());
            }
            turns_left -= 1;
            match &self.job.next(slot) {
                Step::Finished => break Ok(()),
                Step::Wait => {
                    self.waiting.push(slot);
                    break Ok(());
                }
                Step::Operation(operation) => {
                    let kind = operation.kind();
                    tally.bytes_written += operation.bytes_written();
                    self.until_timed -= 1;
                    let timed = self.until_timed == 0;
                    if timed {
                        self.until_timed = self.every;
                        if !chained {
                            start = self.clock.now();
                        }
                    }
                    match session.submit(slot, operation) {
                        Ok(Some(ref reply)) => {
                            if timed {
                                self.now = self.clock.now();
                                let ns = self.clock.ns(self.now.saturating_sub(start));
                                self.series.note(self.now, ns, &self.histograms);
                                self.histograms.response[kind as usize].record(ns);
                                start = self.now;
                            }
                            tally.add(kind, reply);
                            if let Err(offence) = self.job.reply(slot, reply) {
                                self.offend(offence);
                            }
                        }
                        Ok(None) => {
                            self.at_once = false;
                            self.took_off(slot, kind, timed);
                            break Ok(());
                        }
                        Err(error) => break Err(error),
                    }
                }
            }
        };
        self.series.count(tally.operations);
        self.counts.merge(&tally);
        result
    }

    /// Closed loop: the slot's next operation, on a session that answers later.
    #[inline]
    fn send_slot(&mut self, session: &mut dyn Session, slot: Slot) -> Result<(), StoreError> {
        let step = self.job.next(slot);
        let operation = match &step {
            Step::Operation(operation) => operation,
            Step::Wait => {
                self.waiting.push(slot);
                return Ok(());
            }
            Step::Finished => return Ok(()),
        };
        let kind = operation.kind();
        self.counts.bytes_written += operation.bytes_written();
        self.until_timed -= 1;
        let timed = self.until_timed == 0;
        if timed {
            self.until_timed = self.every;
        }
        let start = self.now;
        match session.submit(slot, operation)? {
            None => self.took_off(slot, kind, timed),
            Some(reply) => {
                self.at_once = true;
                if timed {
                    self.now = self.clock.now();
                    let ns = self.clock.ns(self.now.saturating_sub(start));
                    self.series.note(self.now, ns, &self.histograms);
                    self.histograms.response[kind as usize].record(ns);
                }
                self.counts.add(kind, &reply);
                self.series.count(1);
                if let Err(offence) = self.job.reply(slot, &reply) {
                    self.offend(offence);
                }
                self.ready.push_back(slot);
            }
        }
        Ok(())
    }

    /// An operation is in flight; it is stamped when the others are that are sent with it.
    #[inline(always)]
    fn took_off(&mut self, slot: Slot, kind: OperationKind, timed: bool) {
        self.in_flight[slot as usize] = InFlight { kind, timed, active: true, sent: 0, due: 0 };
        self.active += 1;
        self.submitted.push(slot);
    }

    /// One clock read for all operations that are about to be sent together.
    #[inline]
    fn stamp_submitted(&mut self) {
        if self.submitted.is_empty() {
            return;
        }
        let now = self.clock.now();
        self.now = now;
        for &slot in &self.submitted {
            self.in_flight[slot as usize].sent = now;
        }
        self.submitted.clear();
    }

    /// How long the next poll may wait.
    fn until(&self) -> Until {
        if !self.waiting.is_empty() && self.active == 0 {
            return Until::Now;
        }
        if self.active == 0 && self.schedule.is_none() {
            return Until::Now;
        }
        let mut at = self.next_scan.max(self.now);
        if let Some(due) = self.schedule.as_ref().and_then(Schedule::due)
            && !self.ready.is_empty()
        {
            if due.saturating_sub(self.spin) <= self.now {
                return Until::Now;
            }
            at = at.min(due - self.spin);
        }
        Until::At(self.clock.instant(at.min(self.end.max(self.now + self.spin))))
    }

    /// Looks for operations without a reply for too long; the job hears of each.
    #[cold]
    fn deadline_passed(&mut self) -> bool {
        self.next_scan = self.now + self.tick.min(self.deadline / 4 + 1);
        let mut passed = false;
        for slot in 0..self.in_flight.len() {
            let state = self.in_flight[slot];
            if state.active && state.sent != 0 && self.now.saturating_sub(state.sent) > self.deadline {
                self.in_flight[slot].active = false;
                self.active -= 1;
                self.complete(slot as Slot, state.kind, &Reply::Failed(Failure::Deadline));
                passed = true;
            }
        }
        if passed && let Some(schedule) = &self.schedule {
            self.counts.not_sent = schedule.backlog(self.now);
        }
        passed
    }

    /// Closes the books.
    pub(crate) fn finish(&mut self) {
        self.record_burst();
        self.series.take_counts(&self.histograms);
    }

    /// Records the latency of the replies since the last call.
    #[inline]
    fn record_burst(&mut self) {
        let burst = &mut self.burst;
        let replies = std::mem::take(&mut burst.replies);
        if replies > 0 {
            let ns = self.clock.ns(burst.arrived.saturating_sub(burst.sent));
            self.series.note(burst.arrived, ns, &self.histograms);
            self.histograms.response[burst.kind as usize].record_many(ns, replies);
        }
    }

    /// Counts a reply and lets the job check it.
    #[inline(always)]
    fn complete(&mut self, slot: Slot, kind: OperationKind, reply: &Reply<'_>) {
        self.counts.add(kind, reply);
        self.series.count(1);
        match self.job.reply(slot, reply) {
            Ok(()) => self.lost_in_a_row = 0,
            Err(offence) => self.offend(offence),
        }
    }

    /// Lets whoever watches know how far this thread is.
    #[inline]
    fn publish(&mut self) {
        let new = self.counts.operations - self.published;
        if new > 0 {
            self.signals.done.fetch_add(new, Ordering::Relaxed);
            self.published = self.counts.operations;
        }
    }
}

impl Lane<'_> {
    #[cold]
    fn offend(&mut self, offence: Offence) {
        self.counts.errors += 1;
        self.series.error();
        if offence.kind == ReasonKind::ConnectionLost {
            self.lost_in_a_row += 1;
        }
        self.offences.add(offence);
    }
}

/// Open loop: service time, response time from the intended send, and how late the client itself was.
#[inline]
fn record_open(lane: &mut Lane<'_>, kind: OperationKind, sent: Ticks, due: Ticks) {
    let response_ns = lane.clock.ns(lane.now.saturating_sub(due));
    lane.histograms.service.record(lane.clock.ns(lane.now.saturating_sub(sent)));
    lane.histograms.send_lag.record(lane.clock.ns(sent.saturating_sub(due)));
    lane.series.note(lane.now, response_ns, &lane.histograms);
    lane.histograms.response[kind as usize].record(response_ns);
}

impl Sink for Lane<'_> {
    #[inline]
    fn arrived(&mut self) {
        self.record_burst();
        self.now = self.clock.now();
        self.burst.arrived = self.now;
    }

    #[inline]
    fn reply(&mut self, slot: Slot, reply: Reply<'_>) {
        let state = self.in_flight[slot as usize];
        if !state.active {
            self.offend(Offence::new(ReasonKind::Protocol, b"", format!("a reply nobody asked for: {reply:?}")));
            return;
        }
        self.in_flight[slot as usize].active = false;
        self.active -= 1;
        if self.schedule.is_some() {
            record_open(self, state.kind, state.sent, state.due);
        } else if state.timed {
            if state.sent != self.burst.sent || state.kind != self.burst.kind {
                self.record_burst();
                self.burst = Burst { kind: state.kind, sent: state.sent, arrived: self.now, replies: 0 };
            }
            self.burst.replies += 1;
        }
        self.complete(slot, state.kind, &reply);
        self.ready.push_back(slot);
    }
}
