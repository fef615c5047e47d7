//! Closed loop: a slot sends its next operation when it has the reply to the last.

use super::{InFlight, Lane};
use crate::job::Step;
use crate::outcome::Counts;
use store::{Heed, OperationKind, Reply, Session, Slot, StoreError};

/// Operations of one slot before the others have their turn, where replies come at once.
const TURN: u32 = 64;

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
                return Ok(()); // time passes within the turn of a store that answers at once
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

    /// Closed loop: the slot's next operation; where replies come at once, up to [`TURN`] of them. Counts are kept in locals
    /// within a turn: on the null store every store to memory shows.
    #[inline]
    fn run_slot(&mut self, session: &mut dyn Session, slot: Slot) -> Result<(), StoreError> {
        let chained = self.chained && self.every == 1;
        let mut start = if chained { self.clock.now() } else { 0 };
        let mut tally = Counts::default();
        let mut turns_left = TURN;
        self.look_ahead(session, slot);
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
                                self.series.note(self.now, ns, &self.histograms, self.signals.live);
                                self.histograms.response[kind as usize].record(ns);
                                start = self.now;
                            }
                            tally.add(kind, reply);
                            if let Err(offence) = self.job.reply(slot, reply) {
                                self.offend(offence);
                            }
                            if timed && self.now >= self.end {
                                self.ready.push_back(slot); // a slow store's turn would go on for long
                                break Ok(());
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
        session.rest(slot);
        self.series.count(tally.operations);
        self.counts.merge(&tally);
        if self.growth.watches() && tally.operations > 0 {
            self.now = self.clock.now();
            self.growth.batch(self.now, self.job.stored(), &self.histograms);
        }
        result
    }

    /// Tells a store that heeds it the keys of a turn to come, all at once: so their lines of memory are fetched side by side.
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
        match session.submit(slot, operation) {
            Ok(None) => {
                self.took_off(slot, kind, timed);
                Ok(())
            }
            Ok(Some(ref reply)) => {
                self.answered_at_once(slot, kind, timed, reply);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// A session that answered later answers at once, for a change.
    #[cold]
    fn answered_at_once(&mut self, slot: Slot, kind: OperationKind, timed: bool, reply: &Reply<'_>) {
        self.at_once = true;
        if timed {
            let start = self.now;
            self.now = self.clock.now();
            let ns = self.clock.ns(self.now.saturating_sub(start));
            self.series.note(self.now, ns, &self.histograms, self.signals.live);
            self.histograms.response[kind as usize].record(ns);
        }
        self.complete(slot, kind, reply);
        self.ready.push_back(slot);
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
