//! One execution of one job on one store.

use crate::distribution::is_zero;
use crate::{
    Answer, CurvePoint, DarkTime, FaultRecord, HeadOfLine, History, Latencies, LatencyDistributions, LatencySummary,
    NodeUse, Noise, Stall, Verdict, WorkerUse, WriteAccount,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A point of a trial's time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeriesPoint {
    /// End of the interval, seconds since the clock was switched on.
    pub at_s: f64,
    /// Operations completed in the interval.
    pub operations: u64,
    /// Operations in the interval that failed or were answered wrongly.
    pub errors: u64,
    /// Response time of what was answered, 99th percentile in the interval (≤ 7 % error), ns.
    pub p99_ns: u64,
    /// Largest response time of what was answered in the interval, ns.
    pub max_ns: u64,
}

/// The record of a trial's phase. Timed phases make up the makespan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseRecord {
    /// `load`, `run`, `read back`, or the job's own name.
    pub name: String,
    /// Whether the phase counts into the makespan.
    pub timed: bool,
    /// Wall time, seconds. Where the time given ended it: that time.
    pub elapsed_s: f64,
    /// Operations completed, good or bad.
    pub operations: u64,
    /// The operations of these that failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed_operations: u64,
    /// The operations that did not fail and were answered after the time given was over.
    #[serde(skip_serializing_if = "is_zero")]
    pub answered_late: u64,
    /// Records written or read: more than the operations where one carries several.
    pub records: u64,
    /// Response time of its operations, ns.
    pub response_ns: LatencySummary,
    /// The histograms behind its latencies: those of several trials are added to each other.
    #[serde(skip_serializing_if = "LatencyDistributions::is_empty")]
    pub distributions: LatencyDistributions,
    /// Client CPU seconds, all threads.
    pub client_cpu_s: f64,
    /// Bytes on disk when it was over, when the store's directory is ours.
    pub disk_bytes: Option<u64>,
}

/// The figures of reading back, in the phases that only verify.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadBackFigures {
    /// Operations completed.
    pub operations: u64,
    /// Records read: more than the operations where one carries several.
    pub records: u64,
    /// Value bytes read.
    pub bytes_read: u64,
    /// Wall time, from the begin of each of these phases to its end, seconds.
    pub elapsed_s: f64,
    /// Records per second.
    pub records_per_s: f64,
    /// Longest wait for a reply, ns.
    pub longest_ns: u64,
}

/// The resources the server process used during the timed phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerUse {
    /// User and system CPU seconds.
    pub cpu_s: f64,
    /// Peak resident set.
    pub peak_rss_bytes: u64,
}

/// The number of failed operations, by what is known of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FailedCounts {
    /// The store refused them: they did not happen.
    pub refused: u64,
    /// Never sent, for lack of a connection: they did not happen.
    pub not_connected: u64,
    /// Operations that may have happened: the connection broke, no reply came in time, or the store does not know.
    pub unknown: u64,
}

impl FailedCounts {
    /// Returns whether no operation failed.
    pub fn is_none(&self) -> bool {
        *self == FailedCounts::default()
    }
}

