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
    /// Returns how many proofs hold.
    pub fn holding(&self) -> usize {
        self.proofs.iter().filter(|proof| proof.passed).count()
    }
}

/// A claim about the instrument, with the measurement that proves or refutes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Proof {
    /// The name of the proof, e.g. `stall_p99`.
    pub name: String,
    /// Whether the measured value is within the bound.
    pub passed: bool,
    /// The claim, in a sentence.
    pub claim: String,
    /// The measured value; `null` when it could not be measured (then `problem` says why).
    pub measured: Option<f64>,
    /// The bound the measured value has to keep.
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
    /// Makes a bound from `low` to `high`.
    pub const fn between(low: f64, high: f64) -> Tolerance {
        Tolerance { low: Some(low), high: Some(high) }
    }

    /// Makes a bound of `high` or less.
    pub const fn at_most(high: f64) -> Tolerance {
        Tolerance { low: None, high: Some(high) }
    }

    /// Makes a bound of `low` or more.
    pub const fn at_least(low: f64) -> Tolerance {
        Tolerance { low: Some(low), high: None }
    }

    /// Returns whether a measurement is within the bound.
    pub fn holds(&self, measured: f64) -> bool {
        measured.is_finite()
            && self.low.is_none_or(|low| measured >= low)
            && self.high.is_none_or(|high| measured <= high)
    }
}
