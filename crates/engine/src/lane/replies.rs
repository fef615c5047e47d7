//! What is done with a reply: timed, counted, checked by the job.

use super::sampling::Burst;
use super::{Dark, Flight, InFlight, Lane};
use crate::schedule::Next;
use jobkit::Offence;
use measure::Ticks;
use store::{OperationKind, Reply, Sink, Slot};
use study::ReasonKind;

impl Lane<'_> {
    /// Closes the books.
    pub(crate) fn finish(&mut self) {
        if let Some(open) = &mut self.open {
            open.arrival = Next::Unknown; // another thread sends it, if there is one
        }
        self.record_burst();
        let answered = self.books.counts.answered();
        self.books.counts.late = answered - self.time.in_time.unwrap_or(answered);
        self.books.close();
        self.growth.finish(self.time.clock.now(), self.job.stored(), &self.books.histograms);
    }

    /// Records the latency of the replies since the last call.
    pub(super) fn record_burst(&mut self) {
        let burst = &mut self.sampling.burst;
        let replies = std::mem::take(&mut burst.replies);
        if replies > 0 {
            let ns = self.time.clock.ns(burst.arrived.saturating_sub(burst.sent));
            self.books.respond(burst.kind, burst.arrived, ns, replies);
        }
    }

    /// What follows was sent at another time than what was before it, or is of another kind.
    #[inline(never)]
    fn begin_burst(&mut self, kind: OperationKind, sent: Ticks) {
        self.record_burst();
        self.sampling.burst = Burst { kind, sent, arrived: self.time.now, replies: 0 };
    }

    /// A reply that is not to an operation.
    #[cold]
    fn beside(&mut self, slot: Slot, reply: &Reply<'_>) {
        if self.slots.in_flight[slot as usize].flight != Flight::Check {
            return self.unasked(reply);
        }
        self.slots.in_flight[slot as usize].flight = Flight::Nothing;
        self.slots.active -= 1;
        if let Some(open) = &mut self.open
            && self.slots.ready.is_empty()
        {
            open.free_since = self.time.now;
        }
        self.checked(slot, reply);
        self.slots.ready.push_back(slot);
    }

    /// Counts the reply to a check and lets the job look at it.
    #[cold]
    pub(super) fn checked(&mut self, slot: Slot, reply: &Reply<'_>) {
        self.books.counts.checks += 1;
        if let Reply::Failed(failure) = reply {
            self.books.counts.fail(*failure);
        }
        match self.job.reply(slot, reply) {
            Ok(()) => self.books.lost_in_a_row = 0,
            Err(offence) => self.books.offend(offence),
        }
    }

    #[cold]
    fn unasked(&mut self, reply: &Reply<'_>) {
        self.books.offend(Offence::new(ReasonKind::Protocol, b"", format!("a reply nobody asked for: {reply:?}")));
    }

    /// Counts a reply and lets the job check it.
    #[inline(always)]
    pub(super) fn complete(&mut self, slot: Slot, kind: OperationKind, reply: &Reply<'_>) {
        self.books.counts.add(kind, reply);
        self.books.series.count(1);
        match self.job.reply(slot, reply) {
            Ok(()) => self.books.lost_in_a_row = 0,
            Err(offence) => self.books.offend(offence),
        }
    }
}

impl Sink for Lane<'_> {
    #[inline]
    fn arrived(&mut self) {
        self.record_burst();
        self.time.look();
        self.sampling.burst.arrived = self.time.now;
        if self.time.has_just_ended() {
            self.end_time(None);
        }
        if self.growth.watches() {
            self.growth.batch(self.time.now, self.job.stored(), &self.books.histograms);
        }
    }

    #[inline]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        let state = &mut self.slots.in_flight[slot as usize];
        if state.flight != Flight::Operation {
            return self.beside(slot, reply);
        }
        state.flight = Flight::Nothing;
        let InFlight { kind, timed, sent, due, part, .. } = *state;
        self.slots.active -= 1;
        if let Some(Dark { lights, gaps }) = &mut self.dark {
            match reply {
                Reply::Failed(_) => lights.failed(part, sent),
                _ => lights.good(part, sent, self.time.now, gaps),
            }
        }
        if let Some(open) = &mut self.open {
            open.last_reply = self.time.now;
            if self.slots.ready.is_empty() {
                open.free_since = self.time.now;
            }
            self.record_open(kind, sent, due, reply);
        } else if timed && matches!(reply, Reply::Failed(_)) {
            self.books.fail(kind, self.time.now);
        } else if timed {
            if sent != self.sampling.burst.sent || kind != self.sampling.burst.kind {
                self.begin_burst(kind, sent);
            }
            self.sampling.burst.replies += 1;
        }
        self.complete(slot, kind, reply);
        self.slots.ready.push_back(slot);
    }
}
