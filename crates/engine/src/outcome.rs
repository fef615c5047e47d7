//! What a phase did.

use crate::histogram::Histogram;
use crate::offence::Offences;
use std::time::Duration;
use store::{OperationKind, Reply};
use study::{CurvePoint, Latencies, SeriesPoint, Stall};

/// Why a phase ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The job had no more to do, or the duration was over.
    #[default]
    Completed,
    /// The user interrupted.
    Interrupted,
    /// The store no longer answers: a deadline passed, or the connection is gone for good.
    Unanswered,
}

/// Counts of one thread or phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations with a reply, good or bad.
    pub operations: u64,
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// Operations that failed or were answered wrongly.
    pub errors: u64,
    /// Compare-and-set operations that lost their race.
    pub conflicts: u64,
    /// Open loop: operations due within the time, or left of the job's own number, and never sent.
    pub not_sent: u64,
    /// Value bytes read.
    pub bytes_read: u64,
    /// Key and value bytes sent to be written.
    pub bytes_written: u64,
}

impl Counts {
    /// Counts one reply to an operation of this kind.
    #[inline(always)]
    pub(crate) fn add(&mut self, kind: OperationKind, reply: &Reply<'_>) {
        self.operations += 1;
        match reply {
            Reply::Value(value) | Reply::Versioned { value, .. } => {
                self.hits += 1;
                self.bytes_read += value.len() as u64;
            }
            Reply::Missing if kind != OperationKind::Delete => self.misses += 1,
            Reply::Conflict => self.conflicts += 1,
            Reply::Rows(rows) => self.bytes_read += rows.bytes_len() as u64,
            _ => {}
        }
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Counts) {
        self.operations += other.operations;
        self.hits += other.hits;
        self.misses += other.misses;
        self.errors += other.errors;
        self.conflicts += other.conflicts;
        self.not_sent += other.not_sent;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
    }
}

/// Latency distributions of one thread or phase.
#[derive(Clone, Debug)]
pub struct Histograms {
    /// From actual send to reply.
    pub service: Histogram,
    /// Open loop: from intended send to actual send.
    pub send_lag: Histogram,
    /// Open loop: how much of that no slot was waited for.
    pub client_lag: Histogram,
    /// From intended send to reply, by kind of operation. Under closed loop intended is actual.
    pub response: [Histogram; OperationKind::ALL.len()],
}

impl Default for Histograms {
    fn default() -> Self {
        Histograms {
            service: Histogram::default(),
            send_lag: Histogram::default(),
            client_lag: Histogram::default(),
            response: std::array::from_fn(|_| Histogram::default()),
        }
    }
}

impl Histograms {
    /// Adds other distributions.
    pub fn merge(&mut self, other: &Histograms) {
        self.service.merge(&other.service);
        self.send_lag.merge(&other.send_lag);
        self.client_lag.merge(&other.client_lag);
        for (mine, theirs) in self.response.iter_mut().zip(&other.response) {
            mine.merge(theirs);
        }
    }

    /// The summaries of `study.json`.
    pub fn latencies(&self) -> Latencies {
        let mut all = Histogram::default();
        self.response.iter().for_each(|one| all.merge(one));
        let response = all.summary();
        Latencies {
            service: if self.service.n() > 0 { self.service.summary() } else { response },
            response,
            send_lag: self.send_lag.summary(),
            percentiles: all.percentiles(),
            client_lag: self.client_lag.summary(),
            by_operation: OperationKind::ALL
                .iter()
                .zip(&self.response)
                .filter(|(_, histogram)| histogram.n() > 0)
                .map(|(kind, histogram)| (kind.name().to_owned(), histogram.summary()))
                .collect(),
        }
    }
}

/// What a phase did, over all threads.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// From the first thread's start to the last thread's end.
    pub elapsed: Duration,
    /// Why it ended.
    pub end: End,
    /// Counts.
    pub counts: Counts,
    /// Latency distributions.
    pub histograms: Histograms,
    /// Rate and tail over time.
    pub series: Vec<SeriesPoint>,
    /// Rate and tail against records stored, when the trial's growth is watched.
    pub curve: Vec<CurvePoint>,
    /// Times without any reply, when the trial's growth is watched; causes are not known here.
    pub stalls: Vec<Stall>,
    /// What was wrong.
    pub offences: Offences,
    /// CPU time of the client threads.
    pub client_cpu: Duration,
    /// Largest share of a processor one thread used, 0 to 1.
    pub thread_load: f64,
    /// Longest time one thread was ready to run but had no processor.
    pub run_delay: Duration,
    /// Client threads there were.
    pub threads: u32,
}
