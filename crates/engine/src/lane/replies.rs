//! What is done with a reply: timed, counted, checked by the job.

use super::{InFlight, Lane};
use crate::clock::Ticks;
use crate::offence::Offence;
use store::{OperationKind, Reply, Sink, Slot};
use study::ReasonKind;

/// Replies of one kind that arrived together to operations sent together: one latency, recorded once.
pub(super) struct Burst {
    kind: OperationKind,
    sent: Ticks,
    arrived: Ticks,
    replies: u32,
}

impl Burst {
    /// Nothing has arrived.
    pub(super) const NONE: Burst = Burst { kind: OperationKind::Get, sent: 0, arrived: 0, replies: 0 };
}

impl Lane<'_> {
    /// Closes the books.
    pub(crate) fn finish(&mut self) {
        self.record_burst();
        self.series.take_counts(&self.histograms, self.signals.live);
        self.growth.finish(self.clock.now(), self.job.stored(), &self.histograms);
    }

    /// Records the latency of the replies since the last call.
    pub(super) fn record_burst(&mut self) {
        let burst = &mut self.burst;
        let replies = std::mem::take(&mut burst.replies);
        if replies > 0 {
            let ns = self.clock.ns(burst.arrived.saturating_sub(burst.sent));
            self.series.note(burst.arrived, ns, &self.histograms, self.signals.live);
            self.histograms.response[burst.kind as usize].record_many(ns, replies);
        }
    }

    /// What follows was sent at another time than what was before it, or is of another kind.
    #[inline(never)]
    fn begin_burst(&mut self, kind: OperationKind, sent: Ticks) {
        self.record_burst();
        self.burst = Burst { kind, sent, arrived: self.now, replies: 0 };
    }

    #[cold]
    fn unasked(&mut self, reply: &Reply<'_>) {
        self.offend(Offence::new(ReasonKind::Protocol, b"", format!("a reply nobody asked for: {reply:?}")));
    }

    /// Counts a reply and lets the job check it.
    #[inline(always)]
    pub(super) fn complete(&mut self, slot: Slot, kind: OperationKind, reply: &Reply<'_>) {
        self.counts.add(kind, reply);
        self.series.count(1);
        match self.job.reply(slot, reply) {
            Ok(()) => self.lost_in_a_row = 0,
            Err(offence) => self.offend(offence),
        }
    }

    /// Counts what is wrong with a reply.
    #[cold]
    pub(super) fn offend(&mut self, offence: Offence) {
        self.counts.errors += 1;
        self.series.error();
        self.signals.live.add_error();
        if offence.kind() == ReasonKind::ConnectionLost {
            self.lost_in_a_row += 1;
        }
        self.offences.add(offence);
    }
}

impl Sink for Lane<'_> {
    #[inline]
    fn arrived(&mut self) {
        self.record_burst();
        self.now = self.clock.now();
        self.burst.arrived = self.now;
        if self.growth.watches() {
            self.growth.batch(self.now, self.job.stored(), &self.histograms);
        }
    }

    #[inline]
    fn reply(&mut self, slot: Slot, reply: &Reply<'_>) {
        let state = &mut self.in_flight[slot as usize];
        if !state.active {
            return self.unasked(reply);
        }
        state.active = false;
        let InFlight { kind, timed, sent, due, .. } = *state;
        self.active -= 1;
        if self.schedule.is_some() {
            if self.ready.is_empty() {
                self.free_since = self.now;
            }
            self.record_open(kind, sent, due);
        } else if timed {
            if sent != self.burst.sent || kind != self.burst.kind {
                self.begin_burst(kind, sent);
            }
            self.burst.replies += 1;
        }
        self.complete(slot, kind, reply);
        self.ready.push_back(slot);
    }
}
