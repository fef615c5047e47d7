//! Open loop: operations are sent when they are due, whatever the replies do.

use super::{Flight, InFlight, Lane, part_of};
use crate::schedule::{Arrival, Next, Schedule};
use jobkit::{Arriving, Step};
use measure::Ticks;
use store::{OperationKind, Reply, Session, Slot, StoreError};

/// What a slot did that could send something.
enum Sent {
    /// An operation, which is in flight.
    Operation,
    /// An operation, which is answered.
    AnsweredOperation,
    /// A check, which is in flight.
    Check,
    /// A check, which is answered.
    AnsweredCheck,
    /// Nothing yet.
    Waits,
    /// Nothing, ever.
    Finished,
}

/// What is due, and when it may be sent.
pub(super) struct Open<'a> {
    schedule: &'a Schedule,
    /// Whether each operation is due when the job says.
    is_recorded: bool,
    /// What arrives.
    arrives: Arriving,
    /// The arrival that the next free slot sends.
    pub(super) arrival: Next<'a>,
    /// Until when what was due within the time may still be sent.
    deadline_end: Ticks,
    /// Since when a slot has been free, when one is.
    pub(super) free_since: Ticks,
    /// When the last reply came.
    pub(super) last_reply: Ticks,
}

impl<'a> Open<'a> {
    /// A loop that has not begun.
    pub(super) fn new(schedule: &'a Schedule, arrives: Arriving) -> Open<'a> {
        Open {
            schedule,
            is_recorded: schedule.is_recorded(),
            arrives,
            arrival: Next::Unknown,
            deadline_end: Ticks::MAX,
            free_since: 0,
            last_reply: 0,
        }
    }

    /// Begins now.
    pub(super) fn start(&mut self, now: Ticks, deadline_end: Ticks) {
        (self.last_reply, self.deadline_end) = (now, deadline_end);
    }

    /// Whether nothing more will be sent.
    pub(super) fn is_over(&self, now: Ticks) -> bool {
        matches!(self.arrival, Next::Over) || now >= self.deadline_end
    }

    /// When the next arrival of this thread is due, if there is one.
    fn next_due(&mut self, now: Ticks) -> Option<Ticks> {
        match self.arrival {
            Next::Unknown => self.arrival = self.schedule.take(now),
            Next::Perhaps(again) if again <= now => self.arrival = self.schedule.take(now),
            Next::Held(_) | Next::Perhaps(_) | Next::Over => {}
        }
        match &self.arrival {
            Next::Held(held) => Some(held.due),
            Next::Unknown | Next::Perhaps(_) | Next::Over => None,
        }
    }
}

impl<'a> Lane<'a> {
    /// Sends what is due, as long as a slot is free.
    pub(super) fn dispatch_due(&mut self, session: &mut dyn Session, open: &mut Open<'a>) -> Result<(), StoreError> {
        if open.is_recorded {
            return self.dispatch_recorded(session, open);
        }
        if open.arrives == Arriving::Units {
            self.dispatch_following(session, open)?;
        }
        for _ in 0..self.slots.ready.len() {
            let Some(&slot) = self.slots.ready.front() else { break };
            // A slot with no more work takes no arrival from those that have some, and what is none waits for none.
            if self.job.is_done(slot) {
                self.slots.ready.pop_front();
                continue;
            }
            if open.arrives == Arriving::Operations && self.job.is_within(slot) {
                self.slots.ready.pop_front();
                if let Sent::AnsweredOperation | Sent::AnsweredCheck = self.send(session, open, slot, None)? {
                    self.slots.ready.push_front(slot);
                }
                continue;
            }
            let Some(due) = open.next_due(self.time.now) else { return Ok(()) };
            if self.time.now >= open.deadline_end {
                return Ok(()); // the grace for what was due is over
            }
            if due > self.time.now {
                self.time.look();
                if due > self.time.now {
                    return Ok(());
                }
                self.job.time_is(self.time.now);
            }
            self.slots.ready.pop_front();
            match self.send(session, open, slot, Some(due))? {
                Sent::AnsweredOperation | Sent::AnsweredCheck => self.slots.ready.push_back(slot),
                Sent::Operation | Sent::Check | Sent::Waits | Sent::Finished => {}
            }
        }
        if self.slots.ready.is_empty() {
            open.arrival = Next::Unknown; // it goes to a thread with a free slot
        }
        Ok(())
    }

