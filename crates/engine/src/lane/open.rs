//! Open loop: operations are sent when they are due, whatever the replies do.

use super::{Flight, InFlight, Lane, part_of};
use crate::schedule::{Next, Schedule};
use job::{Arriving, Step};
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

impl<'a> Lane<'a> {
    /// Sends what is due, as long as a slot is free.
    pub(super) fn dispatch_due(&mut self, session: &mut dyn Session, schedule: &'a Schedule) -> Result<(), StoreError> {
        if self.arrivals == Arriving::Units {
            self.dispatch_following(session)?;
        }
        for _ in 0..self.ready.len() {
            let Some(&slot) = self.ready.front() else { break };
            // A slot with no more work takes no arrival from those that have some, and what is none waits for none.
            if self.job.is_done(slot) {
                self.ready.pop_front();
                continue;
            }
            if self.arrivals == Arriving::Operations && self.job.is_within(slot) {
                self.ready.pop_front();
                if let Sent::AnsweredOperation | Sent::AnsweredCheck = self.send(session, slot, None)? {
                    self.ready.push_front(slot);
                }
                continue;
            }
            let Some(due) = self.next_due(schedule) else { return Ok(()) };
            if self.now >= self.deadline_end {
                return Ok(()); // the grace for what was due is over
            }
            if due > self.now {
                self.now = self.clock.now();
                if due > self.now {
                    return Ok(());
                }
            }
            self.ready.pop_front();
            match self.send(session, slot, Some(due))? {
                Sent::AnsweredOperation | Sent::AnsweredCheck => self.ready.push_back(slot),
                Sent::Operation | Sent::Check | Sent::Waits | Sent::Finished => {}
            }
        }
        if self.ready.is_empty() {
            self.arrival = Next::Unknown; // it goes to a thread with a free slot
        }
        Ok(())
    }

    /// When the next arrival of this thread is due, if there is one.
    fn next_due(&mut self, schedule: &'a Schedule) -> Option<Ticks> {
        match self.arrival {
            Next::Unknown => self.arrival = schedule.take(self.now),
            Next::Perhaps(again) if again <= self.now => self.arrival = schedule.take(self.now),
            Next::Held(_) | Next::Perhaps(_) | Next::Over => {}
        }
        match &self.arrival {
            Next::Held(held) => Some(held.due),
            Next::Unknown | Next::Perhaps(_) | Next::Over => None,
        }
    }

    /// Sends what follows within units that have begun: it is no arrival of its own, and is due when the reply before it is there.
    fn dispatch_following(&mut self, session: &mut dyn Session) -> Result<(), StoreError> {
        let mut left = self.ready.len();
        while left > 0
            && let Some(slot) = self.ready.pop_front()
        {
            left -= 1;
            if self.now >= self.deadline_end || !self.job.is_within(slot) {
                self.ready.push_back(slot);
                continue;
            }
            match self.send(session, slot, None)? {
                Sent::AnsweredOperation | Sent::AnsweredCheck => {
                    self.ready.push_front(slot); // until its unit is over
                    left += 1;
                }
                Sent::Operation | Sent::Check | Sent::Waits | Sent::Finished => {}
            }
        }
        Ok(())
    }

    /// Sends what the slot does next. `due`: when it is due, of the arrival that is held; `None`: it is no arrival, and due now. What is
    /// due stays due where nothing or a check was sent: it goes to the next slot that is free.
    fn send(&mut self, session: &mut dyn Session, slot: Slot, due: Option<Ticks>) -> Result<Sent, StoreError> {
        self.signals.pulse.beat();
        let operation = match self.job.next(slot) {
            Step::Operation(operation) => operation,
            Step::Finished => return Ok(Sent::Finished), // the others may have more
            Step::Wait => {
                self.waiting.push(slot);
                return Ok(Sent::Waits);
            }
            Step::Check(operation) => {
                return Ok(match session.submit(slot, &operation)? {
                    Some(reply) => {
                        self.checked(slot, &reply);
                        self.now = self.clock.now();
                        self.free_since = self.now;
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
        let part = part_of(self.signals.lights, session, &operation);
        self.books.counts.bytes_written += operation.bytes_written();
        let sent = self.clock.now();
        if let Some(due) = due {
            let lag = sent.saturating_sub(due.max(self.free_since));
            self.books.histograms.client_lag.record(self.clock.ns(lag));
            if let Next::Held(held) = std::mem::replace(&mut self.arrival, Next::Unknown) {
                held.sent(sent);
            }
        }
        let due = due.unwrap_or(sent);
        self.in_flight[slot as usize] = InFlight { kind, timed: true, flight: Flight::Operation, sent, due, part };
        let Some(reply) = session.submit(slot, &operation)? else {
            self.active += 1;
            self.submitted.push(slot);
            return Ok(Sent::Operation);
        };
        self.now = self.clock.now();
        self.books.counts.add(kind, &reply);
        self.books.series.count(1);
        if let Err(offence) = self.job.reply(slot, &reply) {
            self.books.offend(offence);
        }
        self.record_open(kind, sent, due, &reply);
        self.free_since = self.now; // this thread was in the store until now
        self.in_flight[slot as usize].flight = Flight::Nothing;
        if self.now >= self.end && !self.time_is_over {
            self.end_time(Some(slot));
        }
        Ok(Sent::AnsweredOperation)
    }

    /// Records how late the send was; of a good reply the service time, and the response time from the intended send.
    #[inline]
    pub(super) fn record_open(&mut self, kind: OperationKind, sent: Ticks, due: Ticks, reply: &Reply<'_>) {
        self.last_reply = self.now;
        self.books.histograms.send_lag.record(self.clock.ns(sent.saturating_sub(due)));
        if let Reply::Failed(_) = reply {
            return self.books.fail(kind, self.now);
        }
        let response_ns = self.clock.ns(self.now.saturating_sub(due));
        self.books.histograms.service.record(self.clock.ns(self.now.saturating_sub(sent)));
        self.books.respond(kind, self.now, response_ns, 1);
    }
}
