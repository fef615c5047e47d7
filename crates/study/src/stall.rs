//! Times at which a store, or the machine, stood still.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A stretch of a trial in which hardly anything was answered, or in which an answer took far longer than others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stall {
    /// The trial's position in the study's random order; 0 within the trial itself.
    pub trial: u32,
    /// How it was seen.
    pub sign: StallSign,
    /// Beginning, seconds since the clock was switched on: of the first interval of the series that shows it.
    pub from_s: f64,
    /// End of the last interval that shows it.
    pub to_s: f64,
    /// How long it was, as far as is known, seconds: the longest response, or the intervals' length where there was none.
    pub duration_s: f64,
    /// Operations per second meanwhile.
    pub ops_per_s: f64,
    /// Largest response time meanwhile, nanoseconds.
    pub max_ns: u64,
    /// What caused it, where there is evidence.
    pub cause: Option<StallCause>,
    /// The evidence, e.g. `fork 12.1 s, 212 ms (latest_fork_usec)`; empty without a cause.
    pub evidence: String,
}

/// How a stall was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallSign {
    /// An answer took far longer than others.
    #[default]
    LongResponse,
    /// The rate fell far below its median.
    RateDrop,
}

/// What made a store stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallCause {
    /// A hash table moved its entries to a larger one.
    Rehash,
    /// A file, segment or memory area was made larger.
    Resize,
    /// Files were merged.
    Compaction,
    /// The server forked, to write a snapshot or rewrite its log.
    Fork,
    /// The disk was waited for.
    Fsync,
    /// Memory was fetched from swap.
    Swap,
    /// Other processes or the hypervisor had the processor.
    Host,
}

impl fmt::Display for StallCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            StallCause::Rehash => "rehash",
            StallCause::Resize => "resize",
            StallCause::Compaction => "compaction",
            StallCause::Fork => "fork",
            StallCause::Fsync => "fsync",
            StallCause::Swap => "swap",
            StallCause::Host => "host",
        })
    }
}
