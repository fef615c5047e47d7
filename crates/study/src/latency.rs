//! Latency summaries, in nanoseconds.

use crate::distribution::is_zero;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A summary of one latency distribution, from a histogram with at most 1 % error. All figures but `failed` and `asked` cover the
/// operations that were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencySummary {
    /// Operations timed that were answered.
    pub n: u64,
    /// Arithmetic mean, ns.
    pub mean: f64,
    /// Smallest, ns.
    pub min: u64,
    /// 50th percentile, ns.
    pub p50: u64,
    /// 90th percentile, ns.
    pub p90: u64,
    /// 95th percentile, ns.
    pub p95: u64,
    /// 99th percentile, ns.
    pub p99: u64,
    /// 99.9th percentile, ns.
    pub p99_9: u64,
    /// Largest, ns.
    pub max: u64,
    /// Operations timed that failed: they have no latency. In studies of earlier builds they are among those answered.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Percentiles of all that was asked, where any failed. Read them with [`LatencySummary::of_asked`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<AskedPercentiles>,
}

/// Percentiles of all operations that were asked for, in nanoseconds: one that failed counts as slower than all that were answered. `None`:
/// not reached, as too many failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AskedPercentiles {
    /// 50th percentile.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p99_9: Option<u64>,
}

impl LatencySummary {
    /// Percentiles of all that was asked; where nothing failed those of what was answered.
    pub fn of_asked(&self) -> AskedPercentiles {
        self.asked.unwrap_or(AskedPercentiles {
            p50: Some(self.p50),
            p90: Some(self.p90),
            p95: Some(self.p95),
            p99: Some(self.p99),
            p99_9: Some(self.p99_9),
        })
    }

    /// Returns the number of operations timed, answered or not.
    pub fn asked_n(&self) -> u64 {
        self.n.saturating_add(self.failed)
    }

    /// Returns the share of these that failed; `None` where none was timed.
    pub fn share_failed(&self) -> Option<f64> {
        (self.asked_n() > 0).then(|| self.failed as f64 / self.asked_n() as f64)
    }

    /// Returns the summary of the answered operations alone.
    pub fn answered(&self) -> LatencySummary {
        LatencySummary { failed: 0, asked: None, ..*self }
    }
}

/// The percentiles of a latency curve.
pub const PERCENTILES: [f64; 17] =
    [1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.75, 99.9, 99.95, 99.99, 99.995, 99.999, 99.9999];

/// All latencies of a trial or cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latencies {
    /// Latencies from the actual send to the reply, of operations that were answered.
    pub service: LatencySummary,
    /// Latencies from the intended send to the reply; the headline under open loop, equal to service under closed loop.
    pub response: LatencySummary,
    /// Open loop: how late operations were sent (actual minus intended send).
    pub send_lag: LatencySummary,
    /// Response time at many percentiles of all that was asked: pairs of percent and ns, rising, as far as operations were left beyond them
    /// and they were reached ([`PERCENTILES`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<(f64, u64)>,
    /// Open loop: the part of that which is the client's own: actual send minus the later of intended send and the moment a slot
    /// was free. Waiting for a slot is waiting for the store.
    pub client_lag: LatencySummary,
    /// Response time by kind of operation (`get`, `put`, ...).
    pub by_operation: BTreeMap<String, LatencySummary>,
}
