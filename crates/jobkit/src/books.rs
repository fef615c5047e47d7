//! What a thread writes down of the replies it gets.

use crate::offence::{Offence, Offences};
use measure::{Counts, Histograms, Live, Series, Ticks};
use store::OperationKind;
use study::ReasonKind;

/// A thread's books.
pub struct Books<'a> {
    /// The number of operations, and their results.
    pub counts: Counts,
    /// Latencies.
    pub histograms: Histograms,
    /// Rate and tail over time.
    pub series: Series,
    /// The wrong replies.
    pub offences: Offences,
    /// Operations since the last good reply whose connection was lost, or that had none in time.
    pub lost_in_a_row: u32,
    live: &'a Live,
}

impl<'a> Books<'a> {
    /// Makes empty books; whatever is added to them shows in `live`.
    pub fn new(series: Series, live: &'a Live) -> Books<'a> {
        Books {
            counts: Counts::default(),
            histograms: Histograms::default(),
            series,
            offences: Offences::default(),
            lost_in_a_row: 0,
            live,
        }
    }

    /// Notes at `now` that an operation failed: it has no latency.
    #[cold]
    pub fn fail(&mut self, kind: OperationKind, now: Ticks) {
        self.series.pass(now, &self.histograms, self.live);
        self.histograms.response[kind as usize].fail();
    }

    /// Notes the latency of good replies that came at `now`.
    #[inline(always)]
    pub fn respond(&mut self, kind: OperationKind, now: Ticks, ns: u64, replies: u32) {
        self.series.note(now, ns, &self.histograms, self.live);
        self.histograms.response[kind as usize].record_many(ns, replies);
    }

    /// Counts what is wrong with a reply.
    #[cold]
    pub fn offend(&mut self, offence: Offence) {
        self.counts.errors += 1;
        self.series.error();
        self.live.add_error();
        if matches!(offence.kind(), ReasonKind::ConnectionLost | ReasonKind::NotConnected | ReasonKind::Deadline) {
            self.lost_in_a_row += 1;
        }
        self.offences.add(offence);
    }

    /// Adds what the histograms have gained to the interval under way.
    pub fn close(&mut self) {
        self.series.take_counts(&self.histograms, self.live);
    }
}
