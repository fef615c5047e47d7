//! Closed loop: a slot sends its next operation when it has the reply to the last.

use super::{Flight, InFlight, Lane, part_of};
use crate::dark::NO_PART;
use job::Step;
use job::{TURN, Turn, TurnEnd};
use store::{Heed, OperationKind, Reply, Session, Slot, StoreError};

impl Lane<'_> {
    /// Gives every idle slot its next operation.
    pub(super) fn dispatch_ready(&mut self, session: &mut dyn Session) -> Result<(), StoreError> {
        if !self.at_once && self.now < self.end {
            return self.send_ready(session);
        }
        let mut left = if self.now < self.end { self.ready.len() } else { 0 };
        while left > 0
            && let Some(slot) = self.ready.pop_front()
        {
            left -= 1;
            self.run_slot(session, slot)?;
            if self.now >= self.end {
                return Ok(()); // a store that answers at once lets time pass within the turn
            }
        }
        Ok(())
    }

    /// Gives every idle slot its next operation, on a session that answers later.
    fn send_ready(&mut self, session: &mut dyn Session) -> Result<(), StoreError> {
        std::mem::swap(&mut self.ready, &mut self.sending);
        let mut sending = std::mem::take(&mut self.sending);
        let sent = sending.drain(..).try_for_each(|slot| self.send_slot(session, slot));
        self.sending = sending;
        sent
    }

    /// Gives the slot its turn on a session that answers at once.
    fn run_slot(&mut self, session: &mut dyn Session, slot: Slot) -> Result<(), StoreError> {
        self.look_ahead(session, slot);
        let done = self.books.counts.operations;
        // A slow store's turn is cut short: signs of life are given between turns.
        let end = self.end.min(self.now.saturating_add(self.tick));
        let turn = Turn {
            session,
            books: &mut self.books,
            clock: self.clock,
            every: self.every,
            until_timed: &mut self.until_timed,
            chained: self.chained && self.every == 1,
            now: &mut self.now,
            end,
        };
        let end = self.job.take_turn(slot, turn);
        self.signals.pulse.beat();
        session.rest(slot);
        if self.now >= self.end && !self.time_is_over {
            self.end_time(Some(slot).filter(|_| self.books.counts.operations > done));
        }
        if self.growth.watches() && self.books.counts.operations > done {
            self.now = self.clock.now();
            self.growth.batch(self.now, self.job.stored(), &self.books.histograms);
        }
        match end? {
            TurnEnd::Over => self.ready.push_back(slot),
            TurnEnd::Waits => self.waiting.push(slot),
            TurnEnd::Finished => {}
            TurnEnd::TookOff { kind, timed } => {
                self.at_once = false;
                self.took_off(slot, kind, timed, NO_PART);
            }
            TurnEnd::CheckTookOff => {
                self.at_once = false;
                self.check_took_off(slot);
            }
        }
        Ok(())
    }

    /// Gives a store that heeds it all keys of the coming turn at once, so that their lines of memory are fetched side by side.
    #[inline]
    fn look_ahead(&mut self, session: &mut dyn Session, slot: Slot) {
        for _ in 0..TURN {
            match self.job.ahead(slot).map(|(kind, key)| session.expect(slot, kind, key)) {
                Some(Heed::Fetched) => {}
                Some(Heed::Ignored) | None => break,
            }
        }
    }

    /// Closed loop: the slot's next operation, on a session that answers later.
    #[inline]
    fn send_slot(&mut self, session: &mut dyn Session, slot: Slot) -> Result<(), StoreError> {
        let lights = self.signals.lights;
        let step = self.job.next(slot);
        let operation = match &step {
            Step::Operation(operation) => operation,
            Step::Check(operation) => {
                match session.submit(slot, operation)? {
                    None => self.check_took_off(slot),
                    Some(ref reply) => {
                        self.checked(slot, reply);
                        self.ready.push_back(slot);
                    }
                }
                return Ok(());
            }
            Step::Wait => {
                self.waiting.push(slot);
                return Ok(());
            }
            Step::Finished => return Ok(()),
        };
        let kind = operation.kind();
        let part = part_of(lights, session, operation);
        self.books.counts.bytes_written += operation.bytes_written();
        self.until_timed -= 1;
        let timed = self.until_timed == 0;
        if timed {
            self.until_timed = self.every;
        }
        match session.submit(slot, operation) {
            Ok(None) => {
                self.took_off(slot, kind, timed, part);
                Ok(())
            }
            Ok(Some(ref reply)) => {
                self.answered_at_once(slot, kind, timed, reply);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// A session that has answered later so far answers this operation at once.
    #[cold]
    fn answered_at_once(&mut self, slot: Slot, kind: OperationKind, timed: bool, reply: &Reply<'_>) {
        self.at_once = true;
        if timed {
            let start = self.now;
            self.now = self.clock.now();
            match reply {
                Reply::Failed(_) => self.books.fail(kind, self.now),
                _ => {
                    self.books.respond(kind, self.now, self.clock.ns(self.now.saturating_sub(start)), 1);
                }
            }
        }
        self.complete(slot, kind, reply);
        self.ready.push_back(slot);
    }

    /// An operation is in flight; it is stamped when the others are that are sent with it.
    #[inline(always)]
    fn took_off(&mut self, slot: Slot, kind: OperationKind, timed: bool, part: u16) {
        self.in_flight[slot as usize] = InFlight { kind, timed, flight: Flight::Operation, sent: 0, due: 0, part };
        self.active += 1;
        self.submitted.push(slot);
    }

    /// Notes that a check is in flight, and stamps the check like the operations, for its deadline.
    #[cold]
    pub(super) fn check_took_off(&mut self, slot: Slot) {
        let flight = Flight::Check;
        self.in_flight[slot as usize] =
            InFlight { kind: OperationKind::Get, timed: false, flight, sent: 0, due: 0, part: NO_PART };
        self.active += 1;
        self.submitted.push(slot);
    }

    /// Reads the clock one time for all operations that are about to be sent together.
    #[inline]
    pub(super) fn stamp_submitted(&mut self) {
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
}
