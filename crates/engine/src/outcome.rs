//! What a phase did.

use crate::growth::Grown;
use crate::histogram::Histogram;
use crate::offence::Offences;
use crate::series::Timeline;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use store::{OperationKind, Reply};
use study::{CurvePoint, Latencies, SeriesPoint, Stall};

/// Why a phase ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Operations with a reply, good or bad.
    pub operations: u64,
    /// Checks between them with a reply, good or bad: they are in no other figure but `errors`.
    pub checks: u64,
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
        self.checks += other.checks;
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// What a phase did, over all threads: plain data that can be sent, and merged with what others did in the same phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    pub timeline: Timeline,
    /// What each thread saw of the store's growth, when the trial's growth is watched.
    pub growth: Vec<Grown>,
    /// What was wrong.
    pub offences: Offences,
    /// CPU time of the client threads.
    pub client_cpu: Duration,
    /// Largest share of a processor one thread used, 0 to 1.
    pub thread_load: f64,
    /// Longest time one thread was ready to run but had no processor.
    pub run_delay: Duration,
    /// Connections that broke, or that the server closed, and that were opened again.
    pub reconnected: u64,
    /// Client threads there were.
    pub threads: u32,
}

impl Outcome {
    /// Adds what others did in the same phase at the same time: other threads, or workers. However the work was shared out,
    /// the sum is what one that did all of it had recorded.
    pub fn merge(&mut self, other: Outcome) {
        self.elapsed = self.elapsed.max(other.elapsed);
        self.end = self.end.max(other.end);
        self.counts.merge(&other.counts);
        self.histograms.merge(&other.histograms);
        self.timeline.merge(other.timeline);
        self.growth.extend(other.growth);
        self.offences.merge(other.offences);
        self.client_cpu += other.client_cpu;
        self.thread_load = self.thread_load.max(other.thread_load);
        self.run_delay = self.run_delay.max(other.run_delay);
        self.reconnected += other.reconnected;
        self.threads += other.threads;
    }

    /// Rate and tail over time.
    pub fn series(&self) -> Vec<SeriesPoint> {
        self.timeline.points(self.elapsed)
    }

    /// Rate and tail against records stored, when the trial's growth is watched.
    pub fn curve(&self) -> Vec<CurvePoint> {
        Grown::curve(&self.growth)
    }

    /// Times without any reply, when the trial's growth is watched; causes are not known here.
    pub fn stalls(&self) -> Vec<Stall> {
        Grown::stalls(&self.growth)
    }
}
