//! Phases of a trial: what they are for, and when their operations are sent.

/// A phase of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// `load`, `run`, `read back`, or the job's own word.
    pub name: &'static str,
    /// Whether the phase counts into the makespan, and obeys `--rate` and `--seconds`.
    pub timed: bool,
    /// Operations it will do, when known (progress and ETA).
    pub operations: Option<u64>,
    /// Records it will store, for jobs whose growth is to be watched: with it, rate and tail are kept against records stored, and
    /// stalls are looked for. The workers then say how many they have [`stored`](crate::Worker::stored).
    pub stores: Option<u64>,
    /// Records its operations carry, where that is not their number (batches).
    pub carries: Option<u64>,
    /// Whether the phase does work or only looks.
    pub purpose: Purpose,
    /// The pace of the phase, if it is timed.
    pub pace: Pace,
}

/// The rule for when the operations of a timed phase are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// As the user asked: as fast as replies come, or at `--rate`.
    #[default]
    AsAsked,
    /// As fast as replies come, always.
    Highest,
    /// In an open loop at a share of the rate that an earlier phase of the same trial came to.
    ShareOf {
        /// The number of that phase.
        phase: usize,
        /// The share.
        percent: u32,
    },
}

/// The purpose of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A part of the job.
    Work,
    /// Only verifies the state that earlier phases left: the rate of reading back is shown beside the timed rate.
    ReadBack,
}

impl Phase {
    /// Returns a phase on the clock.
    pub const fn timed(name: &'static str, operations: Option<u64>) -> Phase {
        Phase { timed: true, ..Phase::untimed(name, operations) }
    }

    /// Returns a phase off the clock.
    pub const fn untimed(name: &'static str, operations: Option<u64>) -> Phase {
        Phase {
            name,
            timed: false,
            operations,
            stores: None,
            carries: None,
            purpose: Purpose::Work,
            pace: Pace::AsAsked,
        }
    }

    /// Returns the phase that reads back the final state, off the clock.
    pub const fn read_back(operations: Option<u64>) -> Phase {
        Phase { purpose: Purpose::ReadBack, ..Phase::untimed("read back", operations) }
    }

    /// Returns the same phase, which stores this number of records: its growth is watched.
    pub const fn storing(self, records: u64) -> Phase {
        Phase { stores: Some(records), ..self }
    }

    /// Returns the same phase, whose operations are sent at this pace.
    pub const fn paced(self, pace: Pace) -> Phase {
        Phase { pace, ..self }
    }

    /// Returns the same phase, whose operations carry this number of records.
    pub const fn carrying(self, records: u64) -> Phase {
        Phase { carries: Some(records), ..self }
    }
}
