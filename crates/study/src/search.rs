//! What searches found: the highest rate under a bound, the best setting.

use crate::Quantity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The highest open-loop rate at which a store keeps a bound on its response time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RateSearch {
    /// The store's spec without secrets.
    pub store: String,
    /// Varied keys with their values in this search.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub varied: BTreeMap<String, String>,
    /// Connections or library handles it had. 0: an earlier build did not say.
    #[serde(skip_serializing_if = "is_zero")]
    pub clients: u32,
    /// The bound, e.g. `p99<2ms`.
    pub bound: String,
    /// The unit of all rates of the search.
    #[serde(skip_serializing_if = "RateCount::is_operations")]
    pub counts: RateCount,
    /// Operations (see [`counts`](RateSearch::counts)) per second of a closed loop with the same clients, where the search began.
    pub closed_ops_per_s: f64,
    /// The rate, in operations per second: the median over independent rounds at the edge. `None` when no rate keeps the bound, or
    /// the search was not finished.
    pub rate: Option<Quantity>,
    /// The obstacle to a higher rate.
    pub limited_by: RateLimit,
    /// The rate that more clients kept, where too few of them were the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_clients: Option<MoreClients>,
    /// For a bound that no rate keeps because of the client: the bounded figure of a server that does nothing, over the same kind of
    /// socket and at the lowest rate tried, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire_ns: Option<f64>,
    /// Every rate tried, lowest first: offered rate against response time.
    pub points: Vec<RatePoint>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A rate that the clients of a search did not keep and more clients did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MoreClients {
    /// The number of those clients.
    pub clients: u32,
    /// The rate.
    pub offered_ops_per_s: f64,
}

/// The unit of a search's rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateCount {
    /// Operations.
    #[default]
    Operations,
    /// Units of several operations, of which only the first is due at a moment: calls of a script's `run`.
    Units,
}

impl RateCount {
    /// Returns the unit in plain words.
    pub fn noun(self) -> &'static str {
        match self {
            RateCount::Operations => "operations",
            RateCount::Units => "units",
        }
    }

    fn is_operations(&self) -> bool {
        *self == RateCount::Operations
    }
}

/// The obstacle to a higher rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateLimit {
    /// The store: beyond the rate its response time breaks the bound.
    #[default]
    Store,
    /// The client: beyond the rate it cannot keep the schedule itself, so the store may well do more.
    Client,
    /// Too few clients: more of them keep a higher rate on the same store.
    Connections,
    /// Beyond the rate fewer operations were due than the rate asks for: no higher rate was offered.
    NotOffered,
    /// The search was cut off where its steps ended: the edge moved from round to round, or no rate tried broke the bound.
    Unsettled,
    /// Nothing is slow enough: even without load the bound is broken.
    Bound,
    /// A wrong or missing answer ended the search.
    Fault,
    /// The store could not be opened or started here.
    NotRun,
    /// The search was cut off: by the user, or by an error.
    Interrupted,
}

/// A point of the curve: one offered rate, with medians over trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RatePoint {
    /// Operations (or units) per second that were due, at random moments.
    pub offered_ops_per_s: f64,
    /// Operations (or units) per second that were answered.
    pub achieved_ops_per_s: f64,
    /// Response time from the moment each operation was due.
    pub p50_ns: f64,
    /// 99th percentile of the same.
    pub p99_ns: f64,
    /// 99.9th percentile of the same.
    pub p99_9_ns: f64,
    /// Trials.
    pub n: u32,
    /// The number of trials in which the bound was kept and everything due was sent.
    pub within: u32,
    /// The number of trials in which the client itself was late, or at its limit, and the bound was broken.
    pub client_late: u32,
    /// The number of trials in which fewer operations were due than the rate asks for.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_offered: u32,
}

/// The result of `kvtrial tune`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tune {
    /// `makespan`, `ops_per_s`, `p99` or `bytes_per_record`.
    pub objective: String,
    /// Wall time it was given.
    pub budget_s: f64,
    /// Wall time it took.
    pub used_s: f64,
    /// The space that was searched: each key with its values, the default first.
    pub space: Vec<TunedKey>,
    /// Combinations of all values.
    pub combinations: u64,
    /// Rounds of successive halving: settings tried and trials run in each.
    pub rounds: Vec<TuneRound>,
    /// The setting everything is compared with.
    pub default: BTreeMap<String, String>,
    /// The best setting of the search.
    pub best: BTreeMap<String, String>,
    /// How many times better the best is than the default, from trials of their own that took turns after the search: above 1 is better.
    /// Computed by ranks, as the p-value is: 1 is outside the interval of 95 % just when that is below 0.05.
    pub gain: Option<Quantity>,
    /// Two-sided permutation test of ranks on the same trials.
    pub gain_p: Option<f64>,
    /// Settings that no other beats in throughput, p99 and bytes per record together.
    pub pareto: Vec<TunedSetting>,
    /// The effect of each value by itself, compared with its key's default, other keys held equal.
    pub effects: Vec<TuneEffect>,
}

/// A key that was searched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TunedKey {
    /// The key as `--vary` names it.
    pub key: String,
    /// The key's values, the default first.
    pub values: Vec<String>,
}

/// A round of successive halving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TuneRound {
    /// Settings in it.
    pub settings: u32,
    /// Trials run.
    pub trials: u32,
}

/// A setting with its figures: medians over its trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TunedSetting {
    /// Value of every key.
    pub setting: BTreeMap<String, String>,
    /// Time of the job.
    pub makespan_s: Option<Quantity>,
    /// Operations completed per second.
    pub ops_per_s: Option<Quantity>,
    /// Records per second, where an operation carries several (batches).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records_per_s: Option<Quantity>,
    /// 99th percentile of response time.
    pub p99_ns: Option<Quantity>,
    /// Bytes on disk, or of a server without files its memory, by record of the job.
    pub bytes_per_record: Option<f64>,
    /// Whether the setting was void: shown, never ranked.
    pub void: bool,
}

impl TunedSetting {
    /// Returns the setting's rate: records per second where operations carry several, else operations per second.
    pub fn rate(&self) -> Option<Quantity> {
        self.records_per_s.or(self.ops_per_s)
    }
}

/// The main effect of one value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TuneEffect {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// How many times better than the key's default; above 1 is better. `None` when too few settings were tried to show it.
    pub ratio: Option<Quantity>,
    /// Whether 1 lies outside the interval.
    #[serde(alias = "told_apart")]
    pub separated: bool,
}