/// A trial as it is recorded in `study.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrialRecord {
    /// Position in the study's random order, from 1.
    pub order: u32,
    /// Warm-up trials are recorded but never counted.
    pub warmup: bool,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Sum of the timed phases, including the flush that durability demands, seconds. Of a phase that the time given ended: that time.
    pub makespan_s: f64,
    /// Operations completed in the timed phases, good or bad.
    pub operations: u64,
    /// The operations of these that failed. `None` in studies of earlier builds.
    pub failed_operations: Option<u64>,
    /// The operations that did not fail and were answered after the time given was over: they are not in the rates.
    #[serde(skip_serializing_if = "is_zero")]
    pub answered_late: u64,
    /// Operations answered per second over the timed phases, within the time where one was given.
    pub ops_per_s: f64,
    /// Open loop: what was sent per second, operations or, where those arrive, units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_per_s: Option<f64>,
    /// Where the time given ended the timed phases: seconds from then until the last reply had come and the store was flushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_s: Option<f64>,
    /// Reads mixed into timed phases that only write, to check what was just written: counted apart, in no other figure but `errors`.
    pub checks: u64,
    /// Latencies of the timed phases.
    pub latency_ns: Latencies,
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// Operations that failed or were answered wrongly.
    pub errors: u64,
    /// The operations of these that failed, over all phases; the others were answered wrongly.
    #[serde(skip_serializing_if = "FailedCounts::is_none")]
    pub failed: FailedCounts,
    /// Compare-and-set operations that lost their race and were repeated.
    pub retries: u64,
    /// Requests the adapter sent again because the store had undone them (deadlock, serialisation failure), over all phases.
    pub resent: u64,
    /// Open loop: operations due but never sent.
    pub not_sent: u64,
    /// Value bytes read.
    pub bytes_read: u64,
    /// Key and value bytes written.
    pub bytes_written: u64,
    /// Client CPU seconds in the timed phases, all threads.
    pub client_cpu_s: f64,
    /// Largest share of a processor used by one client thread, 0 to 1.
    pub client_thread_load: f64,
    /// Largest share of the time one client thread was ready to run but had no processor, 0 to 1.
    pub client_run_delay: f64,
    /// Client threads.
    pub client_threads: u32,
    /// Client's peak resident set in bytes.
    pub client_rss_bytes: u64,
    /// Server process use, of a private server or one of the user's that was found on this machine (an embedded store's is in the
    /// client's figures).
    pub server: Option<ServerUse>,
    /// The resources each node of a private deployment used, where it has several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeUse>,
    /// The faults done to the store's nodes on purpose, in the order planned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRecord>,
    /// Times in which a part of the key space had no answers, in order; watched only where nodes fail on purpose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dark: Vec<DarkTime>,
    /// The fate of the writes: acknowledged and lost, failed and absent, failed and present. `None`: not everything was read back, or the
    /// job does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<WriteAccount>,
    /// How long before a node was struck the oldest of the lost writes was acknowledged; 0: after the last strike. `None`: none was lost,
    /// or the job does not record it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_lost_s: Option<f64>,
    /// What clients saw, key by key. `None`: it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
    /// Bytes on disk after the job, when the store's directory is ours.
    pub disk_bytes: Option<u64>,
    /// The figures of reading back, where there is something to read back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_back: Option<ReadBackFigures>,
    /// Connections that broke, or that the server closed, and that were opened again, over all phases.
    pub reconnected: u64,
    /// The requests that replies had to wait behind in the timed phases, where clients shared connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_of_line: Option<HeadOfLine>,
    /// The workers that shared the clients of the trial among themselves; empty where kvtrial alone drove all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerUse>,
    /// Several workers: operations per second in the time in which all of them ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops_per_s_together: Option<f64>,
    /// Several workers: how much later than the first the last of them began, as measured, seconds; of several phases the longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_spread_s: Option<f64>,
    /// The disturbances of the trial.
    pub noise: Noise,
    /// Every phase, in order.
    pub phases: Vec<PhaseRecord>,
    /// Rate and p99 over time; at most 600 points, intervals double when it grows longer.
    pub series: Vec<SeriesPoint>,
    /// Rate and tail against records stored, for jobs whose growth is watched; a point every 1/200 of the run or million records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
    /// Times without any reply, for jobs whose growth is watched; of the others, intervals of the series that stand out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    /// The answer.
    pub answer: Answer,
    /// The verdict on this trial.
    pub verdict: Verdict,
    /// Anything a later version adds.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

impl TrialRecord {
    /// Returns whether operations failed while nodes failed on purpose. The trial's answer then covers only what took effect, and must not
    /// be compared with another.
    pub fn failed_in_fault(&self) -> bool {
        !self.faults.is_empty() && !self.failed.is_none()
    }
}
