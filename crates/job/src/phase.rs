//! Phases of a trial: what they are for, when their operations are sent, and what is done to nodes when a phase begins.

/// A phase of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// `load`, `run`, `read back`, or the job's own word.
    pub name: &'static str,
    /// Whether it counts into the makespan, and obeys `--rate` and `--seconds`.
    pub timed: bool,
    /// Operations it will do, when known (progress and ETA).
    pub operations: Option<u64>,
    /// Records it will store, for jobs whose growth is to be watched: with it, rate and tail are kept against records stored, and
    /// stalls are looked for. The workers then say how many they have [`stored`](crate::Worker::stored).
    pub stores: Option<u64>,
    /// Records its operations carry, where that is not their number (batches).
    pub carries: Option<u64>,
    /// Whether it does work or only looks.
    pub purpose: Purpose,
    /// When its operations are sent, if it is timed.
    pub pace: Pace,
}

/// When the operations of a timed phase are sent.
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

/// What a phase is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It is a part of the job.
    Work,
    /// It only verifies what the phases before it left: beside the timed rate it is shown how fast a store reads back.
    ReadBack,
}

impl Phase {
    /// A phase on the clock.
    pub const fn timed(name: &'static str, operations: Option<u64>) -> Phase {
        Phase { timed: true, ..Phase::untimed(name, operations) }
    }

    /// A phase off the clock.
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

    /// The phase that reads back the final state, off the clock.
    pub const fn read_back(operations: Option<u64>) -> Phase {
        Phase { purpose: Purpose::ReadBack, ..Phase::untimed("read back", operations) }
    }

    /// The same phase, which stores this number of records: its growth is watched.
    pub const fn storing(self, records: u64) -> Phase {
        Phase { stores: Some(records), ..self }
    }

    /// The same phase, whose operations are sent at this pace.
    pub const fn paced(self, pace: Pace) -> Phase {
        Phase { pace, ..self }
    }

    /// The same phase, whose operations carry this number of records.
    pub const fn carrying(self, records: u64) -> Phase {
        Phase { carries: Some(records), ..self }
    }
}

/// What is done to the nodes of a private store because a job asks for it. A store that kvtrial itself spreads over nodes changes their
/// number without it, unless one is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeChange {
    /// The phase it begins with, by name.
    pub phase: &'static str,
    /// What is done.
    pub act: NodeAct,
}

/// What is done to which node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAct {
    /// One more is started, and gets its share of the keys.
    Add,
    /// The node of this number, from 1, leaves; `None`: whichever can leave.
    Remove(Option<usize>),
    /// The node of this number is killed; `None`: the last of a store that kvtrial spreads, the first of any other.
    Kill(Option<usize>),
}
