//! Closed loop: a slot sends its next operation when it has the reply to the last.

use super::{Flight, InFlight, Lane, part_of};
use crate::dark::NO_PART;
use jobkit::Step;
use jobkit::{TURN, Turn, TurnEnd};
use store::{Heed, OperationKind, Reply, Session, Slot, StoreError};

impl Lane<'_> {
    /// Gives every idle slot its next operation.
    pub(super) fn dispatch_ready(&mut self, session: &mut dyn Session) -> Result<(), StoreError> {
        if !self.slots.at_once && self.time.now < self.time.end {
            return self.send_ready(session);
        }
        let mut left = if self.time.now < self.time.end { self.slots.ready.len() } else { 0 };
        while left > 0
            && let Some(slot) = self.slots.ready.pop_front()
        {
            left -= 1;
            self.run_slot(session, slot)?;
            if self.time.now >= self.time.end {
                return Ok(()); // a store that answers at once lets time pass within the turn
            }
        }
        Ok(())
    }

    /// Gives every idle slot its next operation, on a session that answers later.
    fn send_ready(&mut self, session: &mut dyn Session) -> Result<(), StoreError> {
        std::mem::swap(&mut self.slots.ready, &mut self.slots.sending);
        let mut sending = std::mem::take(&mut self.slots.sending);
        let sent = sending.drain(..).try_for_each(|slot| self.send_slot(session, slot));
        self.slots.sending = sending;
        sent
    }

    /// Gives the slot its turn on a session that answers at once.
    fn run_slot(&mut self, session: &mut dyn Session, slot: Slot) -> Result<(), StoreError> {
        self.look_ahead(session, slot);
        let done = self.books.counts.operations;
        // A slow store's turn is cut short: signs of life are given between turns.
        let end = self.time.end.min(self.time.now.saturating_add(self.time.tick));
        let turn = Turn {
            session,
            books: &mut self.books,
            clock: self.time.clock,
            every: self.sampling.every,
            until_timed: &mut self.sampling.until_timed,
            chained: self.sampling.chained,
            now: &mut self.time.now,
            end,
        };
        let end = self.job.take_turn(slot, turn);
        self.signals.pulse.beat();
        session.rest(slot);
        if self.time.has_just_ended() {
            self.end_time(Some(slot).filter(|_| self.books.counts.operations > done));
        }
        if self.growth.watches() && self.books.counts.operations > done {
            self.time.look();
            self.growth.batch(self.time.now, self.job.stored(), &self.books.histograms);
        }
        match end? {
            TurnEnd::Over => self.slots.ready.push_back(slot),
            TurnEnd::Waits => self.slots.waiting.push(slot),
            TurnEnd::Finished => {}
            TurnEnd::TookOff { kind, timed } => {
                self.slots.at_once = false;
                self.took_off(slot, kind, timed, NO_PART);
            }
            TurnEnd::CheckTookOff => {
                self.slots.at_once = false;
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
        let step = self.job.next(slot);
        let operation = match &step {
            Step::Operation(operation) => operation,
            Step::Check(operation) => {
                match session.submit(slot, operation)? {
                    None => self.check_took_off(slot),
                    Some(ref reply) => {
                        self.checked(slot, reply);
                        self.slots.ready.push_back(slot);
                    }
                }
                return Ok(());
            }
            Step::Wait => {
                self.slots.waiting.push(slot);
                return Ok(());
            }
            Step::Finished => return Ok(()),
        };
        let kind = operation.kind();
        let part = part_of(self.dark.as_ref(), session, operation);
        self.books.counts.bytes_written += operation.bytes_written();
        let timed = self.sampling.times();
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
        self.slots.at_once = true;
        if timed {
            let start = self.time.now;
            self.time.look();
            match reply {
                Reply::Failed(_) => self.books.fail(kind, self.time.now),
                _ => {
                    self.books.respond(kind, self.time.now, self.time.clock.ns(self.time.now.saturating_sub(start)), 1);
                }
            }
        }
        self.complete(slot, kind, reply);
        self.slots.ready.push_back(slot);
    }

    /// An operation is in flight; it is stamped when the others are that are sent with it.
    #[inline(always)]
    fn took_off(&mut self, slot: Slot, kind: OperationKind, timed: bool, part: u16) {
        let flight = Flight::Operation;
        self.slots.took_off(slot, InFlight { kind, timed, flight, sent: 0, due: 0, part });
    }

    /// Notes that a check is in flight, and stamps the check like the operations, for its deadline.
    #[cold]
    pub(super) fn check_took_off(&mut self, slot: Slot) {
        self.slots.took_off(slot, InFlight::CHECK);
    }

    /// Reads the clock one time for all operations that are about to be sent together.
    #[inline]
    pub(super) fn stamp_submitted(&mut self) {
        if self.slots.submitted.is_empty() {
            return;
        }
        self.time.look();
        self.slots.stamp(self.time.now);
    }
}
