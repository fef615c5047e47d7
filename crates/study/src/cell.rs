//! All trials of one combination of job, store and parameters.

use crate::{
    Answer, Budget, BudgetLayer, Class, CurvePoint, Durability, DurabilitySource, FaultFigures, GrowthFacts, Latencies,
    Measure, NeedShown, Quantity, ShownPromise, Stall, Transport, TrialRecord, Verdict, archived,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The job, store and parameters that identify a cell within a study.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CellKey {
    /// Name of the job.
    pub job: String,
    /// The store's spec without secrets, e.g. `redis-unix` or `lmdb,durability=commit`.
    pub store: String,
    /// Job and engine parameters, as text.
    pub params: BTreeMap<String, String>,
}

/// Warm-ups and repeats of one combination, with their summary. The summary is computed from the trials that are not warm-ups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cell {
    /// Name of the job.
    pub job: String,
    /// The store's spec without secrets.
    pub store: String,
    /// Job and engine parameters, as text.
    pub params: BTreeMap<String, String>,
    /// The value of every varied key that this store takes (store options too, which are part of `store`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub varied: BTreeMap<String, String>,
    /// Facts of the input that differ between this cell and the others of its study: `records`, `bytes`, ...
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub input: BTreeMap<String, serde_json::Value>,
    /// Whether this cell is a baseline, such as `null`, `ram` or `echo`: added for comparison.
    pub baseline: bool,
    /// For a baseline: the last layer of cost the baseline includes. Read this with [`Cell::layer`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<BudgetLayer>,
    /// How the cell's server is reached on this machine. `None` for a library, and when the server is elsewhere. Read this with
    /// [`Cell::transport`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// The class: cells are ranked within one class unless the user asks otherwise.
    pub class: Class,
    /// On how many servers each pair is once all is well. `None` of a library, of a server of the user's, and in studies of earlier builds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<u32>,
    /// The figure this cell is ranked by.
    pub measure: Measure,
    /// The verdict over all counted trials; `not_run` while there are none.
    pub verdict: Verdict,
    /// Operations the store lacks and the job emulated, e.g. `append`.
    pub emulated: Vec<String>,
    /// Durability level in effect.
    pub durability: Option<Durability>,
    /// The source of the durability level; `None` in studies of earlier builds.
    pub durability_source: Option<DurabilitySource>,
    /// The result of earlier crashes at that level, with this version and these settings; `None`: only the store vouches for the level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability_shown: Option<ShownPromise>,
    /// The product that was really measured, e.g. `Redis` or `FerretDB`.
    pub product: String,
    /// The version that the store reports.
    pub store_version: String,
    /// Effective configuration read back from the store.
    pub store_config: BTreeMap<String, String>,
    /// The same as lines of the store's own configuration, or of the code that opens it, ready to copy; empty where it has no such form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_up: Vec<String>,
    /// The answer all counted trials agree on.
    pub answer: Answer,
    /// Time from the first to the last operation of the timed phases.
    pub makespan_s: Option<Quantity>,
    /// Operations answered per second.
    pub ops_per_s: Option<Quantity>,
    /// Latencies of all counted trials together: their histograms are added to each other. In studies of earlier builds percentiles are
    /// medians over trials.
    pub latency_ns: Latencies,
    /// 99th percentile of response time of all operations of the counted trials, failed ones as slower than all; the interval is that of the
    /// trials.
    pub p99_ns: Option<Quantity>,
    /// Share of the operations of the counted trials that failed, 0 to 1; the interval is that of the trials. `None` in studies of earlier builds.
    pub failed_share: Option<Quantity>,
    /// Sum over counted trials.
    pub hits: u64,
    /// Sum over counted trials.
    pub misses: u64,
    /// Sum over counted trials.
    pub errors: u64,
    /// Sum over counted trials.
    pub retries: u64,
    /// Requests adapters sent again because the store had undone them; sum over counted trials.
    pub resent: u64,
    /// Records read back per second.
    pub read_back_per_s: Option<Quantity>,
    /// Open loop: what was sent per second, operations or, where those arrive, units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_per_s: Option<Quantity>,
    /// Units of work done per second, where a job counts units of several operations: calls of a script's `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units_per_s: Option<Quantity>,
    /// CPU seconds of the client.
    pub client_cpu_s: Option<Quantity>,
    /// CPU seconds of the server.
    pub server_cpu_s: Option<Quantity>,
    /// Peak resident set of the server.
    pub server_rss_bytes: Option<Quantity>,
    /// Bytes on disk after the job.
    pub disk_bytes: Option<Quantity>,
    /// Key and value bytes the job left in the store.
    pub logical_bytes: u64,
    /// Records the job leaves in the store, as far as its input says. Read it with [`Cell::records`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// Every phase that all counted trials had, in the order they ran.
    pub by_phase: Vec<PhaseSummary>,
    /// The split of the time per operation; `None` where no baseline can give it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// The growth curve of the counted trial whose makespan is the median.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
    /// The stalls of that trial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    /// The summary of that curve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<GrowthFacts>,
    /// The cost of each fault of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultFigures>,
    /// Acknowledged writes lost, where nodes failed on purpose and every counted trial knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_writes: Option<Quantity>,
    /// What its trials show of each need of the study.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub meets: Vec<NeedShown>,
    /// Every trial, warm-ups included, in the order they ran.
    pub trials: Vec<TrialRecord>,
    /// Anything a later version adds.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

/// The summary of one phase over all counted trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseSummary {
    /// The job's name of it.
    pub name: String,
    /// Whether the phase counts into the makespan.
    pub timed: bool,
    /// Operations completed in one trial (the first).
    pub operations: u64,
    /// Records written or read in one trial (the first): more than the operations where one carries several.
    pub records: u64,
    /// Wall time.
    pub elapsed_s: Option<Quantity>,
    /// Operations answered per second.
    pub ops_per_s: Option<Quantity>,
    /// Records per second.
    pub records_per_s: Option<Quantity>,
    /// 99th percentile of response time, as that of the cell.
    pub p99_ns: Option<Quantity>,
    /// Bytes on disk when it was over.
    pub disk_bytes: Option<Quantity>,
}

