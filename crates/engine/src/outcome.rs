//! What a phase did.

use crate::dark::Darkness;
use crate::growth::Grown;
use jobkit::Offences;
use measure::{Counts, Histograms, Timeline};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use study::{CurvePoint, HeadOfLine, SeriesPoint, Stall};

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

/// The outcome of a phase, over all threads: plain data that can be sent, and merged with the outcomes of others in the same phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The time from the first thread's start to the last thread's end; where the time given ended the phase, that time; else, of an open
    /// loop, at least until the next operation would have been due.
    pub elapsed: Duration,
    /// Where the time given ended the phase: the time from then to the last reply.
    pub drain: Option<Duration>,
    /// The operations offered, under open loop.
    pub offered: Option<Offered>,
    /// The time by which the first thread began later than it was told to; of several, the longest.
    #[serde(default)]
    pub late_start: Duration,
    /// Why it ended.
    pub end: End,
    /// Counts.
    pub counts: Counts,
    /// Latency distributions.
    pub histograms: Histograms,
    /// Rate and tail over time.
    pub timeline: Timeline,
    /// The growth that each thread saw, when the trial's growth is watched.
    pub growth: Vec<Grown>,
    /// Times in which a part of the key space had no answers, where nodes fail on purpose.
    pub dark: Vec<Darkness>,
    /// The wrong replies.
    pub offences: Offences,
    /// CPU time of the client threads.
    pub client_cpu: Duration,
    /// Largest share of a processor one thread used, 0 to 1.
    pub thread_load: f64,
    /// Longest time one thread was ready to run but had no processor.
    pub run_delay: Duration,
    /// Connections that broke, or that the server closed, and that were opened again.
    pub reconnected: u64,
    /// The requests that replies had to wait behind, where clients shared connections.
    pub head_of_line: Option<HeadOfLine>,
    /// Client threads there were.
    pub threads: u32,
}

/// The operations that an open loop offered the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Offered {
    /// The rate asked for: operations per second, or units where those arrive.
    pub asked_per_s: f64,
    /// The number of operations sent.
    pub sent: u64,
    /// The time from the start until the next operation would have been due.
    pub within: Duration,
    /// The time by which the last operation was sent later than due.
    pub late: Duration,
}

impl Offered {
    /// Returns the rate at which they were sent, per second.
    pub fn per_s(&self) -> f64 {
        self.sent as f64 / (self.within + self.late).as_secs_f64().max(1e-9)
    }

    /// Returns the share of the rate asked for that was not offered because the last were sent late, 0 to 1.
    pub fn shortfall(&self) -> f64 {
        self.late.as_secs_f64() / (self.within + self.late).as_secs_f64().max(1e-9)
    }

    /// Returns the operations that both offered at the same time.
    pub fn and(self, other: Offered) -> Offered {
        Offered {
            asked_per_s: self.asked_per_s + other.asked_per_s,
            sent: self.sent + other.sent,
            within: self.within.max(other.within),
            late: self.late.max(other.late),
        }
    }
}

impl Outcome {
    /// Adds what others did in the same phase at the same time: other threads, or workers. However the work was shared out,
    /// the sum is what one that did all of it had recorded.
    pub fn merge(&mut self, other: Outcome) {
        self.elapsed = self.elapsed.max(other.elapsed);
        self.drain = self.drain.max(other.drain);
        self.offered = self.offered.into_iter().chain(other.offered).reduce(Offered::and);
        self.late_start = self.late_start.max(other.late_start);
        self.end = self.end.max(other.end);
        self.counts.merge(&other.counts);
        self.histograms.merge(&other.histograms);
        self.timeline.merge(other.timeline);
        self.growth.extend(other.growth);
        self.dark.extend(other.dark);
        self.offences.merge(other.offences);
        self.client_cpu += other.client_cpu;
        self.thread_load = self.thread_load.max(other.thread_load);
        self.run_delay = self.run_delay.max(other.run_delay);
        self.reconnected += other.reconnected;
        self.head_of_line = self.head_of_line.into_iter().chain(other.head_of_line).reduce(HeadOfLine::and);
        self.threads += other.threads;
    }

    /// Returns rate and tail over time.
    pub fn series(&self) -> Vec<SeriesPoint> {
        self.timeline.points(self.elapsed + self.drain.unwrap_or_default())
    }

    /// Returns rate and tail against records stored, when the trial's growth is watched.
    pub fn curve(&self) -> Vec<CurvePoint> {
        Grown::curve(&self.growth)
    }

    /// Returns the times without any reply, when the trial's growth is watched; causes are not known here. `None`: of an open loop only its
    /// [series](Outcome::series) can say.
    pub fn stalls(&self) -> Option<Vec<Stall>> {
        Grown::looks_for_stalls(&self.growth).then(|| Grown::stalls(&self.growth))
    }
}