    /// Sends what is due, where each operation is due when the job says: every slot that is free is asked when its next one is.
    fn dispatch_recorded(&mut self, session: &mut dyn Session, open: &mut Open<'a>) -> Result<(), StoreError> {
        let mut soonest: Option<Arrival<'a>> = None;
        for _ in 0..self.slots.ready.len() {
            let Some(slot) = self.slots.ready.pop_front() else { break };
            if self.job.is_done(slot) {
                continue;
            }
            if self.job.is_within(slot) {
                if let Sent::AnsweredOperation | Sent::AnsweredCheck = self.send(session, open, slot, None)? {
                    self.slots.ready.push_back(slot);
                }
                continue;
            }
            let arrival = open.schedule.hold(self.job.due(slot));
            let due = arrival.due;
            if due > self.time.now {
                self.time.look();
                self.job.time_is(self.time.now);
            }
            if due > self.time.now {
                self.slots.ready.push_back(slot);
                if soonest.as_ref().is_none_or(|soonest| due < soonest.due) {
                    soonest = Some(arrival);
                }
                continue;
            }
            open.arrival = Next::Held(arrival);
            match self.send(session, open, slot, Some(due))? {
                Sent::AnsweredOperation | Sent::AnsweredCheck => self.slots.ready.push_back(slot),
                // What was due is another slot's, behind what that has in flight: this one is free.
                Sent::Waits => {
                    self.slots.waiting.pop();
                    self.slots.ready.push_back(slot);
                }
                Sent::Operation | Sent::Check | Sent::Finished => {}
            }
        }
        open.arrival = soonest.map_or(Next::Unknown, Next::Held);
        Ok(())
    }

    /// Sends what follows within units that have begun: it is no arrival of its own, and is due when the reply before it is there.
    fn dispatch_following(&mut self, session: &mut dyn Session, open: &mut Open<'a>) -> Result<(), StoreError> {
        let mut left = self.slots.ready.len();
        while left > 0
            && let Some(slot) = self.slots.ready.pop_front()
        {
            left -= 1;
            if self.time.now >= open.deadline_end || !self.job.is_within(slot) {
                self.slots.ready.push_back(slot);
                continue;
            }
            match self.send(session, open, slot, None)? {
                Sent::AnsweredOperation | Sent::AnsweredCheck => {
                    self.slots.ready.push_front(slot); // until its unit is over
                    left += 1;
                }
                Sent::Operation | Sent::Check | Sent::Waits | Sent::Finished => {}
            }
        }
        Ok(())
    }

    /// Sends what the slot does next. `due`: when it is due, of the arrival that is held; `None`: it is no arrival, and due now. What is
    /// due stays due where nothing or a check was sent: it goes to the next slot that is free.
    fn send(
        &mut self,
        session: &mut dyn Session,
        open: &mut Open<'a>,
        slot: Slot,
        due: Option<Ticks>,
    ) -> Result<Sent, StoreError> {
        self.signals.pulse.beat();
        let operation = match self.job.next(slot) {
            Step::Operation(operation) => operation,
            Step::Finished => return Ok(Sent::Finished), // the others may have more
            Step::Wait => {
                self.slots.waiting.push(slot);
                return Ok(Sent::Waits);
            }
            Step::Check(operation) => {
                return Ok(match session.submit(slot, &operation)? {
                    Some(reply) => {
                        self.checked(slot, &reply);
                        self.time.look();
                        open.free_since = self.time.now;
                        Sent::AnsweredCheck
                    }
                    None => {
                        self.check_took_off(slot);
                        Sent::Check
                    }
                });
            }
        };
        let kind = operation.kind();
        let part = part_of(self.dark.as_ref(), session, &operation);
        self.books.counts.bytes_written += operation.bytes_written();
        let sent = self.time.clock.now();
        if let Some(due) = due {
            let lag = sent.saturating_sub(due.max(open.free_since));
            self.books.histograms.client_lag.record(self.time.clock.ns(lag));
            if let Next::Held(held) = std::mem::replace(&mut open.arrival, Next::Unknown) {
                held.sent(sent);
            }
        }
        let due = due.unwrap_or(sent);
        self.slots.in_flight[slot as usize] =
            InFlight { kind, timed: true, flight: Flight::Operation, sent, due, part };
        let Some(reply) = session.submit(slot, &operation)? else {
            self.slots.active += 1;
            self.slots.submitted.push(slot);
            return Ok(Sent::Operation);
        };
        self.time.look();
        self.books.counts.add(kind, &reply);
        self.books.series.count(1);
        if let Err(offence) = self.job.reply(slot, &reply) {
            self.books.offend(offence);
        }
        self.record_open(kind, sent, due, &reply);
        (open.last_reply, open.free_since) = (self.time.now, self.time.now); // this thread was in the store until now
        self.slots.in_flight[slot as usize].flight = Flight::Nothing;
        if self.time.has_just_ended() {
            self.end_time(Some(slot));
        }
        Ok(Sent::AnsweredOperation)
    }

    /// Records how late the send was; of a good reply the service time, and the response time from the intended send.
    #[inline]
    pub(super) fn record_open(&mut self, kind: OperationKind, sent: Ticks, due: Ticks, reply: &Reply<'_>) {
        self.books.histograms.send_lag.record(self.time.clock.ns(sent.saturating_sub(due)));
        if let Reply::Failed(_) = reply {
            return self.books.fail(kind, self.time.now);
        }
        let response_ns = self.time.clock.ns(self.time.now.saturating_sub(due));
        self.books.histograms.service.record(self.time.clock.ns(self.time.now.saturating_sub(sent)));
        self.books.respond(kind, self.time.now, response_ns, 1);
    }
}
