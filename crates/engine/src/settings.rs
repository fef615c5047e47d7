//! How a phase is driven.

use jobkit::Share;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The rule for when operations are sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Arrivals {
    /// Closed loop: a slot sends its next operation when it has the reply to the last.
    Closed,
    /// Open loop: operation `i` is due at `start + i / rate`, whatever the replies do.
    Fixed {
        /// Operations per second, over all threads of all processes.
        ops_per_s: f64,
    },
    /// Open loop: exponentially distributed gaps with this mean rate (a Poisson process).
    Poisson {
        /// Operations per second, over all threads of all processes.
        ops_per_s: f64,
    },
    /// Open loop: each operation is due when the job says.
    Recorded,
}

/// The choice of operations to time. All operations are verified and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    /// Every one.
    Every,
    /// One in n; for stores whose operations cost less than a clock read.
    Sampled(u32),
}

impl Timing {
    /// Returns the number of operations of which one is timed.
    pub(crate) fn one_in(self) -> u32 {
        match self {
            Timing::Every => 1,
            Timing::Sampled(every) => every.max(1),
        }
    }
}

/// The rule for lost connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outages {
    /// The store is given up after many in a row, or after the deadline.
    GiveUp,
    /// Nodes are taken down on purpose: an operation that takes longer than its time fails, its connection is given up, and the phase goes
    /// on. The store is given up when nothing was answered within the deadline.
    Endure {
        /// The longest time for an operation.
        timeout: Duration,
    },
}

/// Deadlines of one operation that a request to the store as a whole may take: it touches every record.
const WHOLE_STORE_PATIENCE: u32 = 60;

/// The settings that drive a phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Connections or library handles, of the whole.
    pub clients: u32,
    /// The clients that this process drives, where it is not alone; `None`: all. Rates are those of the whole, whatever the share.
    #[serde(default)]
    pub share: Option<Share>,
    /// Operations a client may have in flight.
    pub pipeline: u32,
    /// Threads; `None`: one per client for libraries that block (4096 at most), else half the processors (at least one).
    pub threads: Option<u32>,
    /// The rule for when operations are sent in timed phases. Untimed phases always run as a closed loop.
    pub arrivals: Arrivals,
    /// Timed phases last this long; `None`: until the job has no more to do. A closed loop stops sending then. Under open loop what was
    /// due within the time is still sent, for at most another `deadline`; what even then was not sent is counted.
    pub duration: Option<Duration>,
    /// Longest wait for any reply; then the phase ends and the trial is void. Of a store whose outages are endured: the longest time without
    /// a good one.
    pub deadline: Duration,
    /// The rule for lost connections.
    pub outages: Outages,
    /// The choice of operations to time.
    pub timing: Timing,
    /// Seed of random arrivals.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            clients: 1,
            share: None,
            pipeline: 1,
            threads: None,
            arrivals: Arrivals::Closed,
            duration: None,
            deadline: Duration::from_secs(10),
            outages: Outages::GiveUp,
            timing: Timing::Every,
            seed: 42,
        }
    }
}

impl Settings {
    /// Clients times pipeline, of the whole.
    pub fn slots(&self) -> u32 {
        self.clients * self.pipeline
    }

    /// Returns the clients that this process drives.
    pub fn share(&self) -> Share {
        self.share.unwrap_or(Share::whole(self.clients))
    }

    /// Returns the longest time for an operation.
    pub fn timeout(&self) -> Duration {
        match self.outages {
            Outages::GiveUp => self.deadline,
            Outages::Endure { timeout } => timeout.min(self.deadline),
        }
    }

    /// Returns the longest wait for the reply to a request that concerns the store as a whole: opening, flushing, compacting, counting its
    /// keys.
    pub fn whole_store_deadline(&self) -> Duration {
        self.deadline * WHOLE_STORE_PATIENCE
    }
}
