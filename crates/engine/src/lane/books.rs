//! What a thread writes down of the replies it gets.

use crate::clock::Ticks;
use crate::live::Live;
use crate::offence::{Offence, Offences};
use crate::outcome::{Counts, Histograms};
use crate::series::Series;
use store::OperationKind;
use study::ReasonKind;

/// A thread's books.
pub(crate) struct Books<'a> {
    pub(crate) counts: Counts,
    pub(crate) histograms: Histograms,
    pub(crate) series: Series,
    pub(crate) offences: Offences,
    /// Connections lost since the last good reply.
    pub(super) lost_in_a_row: u32,
    live: &'a Live,
}

impl<'a> Books<'a> {
    pub(super) fn new(series: Series, live: &'a Live) -> Books<'a> {
        Books {
            counts: Counts::default(),
            histograms: Histograms::default(),
            series,
            offences: Offences::default(),
            lost_in_a_row: 0,
            live,
        }
    }

    /// Notes the latency of replies that came at `now`.
    #[inline(always)]
    pub(super) fn respond(&mut self, kind: OperationKind, now: Ticks, ns: u64, replies: u32) {
        self.series.note(now, ns, &self.histograms, self.live);
        self.histograms.response[kind as usize].record_many(ns, replies);
    }

    /// Counts what is wrong with a reply.
    #[cold]
    pub(super) fn offend(&mut self, offence: Offence) {
        self.counts.errors += 1;
        self.series.error();
        self.live.add_error();
        if offence.kind() == ReasonKind::ConnectionLost {
            self.lost_in_a_row += 1;
        }
        self.offences.add(offence);
    }

    /// What the histograms have gained belongs to the interval under way.
    pub(super) fn close(&mut self) {
        self.series.take_counts(&self.histograms, self.live);
    }
}
