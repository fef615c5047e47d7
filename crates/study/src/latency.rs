//! Latency summaries, in nanoseconds.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One latency distribution, summarised from a histogram with at most 1 % error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencySummary {
    /// Operations timed.
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
}

/// The percentiles of a latency curve.
pub const PERCENTILES: [f64; 17] =
    [1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.75, 99.9, 99.95, 99.99, 99.995, 99.999, 99.9999];

/// All latencies of a trial or cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latencies {
    /// From the actual send to the reply.
    pub service: LatencySummary,
    /// From the intended send to the reply; the headline under open loop, equal to service under closed loop.
    pub response: LatencySummary,
    /// Open loop: how late operations were sent (actual minus intended send).
    pub send_lag: LatencySummary,
    /// Response time at many percentiles: pairs of percent and ns, rising, as far as operations were left beyond them
    /// ([`PERCENTILES`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<(f64, u64)>,
    /// Open loop: the part of that which is the client's own: actual send minus the later of intended send and the moment a slot
    /// was free. Waiting for a slot is waiting for the store.
    pub client_lag: LatencySummary,
    /// Response time by kind of operation (`get`, `put`, ...).
    pub by_operation: BTreeMap<String, LatencySummary>,
}
