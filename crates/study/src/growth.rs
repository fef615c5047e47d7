//! How a store did while it grew.

use serde::{Deserialize, Serialize};

/// A point of a growth curve: a stretch of the run that ends with this many records stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CurvePoint {
    /// Records stored at the end of the stretch (for the job append: appends done).
    pub records: u64,
    /// End of the stretch, seconds since the clock was switched on.
    pub at_s: f64,
    /// Records stored per second in the stretch.
    pub ops_per_s: f64,
    /// Response time, 99th percentile of the timed operations in the stretch (at most 7 % error), ns.
    pub p99_ns: u64,
    /// Resident memory then: of the private server, or for a store in this process of kvtrial itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// Bytes on disk then, when the directory is kvtrial's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// Response time of gets in the stretch, where there were gets and other operations (at most 7 % error), ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gets: Option<GetTimes>,
    /// Bytes its process has sent to disks since the phase began: the private server, or kvtrial itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Bytes it has read from disks since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
}

/// Response times of the gets in a stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GetTimes {
    /// Half of them took at most this long, ns.
    pub p50_ns: u64,
    /// 99 of 100 did, ns.
    pub p99_ns: u64,
    /// All did, ns.
    pub max_ns: u64,
}

/// A summary of a store's growth. Rates and their share cover the part of the run that nobody paced: the first timed phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrowthFacts {
    /// Records stored.
    pub records: u64,
    /// Records per second while the first tenth of them was stored.
    pub first_tenth_per_s: f64,
    /// Records per second while the last tenth was.
    pub last_tenth_per_s: f64,
    /// The longest stall, seconds; 0: there was none.
    pub longest_stall_s: f64,
    /// Share of the time in which the rate was below half of its median over the stretches of the curve.
    pub below_half_share: f64,
    /// Records stored when the store began to read from disk and went on doing so; absent: it never did, as far as its process shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_memory_at_records: Option<u64>,
    /// Bytes on disk at the end per byte of keys and values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes_per_byte: Option<f64>,
    /// Bytes sent to disks per byte of keys and values that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_bytes_per_byte: Option<f64>,
}

/// A time in which a client got no reply although it waited for one, far longer than usual.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stall {
    /// The start of the stall, seconds since the clock was switched on.
    pub at_s: f64,
    /// Records stored then.
    pub records: u64,
    /// The length of the stall, seconds.
    pub duration_s: f64,
    /// Operations that would have been done in this time at the rate of the run so far.
    pub lost_operations: u64,
    /// `rehash`, `fork`, `swap`, `disk`, `processor`; absent: nothing that was watched explains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The evidence of that time, or a note that there was none.
    pub evidence: String,
}
