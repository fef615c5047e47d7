//! Open loop: operations are sent when they are due, whatever the replies do.

use super::{Flight, InFlight, Lane, part_of};
use crate::schedule::Schedule;
use job::{Arriving, Step};
use measure::Ticks;
use store::{OperationKind, Session, StoreError};

impl Lane<'_> {
    /// Sends what is due, as long as a slot is free.
    pub(super) fn dispatch_due(&mut self, session: &mut dyn Session) -> Result<(), StoreError> {
        if self.arrivals == Arriving::Units {
            self.dispatch_following(session)?;
        }
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
            self.signals.pulse.beat();
            let lights = self.signals.lights;
            match self.job.next(slot) {
                Step::Finished => {} // the others may have more; what is due stays due
                Step::Wait => self.waiting.push(slot),
                // What is due stays due: it goes to the next slot that is free.
                Step::Check(operation) => match session.submit(slot, &operation)? {
                    Some(reply) => {
                        self.checked(slot, &reply);
                        self.now = self.clock.now();
                        self.free_since = self.now;
                        self.ready.push_back(slot);
                    }
                    None => self.check_took_off(slot),
                },
                Step::Operation(operation) => {
                    let kind = operation.kind();
                    let part = part_of(lights, session, &operation);
                    self.books.counts.bytes_written += operation.bytes_written();
                    let sent = self.clock.now();
                    self.books
                        .histograms
                        .client_lag
                        .record(self.clock.ns(sent.saturating_sub(due.max(self.free_since))));
                    self.in_flight[slot as usize] =
                        InFlight { kind, timed: true, flight: Flight::Operation, sent, due, part };
                    if let Some(schedule) = &mut self.schedule {
                        schedule.advance();
                    }
                    match session.submit(slot, &operation)? {
                        Some(reply) => {
                            self.now = self.clock.now();
                            self.books.counts.add(kind, &reply);
                            self.books.series.count(1);
                            if let Err(offence) = self.job.reply(slot, &reply) {
                                self.books.offend(offence);
                            }
                            self.record_open(kind, sent, due);
                            self.free_since = self.now; // this thread was in the store until now
                            self.in_flight[slot as usize].flight = Flight::Nothing;
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
            self.signals.pulse.beat();
            let lights = self.signals.lights;
            let operation = match self.job.next(slot) {
                Step::Operation(operation) => operation,
                Step::Finished => continue,
                Step::Wait => {
                    self.waiting.push(slot);
                    continue;
                }
                Step::Check(operation) => {
                    match session.submit(slot, &operation)? {
                        Some(reply) => {
                            self.checked(slot, &reply);
                            self.now = self.clock.now();
                            self.free_since = self.now;
                            self.ready.push_front(slot); // until its unit is over
                            left += 1;
                        }
                        None => self.check_took_off(slot),
                    }
                    continue;
                }
            };
            let kind = operation.kind();
            let part = part_of(lights, session, &operation);
            self.books.counts.bytes_written += operation.bytes_written();
            let sent = self.clock.now();
            self.in_flight[slot as usize] =
                InFlight { kind, timed: true, flight: Flight::Operation, sent, due: sent, part };
            match session.submit(slot, &operation)? {
                Some(reply) => {
                    self.now = self.clock.now();
                    self.books.counts.add(kind, &reply);
                    self.books.series.count(1);
                    if let Err(offence) = self.job.reply(slot, &reply) {
                        self.books.offend(offence);
                    }
                    self.record_open(kind, sent, sent);
                    self.free_since = self.now;
                    self.in_flight[slot as usize].flight = Flight::Nothing;
                    self.ready.push_front(slot); // until its unit is over
                    left += 1;
                }
                None => {
                    self.active += 1;
                    self.submitted.push(slot);
                }
            }
        }
        Ok(())
    }

    /// Service time, response time from the intended send, and how late the send was.
    #[inline]
    pub(super) fn record_open(&mut self, kind: OperationKind, sent: Ticks, due: Ticks) {
        let response_ns = self.clock.ns(self.now.saturating_sub(due));
        self.books.histograms.service.record(self.clock.ns(self.now.saturating_sub(sent)));
        self.books.histograms.send_lag.record(self.clock.ns(sent.saturating_sub(due)));
        self.books.respond(kind, self.now, response_ns, 1);
    }
}