impl Cell {
    /// Returns the key that identifies this cell.
    pub fn key(&self) -> CellKey {
        CellKey { job: self.job.clone(), store: self.store.clone(), params: self.params.clone() }
    }

    /// Returns the last of the layers of cost a baseline has; `None` of other cells. Earlier builds did not record it.
    pub fn layer(&self) -> Option<BudgetLayer> {
        // Asked of every cell again and again, and only of a baseline there is anything to read.
        match self.baseline {
            true => self.layer.or_else(|| archived::layer_and_transport(self).0),
            false => self.layer,
        }
    }

    /// Returns how the cell's server is reached on this machine; `None` for a library, and when the server is elsewhere. Studies of
    /// earlier builds did not record this.
    pub fn transport(&self) -> Option<Transport> {
        self.transport.or_else(|| archived::layer_and_transport(self).1)
    }

    /// Returns the number of records the job leaves in the store, as far as its input says. Earlier builds did not record it.
    pub fn records(&self) -> Option<u64> {
        self.records.or_else(|| archived::records(self))
    }

    /// Returns whether any counted trial was finished.
    pub fn was_run(&self) -> bool {
        self.counted().next().is_some()
    }

    /// Returns whether the durability level of the user's own server is only a claim. Earlier builds did not record this; for them a URL
    /// decides.
    pub fn durability_is_claimed(&self) -> bool {
        match self.durability_source {
            Some(source) => source != DurabilitySource::SetByKvtrial,
            None => !self.baseline && self.store.contains("://"),
        }
    }

    /// Returns who vouches for the durability level; `None` for a cell without one.
    pub fn durability_source(&self) -> Option<DurabilitySource> {
        self.durability?;
        let of_old = || match self.durability_is_claimed() {
            true => DurabilitySource::AsTheServerSays,
            false => DurabilitySource::SetByKvtrial,
        };
        Some(self.durability_source.unwrap_or_else(of_old))
    }

    /// Returns the trials that count, in the order they ran.
    pub fn counted(&self) -> impl Iterator<Item = &TrialRecord> {
        self.trials.iter().filter(|trial| !trial.warmup)
    }

    /// Returns whether the cell's answer may be compared with other answers: in no counted trial operations failed while nodes failed on
    /// purpose.
    pub fn is_comparable(&self) -> bool {
        !self.counted().any(TrialRecord::failed_in_fault)
    }
}
