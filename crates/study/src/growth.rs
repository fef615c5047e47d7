//! How a store did while it grew.

use serde::{Deserialize, Serialize};

/// One point of a growth curve: a stretch of the run that ends with this many records stored.
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
}

/// A time in which a client got no reply although it waited for one, far longer than usual.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stall {
    /// When it began, seconds since the clock was switched on.
    pub at_s: f64,
    /// Records stored then.
    pub records: u64,
    /// How long it took, seconds.
    pub duration_s: f64,
    /// Operations that would have been done in this time at the rate of the run so far.
    pub lost_operations: u64,
    /// `rehash`, `fork`, `swap`, `disk`, `processor`; absent: nothing that was watched explains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// What was seen at the time, or that nothing was.
    pub evidence: String,
}
