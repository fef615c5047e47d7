//! Whether the instrument itself was proved right, and where.

use crate::Quantity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The result of `kvtrial selftest` on one machine with one build.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Selftest {
    /// Whether every proof holds.
    pub passed: bool,
    /// `full`, or `quick`: the proofs `kvtrial run` makes itself when there is no result of this build on this machine.
    pub scope: String,
    /// RFC 3339, UTC.
    pub checked_at: String,
    /// Version and build of kvtrial that was checked.
    pub build: String,
    /// Processor, number of processors and kernel it was checked on.
    pub machine: String,
    /// Time of all proofs, seconds.
    pub elapsed_s: f64,
    /// Every proof made.
    pub proofs: Vec<Proof>,
    /// Anything a later version adds.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

impl Selftest {
    /// How many proofs hold.
    pub fn holding(&self) -> usize {
        self.proofs.iter().filter(|proof| proof.passed).count()
    }
}

/// One claim about the instrument with what was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Proof {
    /// Its name, e.g. `stall_p99`.
    pub name: String,
    /// Whether what was measured is within the bound.
    pub passed: bool,
    /// What is claimed, in a sentence.
    pub claim: String,
    /// What was measured; `null` when it could not be (then `problem` says why).
    pub measured: Option<f64>,
    /// Where it has to be.
    pub bound: Tolerance,
    /// Unit of `measured` and `bound`.
    pub unit: String,
    /// Interval of a measured rate.
    pub interval: Option<Quantity>,
    /// Why it could not be measured, or what follows from it.
    pub problem: String,
    /// Time it took, seconds.
    pub elapsed_s: f64,
}

/// The range in which a measurement proves its claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tolerance {
    /// The least it may be.
    pub low: Option<f64>,
    /// The most it may be.
    pub high: Option<f64>,
}

impl Tolerance {
    /// From `low` to `high`.
    pub const fn between(low: f64, high: f64) -> Tolerance {
        Tolerance { low: Some(low), high: Some(high) }
    }

    /// `high` or less.
    pub const fn at_most(high: f64) -> Tolerance {
        Tolerance { low: None, high: Some(high) }
    }

    /// `low` or more.
    pub const fn at_least(low: f64) -> Tolerance {
        Tolerance { low: Some(low), high: None }
    }

    /// Whether a measurement is within.
    pub fn holds(&self, measured: f64) -> bool {
        measured.is_finite()
            && self.low.is_none_or(|low| measured >= low)
            && self.high.is_none_or(|high| measured <= high)
    }
}
